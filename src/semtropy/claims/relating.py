"""What passages say of claims: for each pair the probabilities that the passage supports, contradicts or is silent.

A judge reads short texts best, so each claim is compared with the few sentences of a passage that are nearest to it,
by the rare words they share, and is read with the name that its pronoun stands for. A sentence that states several
facts is read fact by fact: a passage that has one of two facts supports half of it. All pairs of an answer go to the
judge in one batch. Where the judge is in doubt, the share of the claim's words that the whole passage has counts, too.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .splitting import OPENERS, Claim, sentences, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


Triple = tuple[str, str, str]

NEAREST = 5
LONGEST = 1200
"""Characters of a sentence that are read: longer ones come from texts without sentence ends."""

SUPPORTS, CONTRADICTS, SILENT = range(3)
SURE = 0.75
"""The probability from which a contradiction by a judge that takes silence for one is believed."""
_WORD = re.compile(r"[^\W_]+")
_SPACED = re.compile(r"[぀-ヿ㐀-鿿豈-﫿\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_COMMON = words(
    """a an the and or but of in on at by for from with to as is are was were be been being has have had he she it they
    his her its their him them this that these those who which whom whose where when while also not no into during
    after before about over than then there so such s t"""
)
_PRONOUN = re.compile(
    r"(?P<subject>He|She|They|It)\b(?!['’])|(?P<owner>His|Her|Their|Its)\s(?=\w)", re.UNICODE
)
_NAME = re.compile(
    r"(?:[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’.-]*|\"[^\"]{1,60}\")(?:\s(?:(?:of|the|de|da|di|van|von|der|den|la|le|bin|al|ibn|y|e|and)\s)?"
    r"(?:[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’.-]*|\([^()]{1,40}\))){0,6}"
)
_NO_NAME = OPENERS | words(
    """tell write give describe explain provide what who which how why please can could name list summarize summarise
    biography bio"""
)

SEVERAL = 12
"""The fewest words of a sentence that is read fact by fact."""
_FEWEST = 4  # words of a fact
_MOST = 4  # facts of a sentence: the last has the rest, so that a text without full stops takes no longer
_VERBS = (
    "was|were|is|are|has|have|had|served|attended|received|won|played|became|worked|made|went|moved|graduated|earned|"
    "died|published"
)
_TIMES = "In|On|At|After|Before|During|By|From|Since|As|With"
_CLAUSE = re.compile(
    rf"""; \s+
      | , \s+ (?= (?:and|but|where|while|which|who|before|after|including) \b
               | (?! includ|dur|follow|accord|regard|concern ) [a-z]{{2,}}ing \b )
      | \s+ (?= and \s+ (?:later|also|the|his|her|its|their|{_VERBS}) \b )""",
    re.VERBOSE,
)
_JOINT = re.compile(r"\A(?:(?:and|but|where|while|which|who) )?(?:(?:he|she|they|it) )?")
_SUBJECT = re.compile(
    rf"(?:(?:{_TIMES})\b[^,]{{1,40}}, )?(?P<name>(?!(?:{_TIMES})\b)(?:[^\s,]+ ){{1,5}}?)(?=(?:{_VERBS})\b)"
)
_LIFE = re.compile(
    r"(?P<name>[^(),]{2,60}?) \((?P<life>born\b[^()]*|[^()]*\d{3} ?[–—-][^()]*)\)(?P<rest>(?: \S+){3}.*)",
    re.DOTALL,
)


WORDS = 2.0
"""Log-odds of support between a passage with none of a long claim's words and one with all of them."""
_FEW, _MANY = 4, 12  # words of a claim up to which they count nothing, and from which in full
_HALF = 0.5  # the share of them that says nothing
_LEAST = 1e-12
SILENCE = 0.2
"""What a silent sample counts as a vote: 0 would say that it contradicts the claim, 0.5 that it says nothing."""


def votes(relations: Floats) -> Floats:
    """The votes for claims in what samples say of them (... x 3): support counts 1, contradiction 0, silence little.

    >>> votes(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    array([1. , 0. , 0.2])
    """
    found: Floats = np.clip(relations[..., SUPPORTS] + SILENCE * relations[..., SILENT], 0.0, 1.0)
    return found


