"""Structured answers: JSON of a schema, tool calls and multiple choice, compared field by field."""

from .answers import JsonAnswers, Structure, ToolCalls, calls_to_text, load_structure
from .choices import Choices

__all__ = ["Choices", "JsonAnswers", "Structure", "ToolCalls", "calls_to_text", "load_structure"]
