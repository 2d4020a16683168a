"""`check`, `acheck` and `stream`: the same loop, driven; time, cancelling, prompts of every kind, many at once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import numpy as np
import pytest

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy.checking import Checker, acheck, astream, check, checked, stream
from semtropy.errors import InputError, ModelError, ModelTimeout, NoAnswer, SemtropyError
from semtropy.models import load_model
from semtropy.models.endpoint import Retry
from semtropy.models.scripted import ScriptedModel
from semtropy.nouns import Belief, Beliefs, Sample
from semtropy.stopping import Budget, FixedSamples, Reason, Rounds, VarianceBelow
from semtropy.verdict import Verdict

KNOWN = ScriptedModel(default={"Paris": 0.9, "Lyon": 0.1})


class Shrinking:
    """An estimator with a variance: plug-in entropy, variance (meanings)/n^2."""

    name = "shrinking"
    has_variance = True
    uses_answer = False

    def __call__(self, evidence):
        p = np.array(evidence.counts) / evidence.n
        return Belief(float(-(p * np.log(p)).sum()), len(p) / evidence.n**2)

    def batch(self, evidences):
        return Beliefs(np.array([self(e).mean for e in evidences]), None)


class Plain:
    """A model without an awaitable twin."""

    name = "plain"

    def __init__(self, texts=("a",), delay=0.0):
        self.texts, self.delay, self.asked = list(texts), delay, []

    def sample(self, prompt, n, *, temperature=1.0, rng=None):
        self.asked.append((n, temperature))
        time.sleep(self.delay)
        return [Sample(text) for text in self.texts][:n]


OPTIONS = {"judge": "exact", "estimator": Shrinking(), "model": KNOWN}


def test_a_verdict_from_a_name_or_an_object():
    verdict = check("Capital of France?", **OPTIONS, rng=1)
    assert isinstance(verdict, Verdict)
    assert verdict.answer == "Paris"
    assert verdict.reason is Reason.DECIDED_LOW
    assert verdict.meanings[0].floor == pytest.approx(0.9)
    assert verdict.partition.counts == tuple(meaning.count for meaning in verdict.meanings)
    assert len(verdict.draws) == verdict.samples


@pytest.mark.parametrize("model", [KNOWN, Plain(["a", "b", "a"] * 4)])
def test_every_driver_gives_the_same_verdict(model):
    options = OPTIONS | {"model": model}
    steps = list(stream("q?", **options, rng=3))

    async def both():
        return await acheck("q?", **options, rng=3), [step async for step in astream("q?", **options, rng=3)]

    awaited, asteps = asyncio.run(both())
    called = check("q?", **options, rng=3)
    assert called.to_dict() | {"cost": None} == awaited.to_dict() | {"cost": None}
    assert [step.samples for step in steps] == [step.samples for step in asteps]
    assert steps[-1].samples == called.draws


def test_the_same_seed_gives_the_same_draws():
    draws = [check("q?", **OPTIONS, rule=FixedSamples(10), rng=seed).draws for seed in (5, 5, 6)]
    assert draws[0] == draws[1] != draws[2]


def test_an_estimator_without_variance_spends_the_budget():
    verdict = check("q?", model=KNOWN, judge="exact", estimator="histogram", budget=Budget(samples=4), rng=0)
    assert (verdict.samples, verdict.spent.rounds, verdict.reason) == (4, 1, Reason.FIXED)


def test_rounds_go_out_together_with_the_answer():
    model = Plain(["a"] * 9)
    check("q?", model=model, judge="exact", estimator="histogram", budget=Budget(samples=5))
    assert model.asked == [(5, 1.0), (1, 0.1)]


def test_prior_and_estimator_object_exclude_each_other():
    with pytest.raises(InputError, match="prior is for an estimator given by name"):
        check("q?", **OPTIONS, prior=object())


@pytest.mark.parametrize("prompt", ["", "   "])
def test_an_empty_prompt_is_refused(prompt):
    with pytest.raises(InputError, match="prompt is empty"):
        check(prompt, **OPTIONS)


def test_a_model_that_returns_nothing_is_an_error():
    with pytest.raises(NoAnswer):
        check("q?", **(OPTIONS | {"model": Plain([])}))


def test_empty_answers_are_one_meaning_and_named():
    verdict = check(
        "q?", **(OPTIONS | {"model": Plain(["", " ", ""] * 4), "judge": "normalised"}), rule=FixedSamples(3)
    )
    assert verdict.partition.size == 1
    assert "3 of 3 samples were empty." in verdict.warnings
    assert "No answer" in verdict.explain()


@pytest.mark.parametrize("texts", [["Париж", "Париж.", "париж"], ["東京", "東京。", "東京"], ["القاهرة"] * 3])
def test_answers_in_any_script_are_grouped(texts):
    verdict = check("q?", **(OPTIONS | {"model": Plain(texts), "judge": "normalised"}), rule=FixedSamples(3))
    assert verdict.partition.size == 1
    assert Verdict.from_json(verdict.to_json()) == verdict


@pytest.mark.parametrize("driver", ["check", "acheck"])
def test_the_time_budget_ends_a_draw_that_hangs(driver):
    slow = ScriptedModel(default={"a": 1.0}, delay=120.0)
    options = OPTIONS | {"model": slow, "budget": Budget(seconds=0.1)}
    start = time.monotonic()
    with pytest.raises(ModelTimeout, match="seconds allowed"):
        check("q?", **options) if driver == "check" else asyncio.run(acheck("q?", **options))
    assert time.monotonic() - start < 60  # a busy machine is not what is tested


class Stalling(ScriptedModel):
    """Answers three times, and never again."""

    left = 3

    async def asample(self, *arguments, **options):
        self.left -= 1
        return await (super().asample(*arguments, **options) if self.left >= 0 else asyncio.Future())


def test_time_running_out_keeps_what_is_known():
    options = OPTIONS | {
        "model": Stalling(default={"a": 0.5, "b": 0.5}),
        "budget": Budget(seconds=1.5),
        "rule": VarianceBelow(0.0),
    }
    verdict = check("q?", **options, rounds=Rounds(growth=1.0), rng=0)
    assert verdict.reason is Reason.SECONDS
    assert verdict.samples == 2  # and the answer


class Never(ScriptedModel):
    """A model that never answers, and says when it was asked."""

    def __init__(self):
        super().__init__(default={"a": 1.0})
        self.asked = asyncio.Event()

    async def asample(self, *arguments, **options):
        self.asked.set()
        return await asyncio.Future()


def test_cancelling_ends_at_once():
    async def cancelled():
        model = Never()
        task = asyncio.create_task(acheck("q?", **(OPTIONS | {"model": model})))
        await model.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    start = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - start < 5


def test_a_stream_can_be_left_early():
    steps = stream("q?", **OPTIONS, rule=VarianceBelow(0.0), rng=0)
    first = next(steps)
    steps.close()
    assert first.reason is None


def test_an_error_of_the_model_is_the_callers_to_see():
    class Broken(Plain):
        def sample(self, prompt, n, *, temperature=1.0, rng=None):
            raise ModelError("out of order")

    with pytest.raises(ModelError, match="out of order"):
        check("q?", **(OPTIONS | {"model": Broken()}))


def test_check_works_inside_a_running_loop():
    async def inside():
        return check("q?", **OPTIONS, rng=1)

    assert asyncio.run(inside()).answer == "Paris"


def test_checks_by_name_share_one_limit(monkeypatch):
    endpoint = ScriptedEndpoint(lambda prompt: {"yes": 1.0})
    endpoint.delay = 0.01

    async def many():
        options = {
            "model": "openai:m",
            "judge": "exact",
            "estimator": "histogram",
            "budget": Budget(samples=2),
        }
        return await asyncio.gather(*(acheck(f"q{number}?", **options) for number in range(40)))

    with serving(endpoint) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        verdicts = asyncio.run(many())
    assert [verdict.question for verdict in verdicts] == [f"q{number}?" for number in range(40)]
    assert endpoint.peak <= 8


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(TypeError, match="no option budgt"):
        check("q?", **OPTIONS, budgt=Budget(samples=3))


FAILURES = (429, 500, "hang", "broken", "bare")


def unlucky(number, body):
    """One request in ten fails, each way as often, by a draw that depends on the request alone."""
    draw = np.random.default_rng([7, number])
    return FAILURES[draw.integers(len(FAILURES))] if draw.random() < 0.1 else None


def answers(prompt):
    """Every prompt has its own answers, so that an answer given to the wrong prompt would be seen."""
    return {f"{prompt} one": 0.7, f"{prompt} two": 0.3}


def check_many(count, *, retries, concurrency):
    endpoint = ScriptedEndpoint(answers, unlucky)

    async def everything(url):
        retry = Retry(times=retries, base=0.001)
        model = load_model("openai:m", base_url=url, timeout=0.5, retry=retry, concurrency=concurrency)
        checker = Checker.load(**(OPTIONS | {"model": model}))

        async def one(number):
            try:
                return await checker.acheck(f"prompt {number}", rng=number)
            except SemtropyError as error:
                return error

        outcomes = await asyncio.gather(*(one(number) for number in range(count)))
        await model.aclose()
        return outcomes

    with serving(endpoint) as url:
        return asyncio.run(everything(url)), endpoint


@pytest.mark.parametrize(("count", "retries"), [(100, 5), (60, 0)])
def test_many_prompts_on_an_endpoint_that_fails_now_and_then(count, retries):
    outcomes, endpoint = check_many(count, retries=retries, concurrency=8)
    assert len(outcomes) == count
    verdicts = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
    assert all(isinstance(outcome, Verdict | SemtropyError) for outcome in outcomes)
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, Verdict):
            own = answers(f"prompt {number}")
            assert outcome.question == f"prompt {number}"
            assert outcome.answer in own
            assert {meaning.text for meaning in outcome.meanings} <= set(own)
            for meaning in outcome.meanings:
                assert meaning.floor in (0.0, pytest.approx(own[meaning.text]))
            missing = sum(sample.logprob is None for sample in outcome.draws)
            assert any("without the log-probability" in warning for warning in outcome.warnings) == bool(
                missing
            )
    assert endpoint.peak <= 8
    kinds = Counter(type(outcome).__name__ for outcome in outcomes)
    assert kinds["Verdict"] == count if retries else 0 < kinds["Verdict"] < count, kinds
    assert len(verdicts) == kinds["Verdict"]


def test_a_wrong_seed_is_named() -> None:
    for rng in ("x", -1, 1.5):
        with pytest.raises(InputError, match=f"^rng is {rng!r}: give a seed"):
            check("?", model=lambda prompt: "x", judge="exact", rng=rng)  # type: ignore[arg-type]


def test_wrong_uses_of_checked_are_named() -> None:
    with pytest.raises(InputError, match=r"^checked is given 'exact': it decorates a function"):
        checked("exact")  # type: ignore[call-overload]
    with pytest.raises(InputError, match=r"leave out model$"):
        checked(model="scripted:x.json")
    with pytest.raises(InputError, match=r"takes no prompt: its first argument must be the question to ask$"):
        checked(lambda: "Paris")
    asked = checked(lambda question: "Paris", judge="exact")
    with pytest.raises(InputError, match=r"^no prompt was given: it is the first argument, question$"):
        asked()
    assert asked(question="Capital of France?").answer == asked("Capital of France?").answer == "Paris"