@dataclass(frozen=True, slots=True)
class ClaimPairs:
    """The pairs to be judged for claims x passages, and where each verdict belongs.

    pairs    (question, sentences of a passage, claim or one of its facts): what the judge gets
    places   the claim and the passage of each pair
    shape    how many claims and passages
    nearest  the sentence of each passage that is nearest to each claim, None where nothing is shared
    verbatim claims and passages where the passage says the claim word for word
    hints    what the words that a whole passage shares with a claim add to the log-odds of support
    """

    pairs: tuple[Triple, ...]
    places: tuple[tuple[int, int], ...]
    shape: tuple[int, int]
    nearest: dict[tuple[int, int], str]
    verbatim: tuple[tuple[int, int], ...]
    hints: dict[tuple[int, int], float]

    def relations(self, verdicts: Floats) -> Floats:
        """Claims x passages x 3 (supports, contradicts, silent); an empty passage is silent."""
        found = np.zeros((*self.shape, 3))
        found[..., SILENT] = 1.0
        facts: dict[tuple[int, int], list[Floats]] = {}
        for place, row in zip(self.places, verdicts, strict=True):
            facts.setdefault(place, []).append(row)
        for place, rows in facts.items():
            found[place] = _moved(_together(np.array(rows)), self.hints[place])
        for place in self.verbatim:
            found[place] = (1.0, 0.0, 0.0)
        return found


def relate(
    question: str, claims: Sequence[Claim | str], passages: Sequence[str], judge: Any = None
) -> Floats:
    """What each passage says of each claim: an array claims x passages x 3 (supports, contradicts, silent).

    question  what the passages answer
    claims    of one answer, in order: pronouns are resolved with those before
    passages  other answers to the same question
    judge     an object with `relation`, or with `entails`, which cannot tell contradiction from silence; None for
              the built-in judge

    >>> class Words:
    ...     def entails(self, batch):
    ...         return [float(set(b.split()) <= set(a.split())) for _, a, b in batch]
    >>> passages = ["Ada Lovelace lived in London. She wrote on engines.", "Ada Lovelace lived in Paris."]
    >>> relate("Who was Ada Lovelace?", ["Ada Lovelace lived in London."], passages, Words())[..., 0]
    array([[1., 0.]])
    """
    if judge is None:
        from ..meaning import load_judge

        judge = load_judge(None)
    to_judge = compare(question, claims, passages)
    return to_judge.relations(judged(judge, to_judge.pairs))


def judged(judge: Any, pairs: Sequence[Triple]) -> Floats:
    """The judge's three probabilities for each pair; one that only knows entailment leaves the rest to silence.

    A judge with `competes` takes silence for contradiction: it is believed only where it is sure of one, and where the
    passage competes with the claim.
    """
    if not pairs:
        return np.zeros((0, 3))
    different = list(dict.fromkeys(pairs))
    if len(different) < len(pairs):  # a text that repeats itself
        rows = dict(zip(different, judged(judge, different), strict=True))
        return np.array([rows[pair] for pair in pairs])
    if hasattr(judge, "relation"):
        found = np.asarray(judge.relation(pairs), dtype=float)
    elif hasattr(judge, "relations"):  # entailment, neutral, contradiction
        found = np.asarray(judge.relations(pairs), dtype=float)[:, [0, 2, 1]]
    else:
        support = np.asarray(judge.entails(pairs), dtype=float)
        found = np.stack([support, np.zeros_like(support), 1 - support], axis=1)
    if found.shape != (len(pairs), 3) or not np.all((found >= -1e-6) & (found <= 1 + 1e-6)):
        raise InputError(
            f"the judge returned {found.shape} values for {len(pairs)} pairs: three probabilities each are expected"
        )
    clipped: Floats = np.clip(found, 0.0, 1.0)
    if hasattr(judge, "competes"):
        doubtful = clipped[:, CONTRADICTS] < SURE
        silent = [n for n, pair in enumerate(pairs) if doubtful[n] or not judge.competes(pair)]
        clipped[silent, SILENT] += clipped[silent, CONTRADICTS]
        clipped[silent, CONTRADICTS] = 0.0
    return clipped


