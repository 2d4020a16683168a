"""The verdict on one question: what was found, why sampling stopped, what it cost, and what that means."""

from __future__ import annotations

import html
import json
import math
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Self, cast, get_args, get_origin, get_type_hints

from .errors import InputError
from .stopping import Reason, Spent

if TYPE_CHECKING:
    from .nouns import Belief, Partition, Sample


# Verdicts and their parts as plain data, and back: the fields in order, each read by its type.


_MAY_LACK = {"missing", "threshold", "prior", "guarantee", "judge", "score", "fields", "claims", "second"}
_MAY_LACK |= {"others", "without"}
"""Keys that are left out where there is nothing to say, or that earlier versions did not write."""


class _Data:
    """A dataclass that can be written as JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain data."""
        return _written(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return cast("Self", _from_data(cls, data))


def _written(data: _Data, *names: str) -> dict[str, Any]:
    """These fields as plain data, by default all."""
    kept = names or [each.name for each in fields(data)]  # type: ignore[arg-type]
    return {name: _plain(getattr(data, name)) for name in kept}


def _plain(value: Any) -> Any:
    if isinstance(value, _Data):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value


def _from_data(cls: Any, data: Mapping[str, Any]) -> Any:
    """Plain data as what was written; a key that is missing is a KeyError."""
    kinds = {name: kind for name, kind in _kinds(cls).items() if name in data or name not in _MAY_LACK}
    return cls(**{name: _read(kind, data[name]) for name, kind in kinds.items()})


def _read(kind: Any, value: Any) -> Any:
    if isinstance(kind, UnionType):  # something or None
        return None if value is None else _read(get_args(kind)[0], value)
    if get_origin(kind) is tuple:
        return tuple(_read(get_args(kind)[0], each) for each in value)
    if isinstance(kind, type) and issubclass(kind, _Data):
        return kind.from_dict(value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    return value


@cache
def _kinds(data: Any) -> dict[str, Any]:
    """The types of the fields that are compared: the others are not part of the JSON."""
    known = get_type_hints(data, localns=dict.fromkeys(("Belief", "Partition", "Sample"), object))
    return {each.name: known[each.name] for each in fields(data) if each.compare}


# The parts of a verdict: what is known of an answer, or of one field of it.


class Outcome(StrEnum):
    """What a verdict says.

    >>> Outcome.STEADY == "steady", str(Outcome.NO_ANSWER)
    (True, 'no answer')
    """

    STEADY = "steady"
    FLAGGED = "flagged"
    UNDECIDED = "undecided"
    NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Entropy(_Data):
    """The semantic entropy in nats: mean, variance and 90% interval, None where the estimator has none."""

    mean: float
    variance: float | None = None
    interval: tuple[float, float] | None = None

    @classmethod
    def of(cls, belief: Belief) -> Entropy:
        """What a belief says of the entropy."""
        return cls(belief.mean, belief.variance, belief.interval(0.9))


@dataclass(frozen=True, slots=True)
class VerdictAgreement(_Data):
    """The probability that another sample means what the answer means: mean and 90% interval."""

    mean: float
    interval: tuple[float, float] | None = None

    def sentence(self) -> str:
        """The probability as people read it.

        >>> VerdictAgreement(0.83, (0.61, 0.95)).sentence()
        'Asked again, the model would give this answer 83 times in 100 (90% interval: 61 to 95).'
        """
        times = f"Asked again, the model would give this answer {_times(self.mean)} in 100"
        return f"{times}{_between(percent, self.interval)}."


@dataclass(frozen=True, slots=True)
class Wording(_Data):
    """One text among those of a meaning, and how many samples had it."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Meaning(_Data):
    """One meaning: its commonest wording, how many samples had it, and the least probability it can have.

    `wordings` has every text grouped under it, the commonest first. `has_answer` marks the meaning of the answer,
    which counts 0 where no sample has it.
    """

    text: str
    count: int
    floor: float = 0.0
    wordings: tuple[Wording, ...] = ()
    has_answer: bool = False


@dataclass(frozen=True, slots=True)
class FieldVerdict(_Data):
    """The verdict on one field of a structured answer.

    name         the keys that lead to it, joined by dots, with the place in a list: "authors[0]"; "authors[+]" is the
                 item that samples have most often and the answer has not
    value        its value in the answer as JSON, None where there is none
    required     whether sampling went on for it, and whether it counts for the outcome of the whole
    outcome      steady, flagged, undecided, or no answer: a required field is not there, or a tool was not offered
    entropy      of the field's value, in nats
    meanings     the values found
    agreement    the probability that another sample has the same value, None where unknown
    probability  the calibrated probability of a hallucination, None without a calibration

    >>> found = (Meaning("1912", 3, 0.1, has_answer=True), Meaning("1911", 2))
    >>> agreement = VerdictAgreement(0.55, (0.25, 0.83))
    >>> print(FieldVerdict("year", 1912, True, Outcome.FLAGGED, Entropy(0.8), found, agreement).sentence())
    year: 1912 (flagged; 3 of 5 samples agree; asked again, the model would give it 55 times in 100)
    """

    name: str
    value: Any
    required: bool
    outcome: Outcome
    entropy: Entropy
    meanings: tuple[Meaning, ...]
    agreement: VerdictAgreement | None = None
    probability: float | None = None

    @property
    def flagged(self) -> bool:
        """Whether the outcome is `flagged`."""
        return self.outcome is Outcome.FLAGGED

    @property
    def untrusted(self) -> bool:
        """Whether the field is not to be trusted: it is flagged, required and not there, or was not offered."""
        return self.outcome in (Outcome.FLAGGED, Outcome.NO_ANSWER)

    @property
    def shown(self) -> str:
        """The value as people read it: text as it is, anything else as JSON."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)

    def sentence(self) -> str:
        """The field in one line."""
        if self.outcome is Outcome.NO_ANSWER:
            if self.value is not None:
                return f"{self.name}: {self.shown}, which was not offered"
            return f"{self.name}: required, but not in the answer"
        drawn = sum(meaning.count for meaning in self.meanings)
        own = sum(meaning.count for meaning in self.meanings if meaning.has_answer)
        said = [str(self.outcome)]
        if drawn:
            said.append(_agreeing(own, drawn))
        if self.agreement is not None:
            said.append(f"asked again, the model would give it {_times(self.agreement.mean)} in 100")
        value = f"without {self.shown}" if self.name.endswith("[+]") else self.shown
        return f"{self.name}: {value} ({'; '.join(said)})"

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data."""
        known = ("name", "value", "required", "outcome", "flagged", "entropy", "agreement", "meanings")
        return _written(self, *known, "probability")


@dataclass(frozen=True, slots=True)
class ClaimVerdict(_Data):
    """The verdict on one claim of a long answer.

    text          the claim
    start         where it begins in the answer
    end           where it ends
    outcome       steady, flagged or undecided
    agreement     how often another answer of the model would support the claim
    supported     the samples that support it
    contradicted  the samples that contradict it
    silent        the samples that do neither
    instead       what a sample says that contradicts it, None where none does
    second        what second models say of it: supports, contradicts or silent; None where none was asked
    score         the probability that it is right, by the samples and second models; None without these

    >>> agreement = VerdictAgreement(0.08, (0.0, 0.24))
    >>> claim = ClaimVerdict("He is from Perth.", 0, 17, Outcome.FLAGGED, agreement, 0, 2, 1, "Born in Hobart.")
    >>> print(claim.sentence().replace("; ", ";\\n  "))
    flagged: "He is from Perth." 2 of 3 samples contradict it, and none supports it;
      asked again, the model would repeat it 8 times in 100. A sample says instead: "Born in Hobart."
    """

    text: str
    start: int
    end: int
    outcome: Outcome
    agreement: VerdictAgreement
    supported: int
    contradicted: int
    silent: int
    instead: str | None = None
    second: str | None = None
    score: float | None = None

    @property
    def flagged(self) -> bool:
        """Whether the outcome is `flagged`."""
        return self.outcome is Outcome.FLAGGED

    def sentence(self, claims: Sequence[ClaimVerdict] = ()) -> str:
        """The claim, what the samples say of it, and what one says instead, in one line.

        claims  all claims of the answer: what the samples say of the others counts for this one, too
        """
        instead = (
            ""
            if self.instead is None
            else f" A sample says instead: {_in_marks(' '.join(self.instead.split()))}"
        )
        others = {"supports": " Another model supports it.", "contradicts": " Another model contradicts it."}
        second = others.get(self.second or "", "")
        said = f"{self.counts()}{self._why(claims)}; {self.repeated()}"
        return f"{self.outcome}: {_in_marks(self.text)} {said}.{second}{instead}"

    def _why(self, claims: Sequence[ClaimVerdict]) -> str:
        """Why the outcome or the number is not what the samples alone suggest.

        Some leave the claim open, which is weaker evidence than a contradiction, or what the samples say of most other
        claims, which counts for this one, too, is the opposite.
        """
        others = [claim for claim in claims if claim != self]
        backed = sum(2 * claim.supported > claim._drawn for claim in others)
        gap = self.agreement.mean - self.supported / max(self._drawn, 1)
        alone = (self.supported + 1) / (self.supported + self.contradicted + self.silent / 2 + 2)
        most, few = 2 * backed > len(others), 2 * backed < len(others)
        higher = most and gap > SURPRISING and self.agreement.mean > alone
        lower = few and gap < -SURPRISING and self.agreement.mean < alone
        weak = gap > SURPRISING and self.silent > self.contradicted
        if self._left_out():
            weak = weak or self.outcome is Outcome.UNDECIDED
            lower = few and self.flagged
        said = ""
        if weak and not self._left_out():
            said = f", and {self._open()}"
        elif self.contradicted and self.silent and not self.supported:
            said = ", and none supports it"
        if weak:
            said += ", which is only weak evidence against it"
        if higher:
            backing = _backed(backed, len(others))
            said += f", and {backing}" if weak else f", but {backing}, which speaks for this one, too"
        if lower:
            said += f", {'but' if self.supported else 'and'} {_backed(backed, len(others), only=True)}"
        return said

    @property
    def _drawn(self) -> int:
        """How many samples it was compared with."""
        return self.supported + self.contradicted + self.silent

    def _open(self) -> str:
        """How many samples neither support nor contradict it, where others do."""
        return "the other leaves it open" if self.silent == 1 else f"the other {self.silent} leave it open"

    def _left_out(self) -> bool:
        """Whether samples were drawn and all are silent about it."""
        return self.silent > 0 and not self.supported and not self.contradicted

    def counts(self) -> str:
        """What the samples say of it.

        >>> ClaimVerdict("", 0, 0, Outcome.STEADY, VerdictAgreement(0.5), 2, 0, 1).counts()
        '2 of 3 samples support it'
        """
        drawn = self._drawn
        if not drawn:
            return "No sample was drawn"
        votes = [(self.supported, "support"), (self.contradicted, "contradict")]
        said = [(count, f"{verb}{'s' * (count == 1)} it") for count, verb in votes if count]
        if not said:
            none = {1: "The one sample neither supports nor", 2: "Neither sample supports or"}
            return f"{none.get(drawn, f'None of {drawn} samples supports or')} contradicts it"
        (count, first), *rest = said
        who = _all(drawn, "sample").capitalize() if count == drawn else f"{count} of {drawn} samples"
        return " and ".join([f"{who} {first}", *(f"{count} {verb}" for count, verb in rest)])

    def repeated(self) -> str:
        """How often the model would make the claim again, with the 90% interval where no contradiction decided it."""
        said = f"asked again, the model would repeat it {_times(self.agreement.mean)} in 100"
        shown = self.outcome is Outcome.UNDECIDED or (self.flagged and self._left_out())
        return said + _between(percent, self.agreement.interval if shown else None)

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data."""
        data = _written(self)
        if self.second is None:
            del data["second"], data["score"]
        return data


def _agreeing(own: int, drawn: int) -> str:
    """How many samples agree.

    >>> _agreeing(0, 1), _agreeing(0, 2), _agreeing(0, 5), _agreeing(1, 5), _agreeing(5, 5)
    ('the one sample disagrees', 'neither sample agrees', 'none of 5 samples agrees', '1 of 5 samples agrees', \
'all 5 samples agree')
    """
    if own == drawn:
        return f"{_all(drawn, 'sample')} {'agrees' if drawn == 1 else 'agree'}"
    none = {1: "the one sample disagrees", 2: "neither sample agrees"}
    if not own:
        return none.get(drawn, f"none of {drawn} samples agrees")
    return f"{own} of {drawn} samples {'agrees' if own == 1 else 'agree'}"


def _backed(backed: int, others: int, *, only: bool = False) -> str:
    """How many of the other claims more than half of the samples support.

    >>> _backed(4, 4), _backed(3, 4), _backed(0, 1)
    ('all 4 other claims are mostly supported', '3 of the 4 other claims are mostly supported', \
'few samples support the other claim')
    >>> _backed(1, 4, only=True), _backed(0, 4)
    ('only 1 of the 4 other claims is mostly supported', 'none of the 4 other claims is mostly supported')
    """
    if others == 1:
        return "the other claim is mostly supported" if backed else "few samples support the other claim"
    if backed == others:
        return f"{_all(others, 'other claim')} are mostly supported"
    of = f"{'neither' if others == 2 else 'none'}" if not backed else f"{'only ' * only}{backed}"
    return f"{of} of the {others} other claims {'is' if backed < 2 else 'are'} mostly supported"


def percent(probability: float) -> str:
    """A probability as a number out of 100: whole, but 0 and 100 only where they are exact.

    >>> percent(0.996), percent(1.0)
    ('more than 99', '100')
    """
    if 0.995 < probability < 1:
        return "more than 99"
    if 0 < probability < 0.005:
        return "less than 1"
    return f"{100 * probability:.0f}"


def _times(probability: float) -> str:
    """A probability as "83 times", of 100; "less than 1 time" has no plural.

    >>> _times(0.83), _times(0.01), _times(0.001)
    ('83 times', '1 time', 'less than 1 time')
    """
    often = percent(probability)
    return f"{often} time" if often.endswith(" 1") or often == "1" else f"{often} times"


def _between(shown: Callable[[float], str], interval: tuple[float, float] | None) -> str:
    """An interval in brackets, where there is one and its ends do not look the same, or almost.

    >>> _between(percent, (0.61, 0.95)), _between(percent, (0.9, 0.901)), _between(percent, (0.99, 0.999))
    (' (90% interval: 61 to 95)', '', '')
    """
    low, high = ("", "") if interval is None else map(shown, interval)
    same = low == high or (low, high) in (("99", "more than 99"), ("less than 1", "1"))
    return "" if same else f" (90% interval: {low} to {high})"


@dataclass(frozen=True, slots=True)
class SecondOpinion(_Data):
    """What another model says of the answer.

    model      its name
    agreement  the probability that another answer of it means what the judged answer means
    answers    its answers
    agree      how many of them mean what the judged answer means
    instead    the commonest of its answers that means something else, None where none does
    samples    how many answers it was asked for; 0 where they were given
    tokens     generated for them, None where it does not count
    claims     of a long answer: the numbers of claims that it supports, contradicts and is silent about
    others     the same for further models
    without    the outcome without second models

    >>> said = SecondOpinion("gpt-x", VerdictAgreement(0.17), ("Lyon", "Lyon"), agree=0, instead="Lyon", samples=2)
    >>> said.sentence()
    'gpt-x says otherwise: "Lyon" (neither answer agrees).'
    """

    model: str
    agreement: VerdictAgreement
    answers: tuple[str, ...]
    agree: int
    instead: str | None = None
    samples: int = 0
    tokens: int | None = 0
    claims: tuple[int, int, int] | None = None
    others: tuple[SecondOpinion, ...] = ()
    without: Outcome = Outcome.STEADY

    def sentence(self) -> str:
        """What it says, in one line."""
        n = len(self.answers)
        if self.claims is not None:
            return f"{self.model} {self._of_claims(self.claims)}."
        if self.agree == n:
            often = "its one answer" if n == 1 else _all(n, "answer")
            return f"{self.model} gives the same answer ({often})."
        if not self.agree:
            none = {1: "its one answer", 2: "neither answer agrees"}
            often = none.get(n, f"none of {n} answers agrees")
            return f"{self.model} says otherwise: {_in_marks(_shortened(str(self.instead)))} ({often})."
        also = _quoted(_shortened(str(self.instead)))
        return f"{self.model} is torn: {self.agree} of {n} answers agree, and it also says {also}"

    @staticmethod
    def _of_claims(counts: tuple[int, int, int]) -> str:
        verbs = zip(("supports", "contradicts", "is silent about"), counts, strict=True)
        said = {verb: count for verb, count in verbs if count}
        if len(said) < 2:
            verb = next(iter(said), "is silent about")
            return f"{verb} {'the claim' if sum(counts) == 1 else _all(sum(counts), 'claim')}"
        first, *rest = [f"{verb} {count}" for verb, count in said.items()]
        return " and ".join([", ".join([f"{first} of {_count(sum(counts), 'claim')}", *rest[:-1]]), rest[-1]])

    def to_dict(self) -> dict[str, Any]:
        """The opinion as plain data."""
        cost = {"samples": self.samples, "tokens": self.tokens}
        said = _written(self, "model", "agreement", "answers", "agree", "instead")
        return said | {"cost": cost} | _written(self, "claims", "without", "others")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SecondOpinion:
        """Read what `to_dict` wrote."""
        return cast("SecondOpinion", _from_data(cls, {**data, **data["cost"]}))


THRESHOLD = math.log(2)
"""Flagged above this many nats by default: as unsure as between two equally likely answers."""

MOST_SHOWN = 50
"""Claims that `explain` lists."""

SURPRISING = 0.15
"""Why is said where there is more than this between a claim's number and the share of samples that support it."""

HALF = 0.35, 0.65  # shares of an answer that are about one half

_STEADY = "Steady is not the same as true: a model that repeats the same error every time looks steady, too."
_FLAGGED = "A flag says that the model is unsure, not that the answer is wrong: it may still be right."
_FLAGGED_CLAIM = (
    "A flag says that the model would not repeat the claim, not that it is wrong: it may still be right."
)
_BOTH = "Steady is not the same as true: two models may share an error."
_CONTRADICTED = "A flag says that two models disagree, not which of them is wrong."
_OUTSIDE = "A flag says that the model mostly says something else, not that the answer is wrong: it may still be right."


@dataclass(frozen=True, slots=True)
class Verdict(_Data):
    """The result of checking one question.

    question     the prompt
    answer       the judged answer
    outcome      steady, flagged, undecided or no answer
    entropy      mean, variance and 90% interval of the semantic entropy, in nats
    meanings     the meanings found, with their samples' texts
    spent        samples, rounds, tokens, judge calls and seconds
    reason       why sampling stopped
    agreement    the probability that another sample means what the answer means, None where unknown
    probability  the calibrated probability of a hallucination, None without a calibration
    threshold    the entropy in nats above which an answer is flagged
    prior        what the prior was learned from or fitted on, as words; None for the one that ships
    guarantee    what the calibration promises about answers that pass, as a sentence; None for no promise
    judge        the name and version of the judge that compared the answers; None where it has no name
    warnings     what qualifies the numbers, as sentences
    missing      why there is no answer, None where there is one
    fields       the verdict on each field of a structured answer; empty for any other
    claims       the verdict on each claim of a long answer; empty for any other
    second       what another model says of the answer; None where none was asked, or its word could change nothing
    score        the probability that the answer deserves no flag, by everything that is known: 1 is best. With second
                 models it is the probability that the answer is right, with a calibration 1 minus `probability`,
                 otherwise that of a steady answer. None where it is unknown, as for structured answers
    belief       the full posterior; after a live check only, not part of the JSON
    partition    the meaning of each sample; after a live check only, not part of the JSON
    draws        the samples; after a live check only, not part of the JSON

    >>> from semtropy import check
    >>> from semtropy.models import ScriptedModel
    >>> model = ScriptedModel(default={"Paris": 0.98, "Lyon": 0.02})
    >>> verdict = check("What is the capital of France?", model=model, judge="exact", rng=1)
    >>> verdict.answer, verdict.flagged
    ('Paris', False)
    """

    question: str
    answer: str
    outcome: Outcome
    entropy: Entropy
    meanings: tuple[Meaning, ...]
    spent: Spent
    reason: Reason
    agreement: VerdictAgreement | None = None
    probability: float | None = None
    threshold: float = THRESHOLD
    prior: str | None = None
    guarantee: str | None = None
    warnings: tuple[str, ...] = ()
    missing: str | None = None
    judge: str | None = None
    fields: tuple[FieldVerdict, ...] = ()
    claims: tuple[ClaimVerdict, ...] = ()
    second: SecondOpinion | None = None
    score: float | None = None
    belief: Belief | None = field(default=None, compare=False, repr=False)
    partition: Partition | None = field(default=None, compare=False, repr=False)
    draws: tuple[Sample, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        shown = self.answer if len(self.answer) <= 60 else f"{self.answer[:57]}..."
        agreement = "" if self.agreement is None else f", agreement {self.agreement.mean:.2f}"
        claims = f", {len(self.claims)} claims" if self.claims else ""
        return f"<Verdict {self.outcome}: {shown!r}{agreement}{claims}, {_count(self.samples, 'sample')}>"

    def _repr_html_(self) -> str:
        """The verdict as a notebook shows it: the headline, a bar of the agreement, the claims, the explanation."""
        head, *rest = (html.escape(line).replace("\n", "<br>") for line in self.sentences())
        parts = [f"<p><b>{head}</b></p>"]
        whole = not self.claims and not self.fields and self.outcome is not Outcome.NO_ANSWER
        if whole and self.agreement is not None:
            said = html.escape(self.agreement.sentence())
            parts += [_bar_html(self.agreement), f"<p>{said}</p>"]
            rest = [line for line in rest if line != said]
        marks = {Outcome.FLAGGED: "underline wavy #c0392b", Outcome.UNDECIDED: "underline dotted #b7791f"}
        claims = (
            f'<span style="text-decoration: {marks.get(each.outcome, "none")}">{html.escape(each.text)}</span>'
            for each in self.claims
        )
        parts += [f"<p>{' '.join(claims)}</p>"] if self.claims else []
        why = "".join(f"<li>{line}</li>" for line in rest)
        return f"<div>{''.join(parts)}<details><summary>why</summary><ul>{why}</ul></details></div>"

    def to_row(self) -> dict[str, Any]:
        """The numbers of the verdict under the names of its JSON, flat, for a table; unknown is None.

        >>> from semtropy import check
        >>> from semtropy.models import ScriptedModel
        >>> verdict = check("Capital?", model=ScriptedModel(default={"Paris": 1.0}), judge="exact", rng=1)
        >>> row = verdict.to_row()
        >>> row["answer"], row["outcome"], row["meanings"]
        ('Paris', 'steady', 1)
        """
        low, high = self.entropy.interval or (None, None)
        return {
            **_written(self, "question", "answer", "outcome", "flagged", "score"),
            "entropy": self.entropy.mean,
            "entropy_variance": self.entropy.variance,
            "entropy_low": low,
            "entropy_high": high,
            "agreement": None if self.agreement is None else self.agreement.mean,
            "probability": self.probability,
            "meanings": len(self.meanings),
            **{name: getattr(self.spent, name) for name in ("samples", "rounds", "tokens", "seconds")},
            "reason": str(self.reason),
        }

    @property
    def samples(self) -> int:
        """How many samples the verdict rests on; the answer is not counted."""
        return self.spent.samples

    @property
    def flagged(self) -> bool:
        """Whether the outcome is `flagged`."""
        return self.outcome is Outcome.FLAGGED

    @property
    def untrusted(self) -> tuple[str, ...]:
        """The names of the fields not to trust: those that are flagged, and required ones that are not there."""
        return tuple(field.name for field in self.fields if field.untrusted)

    def explain(self) -> str:
        """The verdict in plain sentences, with what it does not say.

        >>> found = (Meaning("Paris", 3, 0.8, has_answer=True),)
        >>> spent = Spent(samples=3, rounds=2, tokens=9, judge_calls=2, seconds=0.5)
        >>> verdict = Verdict("Capital of France?", "Paris", Outcome.STEADY, Entropy(0.1, 0.01, (0.0, 0.4)), found,
        ...                   spent, Reason.DECIDED_LOW, VerdictAgreement(0.97, (0.9, 1.0)))
        >>> print(verdict.explain())
        Looks steady: "Paris".
        Asked again, the model would give this answer 97 times in 100 (90% interval: 90 to 100).
        All 3 samples mean what the answer means.
        Semantic entropy 0.10 nats (90% interval: 0.00 to 0.40), below the threshold of 0.69.
        Stopped: further samples would hardly cast doubt on the answer.
        Cost: 3 samples, 9 tokens, 2 judge calls, 0.5 s.
        Steady is not the same as true: a model that repeats the same error every time looks steady, too.
        """
        headline, *rest = self.sentences()
        if self.headline() == self.label() and self.claims:  # it does not say the answer, whose claims follow
            rest.insert(0, textwrap.indent(self.answer.strip(), "  | ", lambda line: True))
        return "\n".join([headline, *rest])

    def sentences(self) -> list[str]:
        """The sentences of `explain`. Further lines of an answer are indented, so that none looks like a sentence."""
        lines = [self.headline()]
        if self.second is not None:
            lines += [each.sentence() for each in (self.second, *self.second.others)]
            if not self.claims:
                models = "All models" if self.second.others else "Both models"
                lines.append(f"{models} considered, the answer is right {_times(self.score or 0.0)} in 100.")
        if self.fields:
            lines += [f"  {field.sentence()}" for field in self.fields]
        elif self.claims:
            lines += self._claim_sentences()
        elif self.outcome is not Outcome.NO_ANSWER:
            if self.agreement is not None:
                lines.append(self.agreement.sentence())
            lines += [self._samples_sentence() + self._weighed(), self._entropy_sentence()]
        prior = [] if self.prior is None else [f"Prior: {self.prior}."]
        prior += [] if self.guarantee is None else [self.guarantee]
        lines += [
            str(self.reason),
            self._cost(),
            *prior,
            *(f"Note: {_after_colon(each.rstrip('.'))}." for each in self.warnings),
        ]
        steady = _STEADY if self.second is None else _BOTH
        caution = {Outcome.STEADY: steady, Outcome.FLAGGED: self._flag_caution()}.get(self.outcome)
        return [line.replace("\n", "\n    ") for line in (*lines, caution) if line is not None]

    def _flag_caution(self) -> str:
        """What a flag does not say; below the threshold the model is sure, but of something else."""
        if self.claims:
            return _FLAGGED_CLAIM
        if self.contradicted:
            return _CONTRADICTED
        sure = not self.fields and self.probability is None and self.entropy.mean <= self.threshold
        return _OUTSIDE if sure else _FLAGGED

    def headline(self) -> str:
        """One plain sentence."""
        if len(self.claims) == 1 and not self.fields:
            return f"{self.label()}: {_quoted(self.claims[0].text)}"
        whole = self.fields or self.claims or self.outcome is Outcome.NO_ANSWER
        return self.label() if whole else f"{self.label()}: {_quoted(self.answer)}"

    def label(self) -> str:
        """The headline without the answer."""
        if self.fields:
            return self._fields_headline()
        if self.claims:
            return self._claims_headline()
        if self.outcome is Outcome.NO_ANSWER:
            return f"No answer: {self.missing or 'the reply was empty'}."
        if self.outcome is Outcome.UNDECIDED:
            return "Undecided"
        changed = self._changed_by_second()
        if changed is not None:
            return changed
        if self.outcome is Outcome.STEADY:
            return "Looks steady"
        if self.probability is not None:
            likely = "Probably" if self.probability > 0.5 else "Possibly"
            return f"{likely} made up ({self.probability:.0%})"
        return self.suspected()

    @property
    def contradicted(self) -> bool:
        """Whether the answer is flagged because another model disagrees."""
        return self.flagged and self.second is not None and self.second.without is not Outcome.FLAGGED

    def _changed_by_second(self) -> str | None:
        """What to say where second models changed the outcome; None where they did not."""
        if self.second is None or self.second.without is self.outcome:
            return None
        who = "another model" if not self.second.others else "other models"
        was = {Outcome.STEADY: "Looks steady", Outcome.FLAGGED: "Unsure"}.get(
            self.second.without, "Undecided"
        )
        verb = "disagree" if self.flagged else "agree"
        return f"{was}, but {who} {verb}{'' if self.second.others else 's'}"

    def suspected(self) -> str:
        """What a flag says, by how often the model would repeat the answer: mostly, about half of the time, seldom."""
        repeated = 0.0 if self.agreement is None else self.agreement.mean
        if HALF[0] <= repeated <= HALF[1]:
            return "Unsure"
        return "Possibly made up" if repeated > HALF[1] else "Likely made up"

    def _claims_headline(self) -> str:
        """How many claims are flagged, or else how many are steady."""
        n, counts = len(self.claims), Counter(claim.outcome for claim in self.claims)
        flagged, undecided = counts[Outcome.FLAGGED], counts[Outcome.UNDECIDED]
        if n == 1:
            return "Do not trust" if flagged else "Undecided" if undecided else "Looks steady"
        of, whole = f"{n} claims", _all(n, "claim")
        if flagged:
            every = "either claim" if n == 2 else f"any of the {of}"
            return f"Do not trust {every if flagged == n else f'{flagged} of {of}'}."
        if self.outcome is Outcome.STEADY and not undecided:
            return f"Looks steady: {whole}."
        if self.outcome is Outcome.STEADY:
            rest = "the other is" if undecided == 1 else "the others are"
            return f"Looks steady: {n - undecided} of {of}; {rest} undecided."
        return f"Undecided: {whole if undecided == n else f'{undecided} of {of}'}."

    def _claim_sentences(self) -> list[str]:
        """The claims that are not steady, the flagged ones first."""
        order = [Outcome.FLAGGED, Outcome.UNDECIDED]
        open_ = [claim for outcome in order for claim in self.claims if claim.outcome is outcome]
        return [f"  {claim.sentence(self.claims)}" for claim in open_[:MOST_SHOWN]] + (
            [f"  and {len(open_) - MOST_SHOWN} more"] if len(open_) > MOST_SHOWN else []
        )

    def _fields_headline(self) -> str:
        waited = [field for field in self.fields if field.required] or self.fields
        undecided = [field.name for field in waited if field.outcome is Outcome.UNDECIDED]
        names = {field.name for field in waited}
        wrong = [name for name in self.untrusted if name in names]
        said = [f"Do not trust: {', '.join(wrong)}."] if wrong else []
        said += [f"Undecided: {', '.join(undecided)}."] if undecided else []
        said = said or [f"Looks steady: {', '.join(field.name for field in waited)}."]
        beside = [name for name in self.untrusted if name not in names]
        return " ".join(
            [*said, *([f"Not required, and not to be trusted: {', '.join(beside)}."] if beside else [])]
        )

    def show_groups(self) -> str:
        """Every meaning by count, with all of its wordings; the answer's meaning is marked.

        >>> wordings = (Wording("Paris", 2), Wording("paris", 1))
        >>> found = (Meaning("Paris", 3, 0.8, wordings, has_answer=True),)
        >>> spent, entropy = Spent(samples=3), Entropy(0.1)
        >>> print(Verdict("?", "Paris", Outcome.STEADY, entropy, found, spent, Reason.FIXED).show_groups())
        3 x Paris (the answer)
              2 x Paris
              1 x paris
        """
        if self.claims:
            return "\n".join(claim.sentence(self.claims) for claim in self.claims)
        if not self.fields:
            return "\n".join(_grouped(self.meanings))
        return "\n".join(
            line
            for field in self.fields
            for line in (f"{field.name}:", *(f"  {group}" for group in _grouped(field.meanings)))
        )

    def _entropy_sentence(self) -> str:
        entropy = (
            f"Semantic entropy {self.entropy.mean:.2f} nats{_between('{:.2f}'.format, self.entropy.interval)}"
        )
        if self.probability is not None:
            return f"{entropy}; the calibration gives a probability of {self.probability:.0%} that it is made up."
        side = "above" if self.entropy.mean > self.threshold else "below"
        close = "just " if f"{self.entropy.mean:.2f}" == f"{self.threshold:.2f}" else ""
        return f"{entropy}, {close}{side} the threshold of {self.threshold:.2f}."

    def _samples_sentence(self) -> str:
        n, drawn = self.samples, [meaning for meaning in self.meanings if meaning.count]
        if n == 0 or not drawn:
            decided = self.reason in (Reason.DECIDED_LOW, Reason.DECIDED_HIGH)
            return (
                "No sample was needed: the answer's own probability decides."
                if decided
                else "No sample was drawn: there is only the answer to go by."
            )
        own = next((meaning.count for meaning in self.meanings if meaning.has_answer), 0)
        if own == n:
            return f"{_all(n, 'sample').capitalize()} {'means' if n == 1 else 'mean'} what the answer means."
        if n == 1:
            return f"The one sample means something else: {_quoted(_shortened(drawn[0].text))}"
        none = "Neither sample means" if n == 2 else f"None of {n} samples means"
        agree = f"{own} of {n} samples {'means' if own == 1 else 'mean'}" if own else none
        others = [meaning for meaning in drawn if not meaning.has_answer]
        return f"{agree} what the answer means{self._other_samples(others, alone=not own)}"

    def _weighed(self) -> str:
        """What follows the counts where the probabilities of the texts lead to another number than they do."""
        agreement = self.agreement
        if not self.samples or agreement is None or not any(meaning.floor for meaning in self.meanings):
            return ""
        share = sum(meaning.count for meaning in self.meanings if meaning.has_answer) / self.samples
        low, high = agreement.interval or (agreement.mean, agreement.mean)
        expected = SURPRISING if share else 0.25  # of few samples, none says little
        if low <= share <= high or abs(agreement.mean - share) <= expected:
            return ""
        return " The model also reports how probable these texts are, which says more than the counts."

    def _other_samples(self, meanings: Sequence[Meaning], *, alone: bool) -> str:
        """What the samples say that do not mean what the answer means, as the end of a sentence.

        alone  whether all samples do
        """
        count = sum(meaning.count for meaning in meanings)
        who = "they" if alone else "the other" if count == 1 else f"the other {count}"
        if len(meanings) == 1:
            all_ = ("both" if count == 2 else "all of them") if alone else who
            return f"; {all_} {'says' if count == 1 else 'say'} {_quoted(_shortened(meanings[0].text))}"
        if len(meanings) == count:
            return f", and {who} differ from each other, too."
        most = max(meanings, key=lambda meaning: meaning.count)
        commonest = f"{_in_marks(_shortened(most.text))} ({most.count} of {self.samples})"
        return f"; {who} have {len(meanings)} meanings, the commonest {commonest}."

    def _cost(self) -> str:
        spent = self.spent
        parts = [_count(spent.samples, "sample") if spent.samples else "no sample"]
        if spent.tokens is not None:
            parts.append(_count(spent.tokens, "token"))
        parts.append(_count(spent.judge_calls, "judge call"))
        for each in () if self.second is None else (self.second, *self.second.others):
            if each.samples:
                tokens = "" if each.tokens is None else f" with {_count(each.tokens, 'token')}"
                parts.append(f"{_count(each.samples, 'answer')} of {each.model}{tokens}")
        return f"Cost: {', '.join(parts)}, {spent.seconds:.1f} s."

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data, the same on the command line and over HTTP."""
        spent = self.spent
        cost = {"tokens": spent.tokens, "judge_calls": spent.judge_calls, "seconds": spent.seconds}
        data = _written(self, "question", "answer", "outcome", "entropy", "agreement", "meanings", "samples")
        data |= {"rounds": spent.rounds}
        data |= _written(self, "reason", "flagged", "missing", "probability", "score", "threshold", "prior")
        data |= _written(self, "guarantee", "judge") | {"cost": cost} | _written(self, "warnings", "claims")
        if self.fields:
            data |= _written(self, "fields", "untrusted")
        if self.second is not None:
            data |= _written(self, "second")
        return data

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text; `from_json` reads it back."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """Read what `to_dict` wrote; a missing or wrong field is named."""
        try:
            cost = data["cost"]
            spent = Spent(
                data["samples"], data["rounds"], cost["tokens"], cost["judge_calls"], cost["seconds"]
            )
            return cast("Verdict", _from_data(cls, {**data, "spent": spent}))
        except KeyError as error:
            raise InputError(f"this is not a verdict: the field {error.args[0]!r} is missing") from error
        except (TypeError, IndexError, ValueError) as error:
            raise InputError(f"this is not a verdict: {error}") from error

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        """Read what `to_json` wrote."""
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"this is not a verdict: {error}") from error
        if not isinstance(data, dict):
            raise InputError("this is not a verdict: expected an object")
        return cls.from_dict(data)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _all(number: int, noun: str) -> str:
    """All of them in words.

    >>> _all(1, "sample"), _all(2, "sample"), _all(3, "sample")
    ('the one sample', 'both samples', 'all 3 samples')
    """
    return {1: f"the one {noun}", 2: f"both {noun}s"}.get(number, f"all {number} {noun}s")


def _bar_html(agreement: VerdictAgreement) -> str:
    """A bar from 0 to 100 with the agreement, and its interval below it."""
    low, high = agreement.interval or (agreement.mean, agreement.mean)
    box = "position: relative; height: 6px; width: 240px; background: #ddd"
    inner = "position: absolute; top: 0; height: 6px"
    return (
        f'<div style="{box}" aria-hidden="true">'
        f'<div style="{inner}; left: {low:.0%}; width: {high - low:.0%}; background: #9bb8d3"></div>'
        f'<div style="{inner}; left: calc({agreement.mean:.0%} - 1px); width: 3px; background: #1f4e79"></div></div>'
    )


def _shortened(text: str, most: int = 120) -> str:
    """A sample on one line, without what is over `most` characters.

    >>> _shortened("4\\nstrings."), _shortened("Yes, they can.", 5)
    ('4 strings.', 'Yes,…')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _quoted(text: str) -> str:
    """A text in quotation marks that ends a sentence.

    >>> _quoted("Paris"), _quoted("Yes, it is."), _quoted("```x```")
    ('"Paris".', '"Yes, it is."', '"```x```"')
    """
    marked = _in_marks(text)
    return marked if text.rstrip(' "').endswith((".", "!", "?", "…", "。", "```")) else f"{marked}."


def _in_marks(text: str) -> str:
    """A text in quotation marks, in curly ones where it has straight ones itself.

    >>> print(_in_marks("Paris"), _in_marks('It means "Not Found."'), _in_marks(" "))
    "Paris" “It means "Not Found."” nothing
    """
    if not text.strip():
        return "nothing"
    return f"“{text}”" if '"' in text else f'"{text}"'


_ORDINARY = frozenset({"A", "All", "An", "Both", "Each", "No", "None", "Some", "That", "The", "This", "With"})


def _after_colon(sentence: str) -> str:
    """A sentence as it reads after a colon: an ordinary word has no capital there, a name keeps it.

    >>> _after_colon("All 4 answers differ"), _after_colon("GPT counts no tokens")
    ('all 4 answers differ', 'GPT counts no tokens')
    """
    ordinary = sentence.partition(" ")[0] in _ORDINARY
    return sentence[:1].lower() + sentence[1:] if ordinary else sentence


def _grouped(meanings: tuple[Meaning, ...]) -> list[str]:
    """Meanings by count, each with its wordings where there are several."""
    lines = []
    for meaning in sorted(meanings, key=lambda each: (-each.count, not each.has_answer)):
        text = " ".join(meaning.text.split()) or "(empty)"
        if not meaning.count:  # only the answer can have a meaning that no sample has
            lines.append(f"no sample: {text} (the answer)")
            continue
        lines.append(f"{meaning.count} x {text}{' (the answer)' if meaning.has_answer else ''}")
        if len(meaning.wordings) > 1:
            drawn = [
                (f"{wording.count} x" if wording.count else "answer:", wording.text)
                for wording in meaning.wordings
            ]
            lines += [f"      {often} {' '.join(text.split())}" for often, text in drawn]
    return lines


# One number from 0 to 1 for tools that want one, with the same meaning everywhere.


def steadiness(verdict: Verdict) -> float | None:
    """`Verdict.score`: the probability that the answer deserves no flag, 1 is steady and 0 is made up; None if unknown.

    verdict  the verdict of a check

    >>> from semtropy import check
    >>> from semtropy.models import ScriptedModel
    >>> model = ScriptedModel(default={"Paris": 0.98, "Lyon": 0.02})
    >>> steadiness(check("Capital of France?", model=model, judge="exact", rng=1)) > 0.9
    True
    """
    return verdict.score


def score_reason(verdict: Verdict) -> str:
    """Why the score is what it is, in one line, with no text of prompt or answers.

    >>> from semtropy import check
    >>> from semtropy.models import ScriptedModel
    >>> verdict = check("Capital?", model=ScriptedModel(default={"Paris": 1.0}), judge="exact", rng=1)
    >>> score_reason(verdict).startswith("Looks steady. Asked again, the model would give this answer")
    True
    """
    said = {
        Outcome.STEADY: "Looks steady.",
        Outcome.FLAGGED: "Another model disagrees." if verdict.contradicted else f"{verdict.suspected()}.",
        Outcome.UNDECIDED: "Undecided.",
        Outcome.NO_ANSWER: "No answer.",
    }
    agreement = [] if verdict.agreement is None else [verdict.agreement.sentence()]
    return " ".join([said[verdict.outcome], *agreement, str(verdict.reason)])
