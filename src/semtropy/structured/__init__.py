"""Structured answers: JSON of a schema, tool calls and multiple choice, compared field by field."""

from .answers import JsonAnswers, Structure, load_structure
from .choices import Choices
from .tool_calls import ToolCalls

__all__ = ["Choices", "JsonAnswers", "Structure", "ToolCalls", "load_structure"]