def compare(question: str, claims: Sequence[Claim | str], passages: Sequence[str]) -> ClaimPairs:
    """What a judge has to read to relate `claims` to `passages`."""
    stated = [claim if isinstance(claim, Claim) else Claim(claim, 0, len(claim)) for claim in claims]
    texts = resolved(question, stated)
    facts = [facts_of(text) for text in texts]
    said = [[part[:LONGEST] for part in _sentences_of(passage)] for passage in passages]
    bags = [[content_words(part) for part in parts] for parts in said]
    rarity = _rarity([bag for parts in bags for bag in parts])
    asked = content_words(question)
    pairs: list[Triple] = []
    places: list[tuple[int, int]] = []
    nearest: dict[tuple[int, int], str] = {}
    verbatim: list[tuple[int, int]] = []
    hints: dict[tuple[int, int], float] = {}
    whole = [frozenset().union(*parts) for parts in bags]
    for row, text in enumerate(texts):
        own = content_words(text)
        plain = _plain(stated[row].text)
        for column, parts in enumerate(said):
            shared = [_overlap(own, bag, asked, rarity) for bag in bags[column]]
            order = sorted(range(len(parts)), key=lambda n: (-shared[n], n))[:NEAREST]
            if not order:
                continue
            if shared[order[0]] > 0:
                nearest[row, column] = parts[order[0]]
            if any(_plain(parts[n]) == plain or _begins_with(parts[n], stated[row].text) for n in order):
                verbatim.append((row, column))
                continue
            premise = " ".join(parts[n] for n in sorted(order))
            pairs += [(question, premise, fact) for fact in facts[row]]
            places += [(row, column)] * len(facts[row])
            hints[row, column] = _hint(own - asked, whole[column])
    return ClaimPairs(tuple(pairs), tuple(places), (len(stated), len(said)), nearest, tuple(verbatim), hints)


def facts_of(claim: str) -> list[str]:
    """The facts that a sentence states, each as a sentence about the same subject; the sentence alone if it is short.

    >>> facts_of("Ada Lovelace (1815 – 1852) was born in London, where she met Charles Babbage in 1833.")
    ['Ada Lovelace lived 1815 – 1852.', 'Ada Lovelace was born in London.', 'Ada Lovelace met Charles Babbage in 1833.']
    """
    if len(claim.split()) < SEVERAL:
        return [claim]
    found = []
    if life := _LIFE.fullmatch(claim):
        found = [f"{life['name']} {'was' if life['life'].startswith('born') else 'lived'} {life['life']}."]
        claim = life["name"] + life["rest"]
    subject = _SUBJECT.match(claim)
    clauses = [""]
    for part in _CLAUSE.split(claim) if subject else [claim]:
        if min(len(clauses[-1].split()), len(part.split())) < _FEWEST or len(clauses) == _MOST:
            clauses[-1] = f"{clauses[-1]} {part}".strip()
        else:
            clauses.append(part)
    if not found and len(clauses) == 1:
        return [claim]
    name = subject["name"] if subject else ""
    later = [name + _JOINT.sub("", part) for part in clauses[1:]]
    return [*found, *(f"{part[:1].upper()}{part[1:].rstrip(' .,;')}." for part in (clauses[0], *later))]


def _together(facts: Floats) -> Floats:
    """What a passage says of a claim, from what it says of each of its facts.

    It supports the claim as far as it supports its facts in the mean, and contradicts it if it contradicts one of them.

    >>> _together(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])), _together(np.array([[1.0, 0.0, 0.0], [0.1, 0.9, 0.0]]))
    (array([0.5, 0. , 0.5]), array([0.1, 0.9, 0. ]))
    """
    against = facts[:, CONTRADICTS].max()
    support = min(facts[:, SUPPORTS].mean(), 1 - against)
    return np.array([support, against, max(1 - support - against, 0.0)])


def _hint(claim: frozenset[str], passage: frozenset[str]) -> float:
    """Log-odds for a claim in the share of its words that a passage has; numbers count twice.

    A network that reads the nearest sentences of a passage is often in doubt of a long claim, and then they tell more
    than it does.
    """
    weights = {word: 2.0 if any(sign.isdigit() for sign in word) else 1.0 for word in claim}
    if not weights:
        return 0.0
    share = math.fsum(weights[word] for word in claim & passage) / math.fsum(weights.values())
    length = min(max(len(claim) - _FEW, 0), _MANY - _FEW) / (_MANY - _FEW)
    return WORDS * (share - _HALF) * length


