"""The same words written differently: a form of a text that spelling habits do not change.

Only what cannot change a meaning is dropped: case, width of characters, the script of digits, space, quotation marks
around the whole, closing full stops, a leading article and a frame without content ("It is ...", "The answer is ...").
Signs that carry meaning ("C++", "-5", "50%", "?") stay.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["normalise", "plain_signs", "western_digits"]

_PLAIN = str.maketrans(
    {
        "‘": "'",
        "’": "'",
        "‛": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
        "−": "-",
        "‐": "-",
        "‑": "-",
        "–": "-",
        "「": '"',
        "」": '"',
        "『": '"',
        "』": '"',
    }
)
_POWER = re.compile("[⁰¹²³⁴-⁹]+")  # 10² is not 102
_FRAME = re.compile(
    r"^(?:(?:it|that|this|he|she|they|these|those)(?:'s|'re| is| was| are| were| means| would be)"
    r"|(?:the |my |final )?(?:correct )?answer(?: is:?| was:?|:)) (?=\S)"
)
_CLEFT = re.compile(r"^it (?:is|was) (?!not\b)(\S.{0,80}?) (?:who|that) (?=\S)")
_ARTICLE = re.compile(r"^(?:the|an|a) (?=\S)")
_WRAPPING = (('"', '"'), ("'", "'"), ("(", ")"), ("[", "]"), ("`", "`"), ("*", "*"))
_CLOSING = ".!。！,;:।،؛ "


def normalise(text: str) -> str:
    """One form for all spellings of the same words; "" where nothing was said.

    text  an answer, as it was sampled

    >>> normalise("  The  Eiffel Tower. ")
    'eiffel tower'
    >>> normalise('"Paris"') == normalise("paris!")
    True
    >>> normalise("It's Paris."), normalise("The answer is: Paris"), normalise("It is not Paris.")
    ('paris', 'paris', 'not paris')
    >>> normalise("It was Bell who invented it.")
    'bell invented it'
    >>> normalise("C++") == normalise("C"), normalise("-5") == normalise("5"), normalise("A")
    (False, False, 'a')
    """
    plain = plain_signs(text)
    before = None
    while before != plain:
        before = plain
        plain = _unwrap(plain.rstrip(_CLOSING).lstrip(", "))
        plain = _ARTICLE.sub("", _FRAME.sub("", _CLEFT.sub(r"\1 ", plain)))
    return plain


def plain_signs(text: str) -> str:
    """Case, width, digits, quotation marks, hyphens, powers and space in one form; every word and sign is kept.

    >>> plain_signs("x²  −  Ｙ")
    'x^2 - y'
    """
    plain = western_digits(unicodedata.normalize("NFKC", _POWER.sub(r"^\g<0>", text)))
    return " ".join(plain.translate(_PLAIN).casefold().split())


def western_digits(text: str) -> str:
    """The text with the decimal digits of any script as 0 to 9.

    >>> western_digits("١٩١٢"), western_digits("१२"), western_digits("Paris 12")
    ('1912', '12', 'Paris 12')
    """
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


def _unwrap(text: str) -> str:
    """Without the quotation marks or brackets that enclose all of it."""
    for opening, closing in _WRAPPING:
        inner = text[1:-1]
        if (
            len(text) > 2
            and text[0] == opening
            and text[-1] == closing
            and opening not in inner
            and closing not in inner
        ):
            return inner.strip()
    return text
