"""What a model, a judge or an estimator of the user's own may get wrong: refused by name, never believed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semtropy import Belief, Budget, Sample, check, load_estimator, score
from semtropy.errors import BadReply, ConvergenceError, InputError
from semtropy.models import ScriptedModel
from semtropy.nouns import KnownAgreement
from semtropy.recording import Header, read_recording, write_recording
from semtropy.verdict import Outcome

NOT_LOGPROBS = [
    "-0.5",
    True,
    0.7,
    math.nan,
    math.inf,
    -math.inf,
    -(10**400),
    complex(-1),
    [-0.5],
    np.array([-0.5]),
]


@pytest.mark.parametrize("field", ["logprob", "sampling_logprob", "prefix_logprob"])
@pytest.mark.parametrize("value", NOT_LOGPROBS, ids=repr)
def test_what_is_no_log_probability_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"^{field} is .*a log-probability is a finite number"):
        Sample("a", **{field: value})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.7, None, "-0.5"], ids=repr)
def test_a_token_without_a_log_probability_is_refused_by_its_place(value: Any) -> None:
    with pytest.raises(InputError, match=r"^token_logprobs\[1\] is "):
        Sample("a", token_logprobs=(-0.5, value, -0.2))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", None),
        ("text", b"a"),
        ("text", ["a"]),
        ("tokens", 5),
        ("tokens", "abc"),
        ("tokens", ([1], [2])),
        ("token_logprobs", -0.5),
        ("token_logprobs", "abc"),
        ("token_entropies", 1.0),
        ("token_entropies", ("x",)),
        ("token_entropies", (None,)),
        ("token_count", -1),
        ("token_count", math.nan),
        ("token_count", "7"),
        ("temperature", math.nan),
        ("temperature", -1.0),
        ("temperature", "1"),
        ("complete", None),
        ("complete", "no"),
    ],
)
def test_other_fields_of_a_sample_are_checked(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=field.replace("token_entropies", "token.entrop")):
        Sample(**{"text": "a", field: value})


def test_lists_and_numpy_numbers_are_taken() -> None:
    made = Sample(
        "a",
        np.float32(-0.5),
        tokens=[1, 2],
        token_logprobs=np.array([-0.25, -0.25]),
        token_count=np.int64(2),
        complete=np.True_,
    )  # type: ignore[arg-type]
    assert made.tokens == (1, 2)
    assert made.token_logprobs == (-0.25, -0.25)
    assert check("?", model=lambda messages, n, t: [made] * n, judge="exact").samples


@pytest.mark.parametrize("logprob", [0.0, -0.0, 1e-9, 0.009, -1e-300])
@pytest.mark.parametrize("field", ["logprob", "sampling_logprob", "prefix_logprob"])
def test_a_probability_of_exactly_1_is_not_believed(field: str, logprob: float) -> None:
    verdict = check("?", model=lambda m, n, t: [Sample("a", **{field: logprob})] * n, judge="exact", rng=1)
    assert verdict.samples >= 5
    assert verdict.entropy.variance


def by_score(logprob: float | None, path: Path) -> float:
    answer = Sample("a", sampling_logprob=logprob)
    return score(["a"] * 3, logprobs=[logprob] * 3, answer=answer, judge="exact").mean


def by_stored_samples(logprob: float | None, path: Path) -> float:
    answer = Sample("a", sampling_logprob=logprob)
    samples = [Sample("a", logprob)] * 3
    return check("?", answer=answer, samples=samples, judge="exact").entropy.mean


def by_recording(logprob: float | None, path: Path) -> float:
    known = {} if logprob is None else {"logprob": logprob}
    held = {"text": "a", "meaning": 0} | ({} if logprob is None else {"sampling_logprob": logprob})
    samples = [{"text": "a", "meaning": 0, **known}] * 3
    header = Header.make(model="m", dataset="d", temperature=1.0, eos_included=True)
    write_recording(path, header, [{"id": "1", "question": "?", "answer": held, "samples": samples}])
    evidence = read_recording(path).rows[0].evidence()
    return load_estimator("bayes")(evidence).mean


@pytest.mark.parametrize("way", [by_score, by_stored_samples, by_recording])
def test_certainty_is_believed_on_no_way(way: Any, tmp_path: Path) -> None:
    """Recorded zeros may be rounded ones, or those of a server that computes none: either counts as a draw."""
    certain, unknown, known = (way(value, tmp_path / "r.jsonl") for value in (0.0, None, -0.9))
    assert certain == unknown != known


def test_token_log_probabilities_that_are_all_0_are_not_believed() -> None:
    def ask(messages: Any, n: int, temperature: float) -> list[Sample]:
        return [Sample(text, -1.0, token_logprobs=(0.0, 0.0)) for text in "aaab"][:n]

    verdict = check("?", model=ask, judge="exact", budget=Budget(samples=4))
    assert all(draw.token_logprobs is None for draw in verdict.draws or ())
    assert verdict.spent.tokens == 2 * (verdict.samples + 1)


class Returns:
    """A model of the user's own that returns whatever the test says."""

    name = "own"

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def sample(self, prompt: str, n: int, **options: Any) -> Any:
        return self.reply(n)