def _moved(relation: Floats, hint: float) -> Floats:
    """A relation with other log-odds of support; what a judge is certain of stays as it is.

    >>> _moved(np.array([0.5, 0.25, 0.25]), math.log(3)), _moved(np.array([1.0, 0.0, 0.0]), -1.0)
    (array([0.75 , 0.125, 0.125]), array([1., 0., 0.]))
    """
    support = relation[SUPPORTS]
    if not 0 < support < 1:
        return relation
    odds = math.log(max(support, _LEAST)) - math.log(max(1 - support, _LEAST))
    moved = 1 / (1 + math.exp(-odds - hint))
    found: Floats = relation * (1 - moved) / (1 - support)
    found[SUPPORTS] = moved
    return found


def resolved(question: str, claims: Sequence[Claim]) -> list[str]:
    """The claims as they are to be read: with the name for a leading pronoun, and an item after its introduction.

    >>> [*map(str, resolved("Who was Ada?", [Claim("He met Ada.", 0, 11), Claim("Her work lasted.", 12, 28)]))]
    ['Ada met Ada.', "Ada's work lasted."]
    """
    name = _last_name(question)
    found = []
    for claim in claims:
        text = claim.text[:LONGEST]
        match = _PRONOUN.match(text)
        if match and name:
            own = match["owner"] is not None
            said = f"{name}'s " if own else name
            text = said + text[match.end() :]
        elif not match:
            name = _leading_name(text) or name
        if claim.lead is not None:
            text = f"{claim.lead} {text}"
        found.append(text)
    return found


def in_full(question: str, claim: str) -> tuple[str, str | None]:
    """A claim that begins with part of the name the question asks about, with all of that name; and the name.

    >>> in_full("Tell me about Evan Rachel Wood.", "Wood's first film came out in 1998.")
    ("Evan Rachel Wood's first film came out in 1998.", 'Evan Rachel Wood')
    """
    name, part = _last_name(question), _leading_name(claim)
    if name and part and content_words(part) < content_words(name):
        claim = name + claim[len(part) :]
    return claim, name


def _leading_name(text: str) -> str | None:
    match = _NAME.match(text)
    if match is None or match[0].split()[0].casefold() in _NO_NAME:
        return None
    return _bare(match[0])


def _last_name(question: str) -> str | None:
    names = [match[0] for match in _NAME.finditer(question[-2000:])]
    names = [name for name in names if name.split()[0].casefold().strip(".,?!'\"") not in _NO_NAME]
    return _bare(names[-1]) if names else None


def _bare(name: str) -> str:
    return re.sub(r"\s\([^()]*\)$|['’]s$|[.,;:]+$", "", name)


@lru_cache(maxsize=256)
def _sentences_of(passage: str) -> tuple[str, ...]:
    return tuple(sentences(passage))


@lru_cache(maxsize=8192)
def content_words(text: str) -> frozenset[str]:
    """The words of a text by stem; scripts without spaces give pairs of letters."""
    text = unicodedata.normalize("NFKC", text).casefold()
    found = {_stem(word) for word in _WORD.findall(text) if word not in _COMMON}
    dense = "".join(_SPACED.findall(text))
    return frozenset(found | {dense[n : n + 2] for n in range(len(dense) - 1)})


def _stem(word: str) -> str:
    """A word without its commonest endings: enough to find sentences, not to judge them."""
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _rarity(bags: Sequence[frozenset[str]]) -> dict[str, float]:
    counts = Counter(word for bag in bags for word in bag)
    return {word: math.log((1 + len(bags)) / count) for word, count in counts.items()}


def _overlap(
    claim: frozenset[str], bag: frozenset[str], asked: frozenset[str], rarity: dict[str, float]
) -> float:
    """The weight of the words shared; those of the question count little, since every sentence may have them."""
    # exactly rounded, since a plain sum depends on the order of a set, and with it on the process
    return math.fsum(rarity[word] * (0.1 if word in asked else 1.0) for word in claim & bag)


def _begins_with(sentence: str, claim: str) -> bool:
    """Whether a sentence says the claim word for word and goes on with another clause.

    >>> _begins_with("Ulm is in Germany, and the Danube runs through it.", "Ulm is in Germany.")
    True
    >>> _begins_with("She was born in Paris, Texas, in 1950.", "She was born in Paris.")
    False
    """
    claim = claim.rstrip(" .!")
    rest = sentence[len(claim) :]
    if len(claim.split()) < 4 or not sentence.startswith(claim) or not rest.startswith((",", ";")):
        return False
    return len(re.split("[,;]", rest[1:])[0].split()) >= 4


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
