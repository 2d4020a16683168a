"""One answer in two wordings: what needs no judge (spacing, titles, prepositions), and what speaks for one meaning.

A hint is weaker than a rule. It says that the longer of two answers adds only what the question asks for ("Nile" and
"Nile River" to "Which river ...?"), the given name of a person ("Columbus"), or the country of a place ("Lourdes,
France"). The judge adds it to its own log-odds.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .lexicon import ABOUT, NOUN_ENDS, PERSONS, PLACES, SMALL_WORDS, TELLING_WORDS, TITLES
from .normal import normalise

__all__ = ["same_wording", "squash", "wording_hint"]

_LONGEST = 200  # characters: longer answers are sentences, whose wording a judge weighs
_LETTER = r"[^\W\d_]"
_SEPARATOR = re.compile(rf"(?<={_LETTER})(?:[-_'.]\s?|\s+)(?={_LETTER})")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_PREPOSITION = re.compile(r"(?:in|at|on) (?:the |an? )?")
_ASKING = re.compile(
    r"\b(?:which|what)\b(?: is| was| are| were|'s)?,?\s*(?:one )?(?:of )?(?:the |an? |these |those )?([^?.,;:()\"]*)"
)
_WHO = re.compile(rf"\b(?:who|whose|whom)\b|\bwhich (?:\w+ ){{0,4}}(?:{'|'.join(PERSONS)})\b", re.IGNORECASE)


def squash(text: str) -> str:
    """The normal form without spaces, hyphens, apostrophes and full stops between letters.

    >>> squash("Spider-Man"), squash("J. K. Rowling"), squash("3-0"), squash("alpha - beta")
    ('spiderman', 'jkrowling', '3-0', 'alpha - beta')
    """
    return _SEPARATOR.sub("", normalise(text).strip("_-' "))


def same_wording(a: str, b: str) -> bool:
    """Whether two answers differ only in spacing, or in a title, preposition or "about" that one of them has.

    >>> same_wording("Spider-Man", "spiderman"), same_wording("Sir Isaac Newton", "Isaac Newton")
    (True, True)
    >>> same_wording("In the foot", "The foot"), same_wording("King George", "Queen George")
    (True, False)
    """
    if max(len(a), len(b)) > _LONGEST:
        return False
    first, second = squash(a), squash(b)
    if first == second and len(first) >= (4 if " " not in a + b else 5):  # "I ran" is not "Iran"
        return min(_longest_word(a), _longest_word(b)) >= 3
    longer, shorter = sorted((_words(a), _words(b)), key=len, reverse=True)
    if shorter and len(longer) == len(shorter) + 1 and longer[0] in TITLES | ABOUT and longer[1:] == shorter:
        return True
    plain, bare = sorted((normalise(a), normalise(b)), key=len, reverse=True)
    found = _PREPOSITION.match(plain)
    return found is not None and plain[found.end() :] == bare


def wording_hint(question: str, a: str, b: str) -> bool:
    """Whether the longer answer adds only what the question asks for, a given name, or the country of a place.

    >>> wording_hint("Which river is it?", "Nile", "the Nile River"), wording_hint("What is it?", "Nile", "Nile River")
    (True, False)
    >>> wording_hint("Who sailed west?", "Columbus", "Christopher Columbus")
    True
    >>> wording_hint("Where is it?", "Lourdes", "Lourdes, France"), wording_hint("Where?", "Georgia", "Georgia, USA")
    (True, False)
    """
    if max(len(a), len(b)) > _LONGEST:
        return False
    return _adds_asked(question, a, b) or _adds_given_name(question, a, b) or _adds_place(a, b)


def _adds_asked(question: str, a: str, b: str) -> bool:
    """ "Nile" and "Nile River", "Ming" and "the Ming dynasty": the rest is what the question says it asks for."""
    asked = _asked_nouns(question)
    longer, shorter = sorted(
        ([word for word in _words(text) if word not in SMALL_WORDS] for text in (a, b)), key=len, reverse=True
    )
    size = len(shorter)
    if not shorter or len(longer) == size or any(_stem(word) in asked for word in shorter):
        return False
    if longer[:size] == shorter:
        rest = longer[size:]
    elif longer[-size:] == shorter:
        rest = longer[:-size]
    else:
        return False
    return all(_stem(word) in asked and word not in TELLING_WORDS for word in rest)


def _adds_given_name(question: str, a: str, b: str) -> bool:
    longer, shorter = sorted((a.strip(" .").split(), b.strip(" .").split()), key=len, reverse=True)
    if len(shorter) != 1 or not 2 <= len(longer) <= 4 or not _WHO.search(question):
        return False
    return longer[-1].casefold() == shorter[0].casefold() and all(word[:1].isupper() for word in longer)


def _adds_place(a: str, b: str) -> bool:
    longer, shorter = sorted((normalise(a), normalise(b)), key=len, reverse=True)
    if shorter in PLACES or "," in shorter or not longer.startswith(f"{shorter}, "):
        return False
    return longer[len(shorter) + 2 :] in PLACES


@lru_cache(1024)
def _asked_nouns(question: str) -> frozenset[str]:
    """The words after "which" or "what" up to the verb: what the question asks for."""
    found = set()
    for match in _ASKING.finditer(question.casefold()[-2000:]):
        for word in _WORD.findall(match[1])[:6]:
            if word in NOUN_ENDS:
                break
            found.add(_stem(word))
    return frozenset(found - {"of"})


@lru_cache(4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(normalise(text).replace("-", " ")))


def _longest_word(text: str) -> int:
    return max((len(word.replace("'", "")) for word in _words(text)), default=0)


def _stem(word: str) -> str:
    """The singular of most nouns."""
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
