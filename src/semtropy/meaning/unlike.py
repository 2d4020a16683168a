"""Short answers with no spelling in common, which are two meanings without asking a network.

Most pairs of sampled answers are of this kind ("Mansion" and "Spoonfuls"). The built-in network merges next to none of
them: of 400 held-out aliases in TriviaQA that `unlike` keeps apart, it recognises 3. Numbers, symbols, sentences,
yes and no, and refusals have too many wordings and are left to the network.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from .lexicon import SMALL_WORDS
from .normal import normalise
from .words import SCALES, number, ordinal, share

__all__ = ["unlike"]

_CHARACTERS = 100  # at most, and as many words as below: longer answers are sentences
_WORDS = 8
_LETTERS = 4  # at least: shorter answers are symbols, short forms, yes and no
_SHORT_FORM = re.compile(r"\b\w+[A-Z]|\b\w\b\.")  # "NaCl", "UNESCO", "J. S. Bach"
_WORD = re.compile(r"[^\W_]+")
# Words of sentences, of agreement and of refusals, and of amounts.
_OPEN = frozenset({
    "is", "was", "are", "were", "be", "been", "it", "its", "he", "she", "they", "we", "you", "i", "his", "her",
    "their", "has", "have", "had", "do", "does", "did", "would", "will", "got", "get", "this", "that", "there",
    "yes", "no", "not", "none", "never", "nobody", "nothing", "nowhere", "neither", "nor", "without", "don",
    "doesn", "didn", "isn", "wasn", "can", "cannot", "couldn", "won", "unable", "unknown", "unsure", "unclear",
    "uncertain", "unspecified", "undefined", "undetermined", "unavailable", "sorry", "idea", "clue", "sure",
    "know", "say", "tell", "information", "available", "answer", "impossible", "empty", "both", "all", "course",
    "true", "false", "correct", "incorrect", "right", "wrong", "indeed", "exactly", "absolutely", "certainly",
    "definitely", "affirmative", "negative", "agree", "disagree", "same", "different", "single", "pair",
    "couple", "double", "twice", "once", "triple", "decade", "century", "millennium", "fortnight", "several",
    "many", *SCALES,
})  # fmt: skip


def unlike(a: str, b: str) -> bool:
    """Whether both answers are a few plain words that share no three letters in a row.

    >>> unlike("Mansion", "Spoonfuls"), unlike("London", "a small hotel")
    (True, True)
    >>> unlike("Londinium", "London"), unlike("ninety", "nine tens"), unlike("Unknown", "No idea"), unlike("Zn", "zinc")
    (False, False, False, False)
    """
    first, second = _trigrams(a), _trigrams(b)
    return first is not None and second is not None and first.isdisjoint(second)


@lru_cache(4096)
def _trigrams(text: str) -> frozenset[str] | None:
    """Three letters in a row of each word, with a space before and after it; None where spelling decides nothing."""
    if len(text) > _CHARACTERS or _SHORT_FORM.search(text):
        return None
    plain = unicodedata.normalize("NFKD", normalise(text))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = [word for word in _WORD.findall(letters) if word not in SMALL_WORDS - _OPEN]
    if not 1 <= len(words) <= _WORDS or sum(map(len, words)) < _LETTERS or any(map(_undecided, words)):
        return None
    spelled = [f" {word} " for word in words]
    return frozenset(word[at : at + 3] for word in spelled for at in range(len(word) - 2))


def _undecided(word: str) -> bool:
    if word in _OPEN or any(letter.isdigit() for letter in word):
        return True
    return any(value(word) is not None for value in (number, share, ordinal))
