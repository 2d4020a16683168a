"""Structured answers: JSON of a schema, tool calls and multiple choice, compared field by field."""

from .answers import JsonAnswers, Structure, ToolCalls, load_structure
from .choices import Choices

__all__ = ["Choices", "JsonAnswers", "Structure", "ToolCalls", "load_structure"]
