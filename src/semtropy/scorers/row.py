"""What a scorer sees of one question, and a scorer itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..nouns import Beliefs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..evidence import Evidence
    from ..nouns import Floats
    from ..recording import Row
    from ..recording.arrays import SampleArrays

    Places = NDArray[np.intp]

# The column of a recording that each field of a row is read from, those of samples first.
SAMPLE_COLUMNS = {
    "some_logprobs": "samples[].logprob",
    "logprobs": "samples[].logprob",
    "token_logprobs": "samples[].token_logprobs",
    "entails": "relations",
    "answer_text": "relations",
}
COLUMNS = {
    **SAMPLE_COLUMNS,
    "logprob": "answer.logprob",
    "sampling_logprob": "answer.sampling_logprob",
    "length": "answer.text",
    "p_true": "p_true",
}
REMEDIES = {
    "relations": "`semtropy relate` writes it; where it related the first N samples, `evaluate --pool N` draws from "
    "those"
}


@dataclass(frozen=True, eq=False, slots=True)
class ScorerRow:
    """One question and the samples that were drawn for it, repeats allowed; None where a recording lacks the column.

    arrays            all of its samples as arrays
    order             the places of the samples drawn, to which the next three belong
    logprobs          the log-probability of each
    token_logprobs    the mean log-probability of the tokens of each
    texts             the place of the text of each among the related ones
    entails           entails[i, j]: the probability that text i entails text j; 1 where i = j
    contradicts       the same of contradiction; 0 where i = j
    answer_text       the place of the judged answer's text among the related ones
    logprob           the judged answer's log-probability at the temperature it was drawn at
    sampling_logprob  the same at the temperature of the samples
    length            the number of its characters
    p_true            the probability that the model itself gives to its being true

    >>> from semtropy.recording import Row
    >>> row = ScorerRow.of(Row({"id": "1", "question": "?", "answer": {"text": "four"},
    ...                         "samples": [{"text": "4", "meaning": 0, "token_logprobs": [-1, -2]}]}))
    >>> row.length, row.token_logprobs, row.pick([0, 0]).counts
    (4, array([-1.5]), (2,))
    """

    arrays: SampleArrays
    order: Places
    # A scorer runs where all that it `needs` is there, so that none of these is None to its function.
    logprobs: Any = None
    token_logprobs: Any = None
    texts: Any = None
    entails: Any = None
    contradicts: Any = None
    answer_text: Any = None
    logprob: Any = None
    sampling_logprob: Any = None
    length: Any = None
    p_true: Any = None

    @classmethod
    def of(cls, row: Row) -> ScorerRow:
        """All samples of a row of a recording."""
        answer, related = row.answer, row.relations
        texts = None if related is None else related.places([sample.text for sample in row.samples])
        known = [sample.logprob for sample in row.samples if sample.logprob is not None]
        made = cls(
            row.arrays(),
            np.arange(len(row.samples)),
            logprobs=np.array(known) if len(known) == len(row.samples) else None,
            token_logprobs=_mean_token_logprobs(row),
            p_true=row.p_true,
        )
        if related is not None and texts is not None:
            own = None if answer is None else related.places([answer.text])
            made = replace(
                made,
                texts=np.array(texts),
                entails=related.entails,
                contradicts=related.contradicts,
                answer_text=own[0] if own else None,
            )
        if answer is None:
            return made
        return replace(
            made,
            logprob=answer.logprob,
            sampling_logprob=row.judged_sample().sampling_logprob,
            length=len(answer.text),
        )

    def pick(self, order: Sequence[int]) -> ScorerRow:
        """The same question with the samples at these places, in this order."""
        at = np.asarray(order, dtype=np.intp)
        return replace(
            self,
            order=self.order[at],
            logprobs=None if self.logprobs is None else self.logprobs[at],
            token_logprobs=None if self.token_logprobs is None else self.token_logprobs[at],
            texts=None if self.texts is None else self.texts[at],
        )

    @property
    def some_logprobs(self) -> bool | None:
        """True where a sample has a log-probability, the end token included."""
        return True if self.arrays.weighed.any() and not self.arrays.ends_left_out else None

    @property
    def evidence(self) -> Evidence:
        """What estimators see of the samples drawn."""
        return self.arrays.evidence(self.order)

    @property
    def meanings(self) -> NDArray[np.int32]:
        """The number of the meaning of each sample drawn."""
        return self.arrays.meanings[self.order]

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each meaning was drawn, the largest first."""
        return tuple(sorted(np.unique(self.meanings, return_counts=True)[1].tolist(), reverse=True))


def _mean_token_logprobs(row: Row) -> Floats | None:
    """Of each sample; without token log-probabilities, that of the sequence over the number of its tokens."""
    means = []
    for sample in row.samples:
        if sample.token_logprobs:
            means.append(sum(sample.token_logprobs) / len(sample.token_logprobs))
        elif sample.tokens and sample.logprob is not None:
            means.append(sample.logprob / len(sample.tokens))
        else:
            return None
    return np.array(means)


@dataclass(frozen=True, slots=True)
class Scorer:
    """A method that rates one judged answer: the higher the score, the more suspicious.

    function  the score of a row; with `takes_many`, the scores of many
    needs     the fields of a row that it reads and a recording may lack
    in_nats   whether it estimates the semantic entropy; any other orders answers and no more

    >>> from semtropy.scorers import load_scorer
    >>> load_scorer("cocoa").columns
    ('relations', 'answer.sampling_logprob')
    """

    name: str
    function: Callable[[Any], Any]
    needs: tuple[str, ...]
    in_nats: bool = False
    takes_many: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a recording that it needs."""
        return tuple(dict.fromkeys(COLUMNS[need] for need in self.needs))

    @property
    def of_samples(self) -> bool:
        """Whether the score changes with the samples; others look at the answer alone."""
        return any(need in SAMPLE_COLUMNS for need in self.needs)

    def missing(self, row: ScorerRow) -> list[str]:
        """The columns that it needs and the row lacks."""
        return list(dict.fromkeys(COLUMNS[need] for need in self.needs if getattr(row, need) is None))

    def __call__(self, row: ScorerRow) -> float:
        """The score of one row that has all columns."""
        return float(self.many([row]).mean[0])

    def many(self, rows: Sequence[ScorerRow]) -> Beliefs:
        """One score for each row; a variance where the method has one."""
        if self.takes_many:
            found: Beliefs = self.function(rows)
            return found
        return Beliefs(np.array([self.function(row) for row in rows], dtype=float), None)
