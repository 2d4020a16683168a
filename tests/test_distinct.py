"""Draws without replacement: exact, recorded as such, and refused by what takes counts for frequencies."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import chisquare

import semtropy
from semtropy import Evidence, Sample, load_estimator
from semtropy.cli import main
from semtropy.errors import InputError
from semtropy.estimators import NAMES, Prior
from semtropy.models import ScriptedModel, load_model
from semtropy.models.replay import Replay
from semtropy.nouns import Partition
from semtropy.recording import Row, read_recording
from semtropy.score import score_rows
from semtropy.study.evaluate import evaluate
from semtropy.study.generate import GenerationPlan, generate, load_dataset, load_engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

WITHOUT_COUNTS = {"bayes", "rescaled", "rescaled-length", "evidential"}
ANSWERS = {"Paris": 0.55, "It is Paris": 0.2, "Lyon": 0.15, "Nice": 0.1}
TRUTH = -sum(p * math.log(p) for p in (0.75, 0.15, 0.1))  # two of the answers mean the same
EXHAUSTED = "Stopped: the model returned no further samples."


def pair_shares(shares: Mapping[Any, float]) -> dict[tuple[Any, Any], float]:
    """The probability of each pair of first and second draw: p(s) p(t) / (1 - p(s))."""
    return {(s, t): shares[s] * shares[t] / (1 - shares[s]) for s, t in itertools.permutations(shares, 2)}


def fits(drawn: Sequence[Any], shares: Mapping[Any, float]) -> bool:
    """Whether the draws have these probabilities; rare outcomes are taken together."""
    assert set(drawn) <= set(shares)
    counts = Counter(drawn)
    common = [each for each, share in shares.items() if share * len(drawn) >= 8]
    expected = [shares[each] * len(drawn) for each in common]
    found: list[float] = [counts[each] for each in common]
    rest = len(drawn) - sum(expected)
    if rest >= 8:
        expected.append(rest)
        found.append(len(drawn) - sum(found))
    scale = sum(found) / sum(expected)
    return bool(chisquare(found, np.array(expected) * scale).pvalue > 1e-3)


@pytest.mark.parametrize("one_by_one", [False, True], ids=["one call", "remembering"])
def test_scripted_draws_without_replacement_are_exact(one_by_one: bool) -> None:
    model = ScriptedModel(default=ANSWERS, replacement=False)
    rng = np.random.default_rng(5)
    pairs = []
    for _ in range(4000):
        if one_by_one:
            own = model.remembering()
            drawn = [own.sample("Capital?", 1, rng=rng)[0] for _ in range(2)]
        else:
            drawn = model.sample("Capital?", 2, rng=rng)
        assert all(each.logprob == pytest.approx(math.log(ANSWERS[each.text])) for each in drawn)
        pairs.append((drawn[0].text, drawn[1].text))
    assert fits(pairs, pair_shares(ANSWERS))
    independent = ScriptedModel(default=ANSWERS).sample("Capital?", 8000, rng=rng)
    texts = [each.text for each in independent]
    assert set(zip(texts[::2], texts[1::2], strict=True)) - set(pair_shares(ANSWERS))  # the negative control


def test_repeats_tell_bayes_nothing() -> None:
    """First occurrences of independent draws are draws without replacement, and have the same posterior."""
    bayes = load_estimator("bayes")
    meaning = {"Paris": 0, "It is Paris": 0, "Lyon": 1, "Nice": 2}
    for seed in range(20):
        drawn = ScriptedModel(default=ANSWERS).sample("Capital?", 6, rng=np.random.default_rng(seed))
        first = list({sample.text: sample for sample in drawn}.values())
        beliefs = [
            bayes(Evidence.gather(own, Partition.of([meaning[each.text] for each in own]), replacement=how))
            for own, how in ((drawn, True), (first, False))
        ]
        assert beliefs[0].mean == pytest.approx(beliefs[1].mean, rel=1e-9)
        assert beliefs[0].interval(0.9) == pytest.approx(beliefs[1].interval(0.9), rel=1e-6)
        assert not beliefs[1].variance or any("without replacement" in note for note in beliefs[1].notes)


@pytest.mark.parametrize("name", NAMES)
def test_methods_that_count_refuse(name: str) -> None:
    drawn = [Sample("Paris", -0.6, ("Paris",), (-0.6,)), Sample("Lyon", -1.9, ("Lyon",), (-1.9,))]
    evidence = Evidence.gather(drawn, Partition((0, 1)), replacement=False)
    estimator = load_estimator(name)
    if name in WITHOUT_COUNTS:
        assert math.isfinite(estimator(evidence).mean)
        assert math.isfinite(estimator.batch([evidence]).mean[0])
        return
    for call in (lambda: estimator(evidence), lambda: estimator.batch([evidence])):
        with pytest.raises(InputError, match=f"{name} takes counts for frequencies"):
            call()
    with pytest.raises(InputError, match=f"{name} takes counts for frequencies"):
        semtropy.score(
            ["Paris", "Lyon"], logprobs=[-0.6, -1.9], estimator=name, judge="exact", replacement=False
        )


def test_a_check_is_refused_before_the_model_is_asked() -> None:
    class Untouched(ScriptedModel):
        def sample(self, *args: Any, **options: Any) -> list[Sample]:
            raise AssertionError("the model was asked")

    model = Untouched(default=ANSWERS, replacement=False)
    with pytest.raises(InputError, match="histogram takes counts"):
        semtropy.check("Capital?", model=model, estimator="histogram", judge="exact")
    with pytest.raises(InputError, match="choices counts the values of fields"):
        semtropy.check("Capital?", model=model, choices=["Paris", "Lyon"])
    with pytest.raises(InputError, match=r"smollm2 has no option replacement.*hf:NAME_OR_PATH"):
        semtropy.check("Capital?", model="smollm2", replacement=False)
    with pytest.raises(InputError, match="replacement goes with a model given by name"):
        semtropy.check("Capital?", model=ScriptedModel(default=ANSWERS), replacement=False)


def test_samples_that_contradict_the_mark_are_refused() -> None:
    with pytest.raises(InputError, match="different sequences, each with its log-probability"):
        Evidence.gather([Sample("Paris")], Partition((0,)), replacement=False)
    twice = [Sample("Paris", -0.6, ("Paris",))] * 2
    with pytest.raises(InputError, match="2 samples have 1"):
        Evidence.gather(twice, Partition((0, 0)), replacement=False)
    # Without tokens, two tokenisations of one text look alike.
    assert Evidence.gather([Sample("a", -2.0)] * 2, Partition((0, 0)), replacement=False).distinct == (2,)


def test_a_check_draws_nothing_twice_and_ends_with_the_exact_entropy() -> None:
    model = ScriptedModel(default=ANSWERS, replacement=False)
    rule = semtropy.VarianceBelow(0.0)
    steps = list(semtropy.stream("Capital?", model=model, judge="exact", rule=rule, rng=1))
    texts = [steps[-1].answer.text, *(sample.text for sample in steps[-1].samples)]
    assert sorted(texts) == sorted(ANSWERS)
    assert steps[-1].belief.mean == pytest.approx(TRUTH, abs=1e-5)
    again = semtropy.check("Capital?", model=model, judge="exact", rule=rule, rng=1)
    assert again.samples == 3  # nothing is remembered from one check to the next
    assert any(
        "without replacement" in note
        for note in semtropy.check(
            "Capital?", model=model, judge="exact", rule=semtropy.FixedSamples(1), rng=1
        ).warnings
    )


def test_a_model_with_one_answer_is_exhausted() -> None:
    model = ScriptedModel(default={"Paris": 0.999999, "Lyon": 0.000001}, replacement=False)
    rule = semtropy.FixedSamples(5)
    verdict = semtropy.check("Capital?", model=model, judge="exact", rule=rule, rng=1)
    assert (verdict.samples, str(verdict.reason)) == (2, EXHAUSTED)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    engine = load_engine("local", lambda: ScriptedModel(default=ANSWERS, replacement=False))
    plan = GenerationPlan(samples=10, judge="exact", replacement=False)
    report = generate(load_dataset("facts", limit=2), plan, engine, tmp_path / "run", model="scripted")
    assert report.complete, report.failures
    return tmp_path / "run"


def test_a_recording_says_so_and_is_scored(recording: Path) -> None:
    held = read_recording(recording)
    assert held.header.replacement is False
    assert [sorted(sample.text for sample in row.samples) for row in held] == [sorted(ANSWERS)] * 2
    assert [line.verdict.entropy.mean for line in score_rows(held)] == pytest.approx([TRUTH] * 2, abs=1e-4)
    assert all(math.isfinite(line.verdict.entropy.mean) for line in score_rows(held, "g-nll"))
    for method in ("chao-shen", "predictive-entropy"):
        with pytest.raises(InputError, match=f"{method} takes counts"):
            list(score_rows(held, method))


def test_studies_of_such_a_recording_are_refused(recording: Path) -> None:
    held = read_recording(recording)
    for study in (
        lambda: evaluate([held], estimators=["bayes"], folds=2),
        lambda: Prior.fit(held),
        lambda: Replay(held),
    ):
        with pytest.raises(InputError, match="drawn without replacement"):
            study()


def test_the_plan_and_the_model_must_agree(tmp_path: Path) -> None:
    engine = load_engine("local", lambda: ScriptedModel(default=ANSWERS, replacement=False))
    questions = load_dataset("facts", limit=2)
    with pytest.raises(InputError, match=r"GenerationPlan\(replacement=False\)"):
        generate(questions, GenerationPlan(samples=3), engine, tmp_path / "run", model="scripted")
    with pytest.raises(InputError, match="--no-p-true"):
        GenerationPlan(p_true=(), replacement=False)
    with pytest.raises(InputError, match=r"temperature is 0\.7"):
        GenerationPlan(temperature=0.7, replacement=False)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"*": ANSWERS}))
    ask = [
        "check",
        "Capital?",
        "--model",
        f"scripted:{script}",
        "--judge",
        "exact",
        "--distinct",
        "--seed",
        "1",
    ]
    main([*ask, "--json", "--variance", "0"])
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["samples"] == 3
    assert [meaning["count"] for meaning in verdict["meanings"]] == [1, 1, 1]
    assert main([*ask, "--estimator", "histogram"]) == 2
    assert "histogram takes counts for frequencies" in capsys.readouterr().err
    assert main(["check", "Capital?", "--distinct", "--judge", "exact"]) == 2
    assert "the model smollm2 has no option replacement" in capsys.readouterr().err
    made = [
        "generate",
        "--dataset",
        "facts",
        "--limit",
        "2",
        "--samples",
        "5",
        "--model",
        f"scripted:{script}",
    ]
    assert main([*made, "--distinct", "--out", str(tmp_path / "out")]) == 1
    assert "--no-p-true" in capsys.readouterr().err
    assert main([*made, "--distinct", "--no-p-true", "--out", str(tmp_path / "out")]) == 0
    assert read_recording(tmp_path / "out").header["replacement"] is False


def test_a_header_is_checked() -> None:
    with pytest.raises(InputError, match="replacement"):
        Row(
            {"id": "1", "question": "?", "samples": []},
            header=semtropy.recording.Header.make(replacement="no"),
        )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of three words and an end: with two tokens at most it has 13 different answers."""
    torch = pytest.importorskip("torch", reason="the extra `transformers` is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra `transformers` is not installed")
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"<|endoftext|>": 0, "a": 1, "b": 2, "c": 3}, unk_token="a"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|endoftext|>")
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=4,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.6,
        eos_token_id=0,
        bos_token_id=None,
        pad_token_id=None,
    )
    folder = tmp_path_factory.mktemp("words")
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("rounds", [1, 2], ids=["one call", "remembering"])
def test_hf_draws_without_replacement_are_exact(tiny: Path, rounds: int) -> None:
    load = {"form": "raw", "max_tokens": 2, "max_rows": 4096, "max_batch_tokens": 1 << 16}
    model: Any = load_model(f"hf:{tiny}", replacement=False, **load)
    (whole,) = model.complete_many(["a b"], 13, rngs=[np.random.default_rng(0)])
    shares = {sample.tokens: math.exp(sample.logprob) for sample in whole}
    assert len(shares) == 13
    assert math.fsum(shares.values()) == pytest.approx(1.0, abs=1e-5)
    assert len(model.complete("a b", 20, rng=np.random.default_rng(1))) == 13  # there are no more
    prompts, rngs = ["a b"] * 3000, np.random.default_rng(7).spawn(3000)
    if rounds == 1:
        pairs = [(one.tokens, two.tokens) for one, two in model.complete_many(prompts, 2, rngs=rngs)]
    else:
        pairs = []
        for rng in rngs[:600]:
            own = model.remembering()
            pairs.append(tuple(own.complete("a b", 1, rng=rng)[0].tokens for _ in range(2)))
    assert fits([first for first, _ in pairs], shares)
    assert fits(pairs, pair_shares(shares))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_hf_draws_depend_on_their_seed_and_not_on_the_batch(tiny: Path) -> None:
    load = {"form": "raw", "max_tokens": 3}
    wide: Any = load_model(f"hf:{tiny}", replacement=False, **load)
    narrow: Any = load_model(f"hf:{tiny}", replacement=False, max_rows=2, **load)
    prompts = ["a b", "c", "b b a"]

    def drawn(model: Any, prompts: Sequence[str], seeds: Sequence[int]) -> list[list[Any]]:
        rngs = [np.random.default_rng(seed) for seed in seeds]
        return [[each.tokens for each in own] for own in model.complete_many(prompts, 6, rngs=rngs)]

    together = drawn(wide, prompts, [0, 1, 2])
    assert together == drawn(narrow, prompts, [0, 1, 2])
    assert together[1:2] == drawn(wide, prompts[1:2], [1])
    assert all(len(set(own)) == 6 for own in together)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_an_hf_check_repeats_neither_the_answer_nor_a_sample(tiny: Path) -> None:
    model = load_model(f"hf:{tiny}", form="raw", max_tokens=4, replacement=False)
    options: Any = {"model": model, "judge": "exact", "answer_temperature": 1.5}
    ended = 0
    for seed in range(12):
        *_, last = semtropy.stream("a b", rng=seed, rule=semtropy.VarianceBelow(0.0), **options)
        tokens = [last.answer.tokens, *(sample.tokens for sample in last.samples)]
        assert len(set(tokens)) == len(tokens)
        ended += len(last.samples) == 10  # the budget; an answer that was cut off is not sampled for
    assert ended >= 2
    with pytest.raises(InputError, match="nsb takes counts"):
        semtropy.check("a b", estimator="nsb", **options)