class ReturnsLater(Returns):
    async def asample(self, prompt: str, n: int, **options: Any) -> Any:
        return self.reply(n)


@pytest.mark.parametrize("kind", [Returns, ReturnsLater])
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (lambda n: None, "a NoneType"),
        (lambda n: ["a"] * n, "a list of str"),
        (lambda n: [None] * n, "a list of NoneType"),
        (lambda n: {"a": 1}, "a dict"),
        (lambda n: "abc", "a str"),
        (lambda n: Sample("a"), "a Sample"),
    ],
)
def test_a_model_that_returns_no_samples_is_named(kind: type, reply: Any, said: str) -> None:
    with pytest.raises(BadReply, match=f"^the model own returned {said}"):
        check("?", model=kind(reply), judge="exact")


@pytest.mark.parametrize("kind", [Returns, ReturnsLater])
def test_more_samples_than_asked_for_do_not_pass_the_budget(kind: type) -> None:
    own = kind(lambda n: (Sample(f"a{k}") for k in range(n + 1000)))
    verdict = check("?", model=own, judge="exact", budget=Budget(samples=3))
    assert verdict.samples == 3


class Judge:
    name = "own"

    def __init__(self, value: Any) -> None:
        self.value = value

    def entails(self, batch: Any) -> Any:
        return self.value if isinstance(self.value, float) else [self.value] * len(batch)


@pytest.mark.parametrize("value", [7.0, -1.0, 1.5, math.nan, math.inf, "yes", None, {}, 0.5j])
def test_a_judge_that_gives_no_probability_is_refused(value: Any) -> None:
    judge = Judge(value)
    judge.entails = lambda batch: [value] * len(batch)  # type: ignore[method-assign]
    with pytest.raises(InputError, match=r"the judge gave .*probabilit"):
        check("?", model=ScriptedModel(default={"red": 0.5, "blue": 0.5}), judge=judge, rng=1)


class NotNumbers:
    def cdf(self, points: Any) -> Any:
        return np.full(len(points), math.nan)

    def quantile(self, level: float) -> float:
        return math.nan


@pytest.mark.parametrize(
    "belief",
    [
        Belief(math.nan, 0.1),
        Belief(0.1, math.nan),
        Belief(0.1, math.inf),
        Belief(0.1, -0.5),
        Belief(0.1, 0.1, NotNumbers()),
        Belief(0.1, 0.1, agreement=KnownAgreement(math.nan)),
        Belief(0.1, 0.1, agreement=KnownAgreement(1.5)),
    ],
    ids=lambda belief: f"{belief.mean} {belief.variance} {belief.agreement}",
)
def test_a_belief_that_is_no_distribution_of_an_entropy_ends_the_check(belief: Belief) -> None:
    class Own:
        name, has_variance, uses_answer = "own", True, False

        def __call__(self, evidence: Any) -> Belief:
            return belief

        def batch(self, evidences: Any) -> Any:
            raise NotImplementedError

    said = "gave nan" if belief.distribution else "the estimator own returned"
    with pytest.raises(ConvergenceError, match=said):
        check("?", model=ScriptedModel(default={"a": 1.0}), judge="exact", estimator=Own())


def test_a_script_that_is_fine_still_is() -> None:
    verdict = check("?", model=ScriptedModel(default={"a": 1.0}), judge="exact", rng=1)
    assert verdict.outcome is Outcome.STEADY
