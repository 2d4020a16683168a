"""Formulas: whether two answers that are algebraic expressions are equal.

An expression is evaluated at fixed points of a large prime field (Schwartz-Zippel): two polynomials or quotients that
agree at all of them are equal but for a chance of about 1e-17.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from .normal import plain_signs

__all__ = ["compare_expressions"]

_PRIME = (1 << 61) - 1
_TOKEN = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]+)?)|(sqrt|[a-z])|([-+*/^()]))")
_RELATION = re.compile(r"<=|>=|=|<|>")
_SIGNS = str.maketrans({"×": "*", "·": "*", "⋅": "*", "÷": "/", "≤": "<=", "≥": ">="})
_LONGEST = 80


class _Formula(NamedTuple):
    """A relation (or "") between values; `numbers` is the text where there is no variable, else ""."""

    relation: str
    values: tuple[tuple[int, ...], ...]
    numbers: str


def compare_expressions(a: str, b: str) -> bool | None:
    """Whether both are expressions and equal, or not; None where one of them is something else.

    >>> compare_expressions("a + b", "b + a"), compare_expressions("a + b", "a - b"), compare_expressions("x", "y")
    (True, False, None)
    >>> compare_expressions("3-2", "2-1"), compare_expressions("T-Rex", "T-shirt")
    (False, None)
    """
    first, second = _read(a), _read(b)
    if first is None and second is None:
        return None
    first, second = first or _read(a, term=True), second or _read(b, term=True)
    if first is None or second is None:
        return None
    if first.numbers or second.numbers:  # a score or a range: 3-2 is not 2-1
        return first.numbers == second.numbers
    return (first.relation, first.values) == (second.relation, second.values)


def _read(text: str, *, term: bool = False) -> _Formula | None:
    """The formula a text is, or None; a single term like "2x" counts only where `term` is set."""
    if len(text) > _LONGEST:
        return None
    plain = plain_signs(text).rstrip(".!,;: ").translate(_SIGNS).replace("**", "^")
    if re.fullmatch(r"[0-9]+ ?: ?[0-9]+", plain):
        return _Formula("", (), plain.replace(" ", ""))
    if term and not re.fullmatch(r"[0-9]*[a-z]", plain):
        return None
    if not (term or re.search(r"[-+*/^=<>√]|sqrt\(", plain)) or re.search(r"(?!sqrt)[a-z]{3,}", plain):
        return None
    sides = _RELATION.split(plain.replace("√", "sqrt"))
    values = tuple(_evaluate(side) for side in sides)
    if len(sides) > 2 or None in values:
        return None
    relation = _RELATION.search(plain)
    numbers = "" if re.search(r"[a-z]", plain) else plain.replace(" ", "")
    return _Formula(relation[0] if relation else "", tuple(v for v in values if v is not None), numbers)


def _evaluate(text: str) -> tuple[int, ...] | None:
    tokens, place = [], 0
    text = text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        tokens.append(match[0].strip())
        place = match.end()
    try:
        return tuple(_FormulaParser(tokens, point).parse() for point in (1, 2, 3))
    except (ValueError, IndexError, RecursionError):
        return None


class _FormulaParser:
    """Recursive descent over sums, products (also implicit: 2ab), powers and square roots."""

    def __init__(self, tokens: list[str], point: int) -> None:
        self._tokens, self._place, self._point = tokens, 0, point

    def parse(self) -> int:
        value = self._sum()
        if self._place < len(self._tokens):
            raise ValueError("more follows")
        return value

    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1]

    def _sum(self) -> int:
        value = self._product()
        while self._next() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            value = (value + sign * self._product()) % _PRIME
        return value

    def _product(self) -> int:
        value = self._signed()
        while (token := self._next()) and token not in ("+", "-", ")"):
            if token == "/":
                self._take()
                value = value * pow(self._signed(), -1, _PRIME) % _PRIME
            else:
                if token == "*":
                    self._take()
                value = value * self._signed() % _PRIME
        return value

    def _signed(self) -> int:
        if self._next() in ("+", "-"):
            return self._signed() if self._take() == "+" else -self._signed() % _PRIME
        return self._power()

    def _power(self) -> int:
        base = self._atom()
        if self._next() != "^":
            return base
        self._take()
        start = self._place
        exponent = self._signed()
        small = "".join(self._tokens[start : self._place])
        return pow(base, int(small), _PRIME) if small.isdigit() else self._opaque("^", base, exponent)

    def _atom(self) -> int:
        token = self._take()
        if token == "(":
            value = self._sum()
            if self._take() != ")":
                raise ValueError("a bracket is not closed")
            return value
        if token == "sqrt":
            return self._opaque(token, self._atom())
        if token.isalpha():
            return self._opaque(token)
        if not token[0].isdigit():
            raise ValueError(f"{token!r} is no value")
        whole, _, decimals = token.partition(".")
        return int(whole + decimals) * int(pow(10 ** len(decimals), -1, _PRIME)) % _PRIME

    def _opaque(self, *parts: object) -> int:
        """A value for a variable, or for a function whose rules are not known here."""
        digest = hashlib.blake2b(repr((self._point, parts)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") % _PRIME
