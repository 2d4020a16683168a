"""Structured answers: JSON of a schema, tool calls and multiple choice, compared field by field."""

from .answers import Choices, JsonAnswers, Structure, ToolCalls, load_structure

__all__ = ["Choices", "JsonAnswers", "Structure", "ToolCalls", "load_structure"]
