"""Scripts a judge can read: the share of a text's letters that its tokenizer was made for.

The tokenizer of the built-in judge has the single letters of many scripts but words of the Latin script only. A text
in another script reaches the network as letters without meaning, so that all cities look alike to it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from .normal import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["judge_warnings", "readable", "script_of", "warn_unreadable", "without_gloss"]

_ENOUGH = 0.9  # share of Latin letters from which the network is asked
_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]")
_NAMES = {"CJK": "Chinese characters", "HIRAGANA": "Japanese", "KATAKANA": "Japanese"}


@lru_cache(4096)
def script_of(letter: str) -> str:
    """The script of a letter, by its Unicode name: "Latin", "Cyrillic", "Chinese characters", ...

    >>> script_of("é"), script_of("Ж"), script_of("京"), script_of("ア")
    ('Latin', 'Cyrillic', 'Chinese characters', 'Japanese')
    """
    name = unicodedata.name(unicodedata.normalize("NFKC", letter)[:1], "UNKNOWN").split(" ")[0]
    return _NAMES.get(name, name.capitalize())


def readable(text: str) -> bool:
    """Whether nearly all letters of a text are Latin; a text without letters is.

    >>> readable("Charlotte Brontë"), readable("Москва"), readable("12 °C"), readable("Tokyo (東京)")
    (True, False, True, True)
    """
    if text.isascii():
        return True
    letters = _letters(without_gloss(text))
    return letters["Latin"] >= _ENOUGH * letters.total()


def without_gloss(text: str) -> str:
    """The text without brackets in another script where the rest is Latin: "Tokyo (東京)" is "Tokyo".

    >>> without_gloss("Tokyo (東京)"), without_gloss("東京 (Tokyo)"), without_gloss("Paris (France)")
    ('Tokyo', '東京 (Tokyo)', 'Paris (France)')
    """
    if text.isascii():
        return text
    bare = _BRACKETS.sub(lambda match: match[0] if _letters(match[0])["Latin"] else "", text)
    return bare.strip() if bare != text and _letters(bare)["Latin"] else text


def _letters(text: str) -> Counter[str]:
    return Counter(script_of(letter) for letter in text if letter.isalpha())


def warn_unreadable(texts: Iterable[str]) -> str | None:
    """A sentence that says how many answers the built-in judge could not read, and what to do.

    None where it read all, and where all are spelled alike, so that there was nothing to judge.

    >>> print(warn_unreadable(["Москва", "Киев", "Moscow"]))
    2 of 3 answers are in a script the built-in judge does not read (Cyrillic): they were grouped by spelling alone. \
Choose a judge that reads it: --judge llm:MODEL, or --judge llm for the model that is checked.
    >>> warn_unreadable(["Paris"])
    """
    texts = list(texts)
    unread = [text for text in texts if not readable(text)]
    if not unread or len({normalise(text) for text in texts}) == 1:
        return None
    scripts = sum((_letters(text) for text in unread), Counter[str]())
    del scripts["Latin"]
    named = ", ".join(script for script, _ in scripts.most_common(3))
    return (
        f"{len(unread)} of {len(texts)} answers are in a script the built-in judge does not read ({named}): they were"
        " grouped by spelling alone. Choose a judge that reads it: --judge llm:MODEL, or --judge llm for the model that"
        " is checked."
    )


def judge_warnings(judge: object, texts: Iterable[str]) -> tuple[str, ...]:
    """Warnings of a judge about how it groups these answers; empty for judges without `warnings(texts)`."""
    warnings = getattr(judge, "warnings", None)
    return () if warnings is None else tuple(warnings(texts))
