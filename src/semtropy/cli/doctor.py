"""`semtropy doctor`: what a model and a judge really do, found out with nine short answers.

`examine` yields its findings one by one. The documentation of an endpoint rarely says whether it caches, whether its
log-probabilities cover the whole answer, or which parameters it leaves aside. A verdict depends on all of these.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from ..conversation import as_messages
from ..errors import ModelError
from ..models import sync_bridge
from ..samples import generated_tokens, without_certainty
from ._options import add_config, read_config
from ._text import json_text, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ..nouns import Judge, Model, Sample
    from ..stopping import Price

OPEN = "Name one animal, any animal you like."
FACT = "What is the capital of France?"
DRAWS = 6  # samples of the open question
CACHED = 0.2  # of the first answer's time, below which a repeated one was hardly generated again

# Samples that a verdict takes on brief answers with each kind of log-probability: docs/providers.md.
_SAMPLES = {"whole": 1, "no end": 6, "none": 5}

_REFUSALS = {
    "n": "several answers in one request: semtropy asks for them one by one, at the same time",
    "logprobs": "log-probabilities",
    "seed": "a seed: runs cannot be repeated",
    "temperature": "any temperature but its own: the answer is drawn like a sample",
    "cold": "any temperature but 1: the answer is drawn like a sample, at temperature 1",
    "top_p": "top_p, which is left out",
    "exact": "options that ask for untruncated sampling, which are left out",
    "max_tokens": "max_tokens: max_completion_tokens is sent instead",
}

# Pairs that any judge should get right: question, two answers, whether they mean the same.
_SELF_TEST = (
    ("What is the capital of France?", "Paris", "paris.", True),
    ("What is the capital of France?", "Paris", "Lyon", False),
    ("Who wrote Faust?", "Goethe", "Johann Wolfgang von Goethe", True),
    ("Who wrote Faust?", "Goethe", "Friedrich Schiller", False),
    ("How many legs has a spider?", "8", "eight", True),
    ("How many legs has a spider?", "8", "6", False),
    ("Do penguins fly?", "No", "No, penguins do not fly.", True),
    ("Do penguins fly?", "No", "Yes, they do.", False),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found out.

    about   what it concerns, in a word or two
    found   what the model or the judge does
    advice  what to do about it; None where there is nothing to do
    good    whether it is as one would wish
    """

    about: str
    found: str
    advice: str | None = None
    good: bool = True


def examine(
    model: Model, judge: Judge | None = None, *, price: Price | None = None, seed: int = 0
) -> Iterator[Finding]:
    """Ask the model a few short questions and say what it does, then let the judge compare known answers.

    model  the model
    judge  the judge to test; None for none
    price  what the model charges, for the cost of a check
    seed   of the draws

    >>> from semtropy.models import ScriptedModel
    >>> findings = list(examine(ScriptedModel(default={"cat": 0.5, "dog": 0.5})))
    >>> [finding.about for finding in findings][:3]
    ['answers', 'variety', 'log-probabilities']
    """
    rng = np.random.default_rng(seed)
    model.sample(FACT, 1, temperature=0.1, rng=rng)  # connects, or loads the weights
    cold, first = _timed(model, FACT, 1, 0.1, np.random.default_rng(seed))
    _, again = _timed(model, FACT, 1, 0.1, np.random.default_rng(seed))
    drawn, waited = _timed(model, OPEN, DRAWS, 1.0, rng)
    yield _answers(cold, first, waited)
    yield _variety(drawn, first, again)
    kind, finding = _logprobs(model, drawn)
    yield finding
    yield _answer_weight(model, kind)
    yield _given(model, cold, kind)
    yield from _refused(model, drawn)
    yield _cost([*cold, *drawn], kind, price)
    if judge is not None:
        yield _self_test(judge)


def _timed(
    model: Model, prompt: str, n: int, temperature: float, rng: np.random.Generator
) -> tuple[list[Sample], float]:
    start = time.monotonic()
    return model.sample(prompt, n, temperature=temperature, rng=rng), time.monotonic() - start


def _answers(cold: Sequence[Sample], first: float, waited: float) -> Finding:
    speed = f"{first:.1f} s for one answer, {waited:.1f} s for {DRAWS} at once"
    if not cold or not cold[0].text.strip():
        return Finding(
            "answers",
            f"an empty answer to {FACT!r} ({speed})",
            "see whether it needs a higher --max-tokens",
            False,
        )
    if not cold[0].complete:
        return Finding(
            "answers", f"its answer to {FACT!r} was cut off ({speed})", "raise --max-tokens", False
        )
    said = " ".join(cold[0].text.split())
    return Finding("answers", f"{FACT} {said[:60]} ({speed})")


def _variety(drawn: Sequence[Sample], first: float, again: float) -> Finding:
    different = len({sample.text for sample in drawn})
    if different == 1 and len(drawn) > 1:
        return Finding(
            "variety",
            f"{len(drawn)} samples of an open question were word for word the same",
            "it ignores the temperature, or replies come from a cache: sampling says nothing then. Turn the cache off, "
            "or set a temperature of 1 on the server",
            good=False,
        )
    if again < CACHED * first and first > 0.5:
        return Finding(
            "variety",
            f"{different} different answers among {len(drawn)}; a repeated request came back {first / again:.0f} times "
            "as fast",
            "a cache answers repeated requests: make sure that it does not serve requests with another seed",
        )
    return Finding("variety", f"{different} different answers among {len(drawn)} samples of an open question")


def _logprobs(model: Model, drawn: Sequence[Sample]) -> tuple[str, Finding]:
    """The kind of log-probabilities that samples have, and what it means."""
    believed = [without_certainty(sample) for sample in drawn if sample.complete]
    whole = [sample for sample in believed if sample.logprob is not None]
    sums = {
        sample.tokens or sample.text: np.exp(sample.logprob) for sample in whole if sample.logprob is not None
    }
    if whole and float(sum(sums.values())) > 1.05:
        return "none", Finding(
            "log-probabilities",
            f"the probabilities of different answers sum to {sum(sums.values()):.2f}: not those of the samples",
            "look for a temperature, top_p or top_k that the server sets by itself",
            good=False,
        )
    if whole:
        return "whole", Finding("log-probabilities", "of the whole answer, its end included, which is best")
    if any(sample.prefix_logprob is not None for sample in believed):
        return "no end", Finding(
            "log-probabilities",
            "those of the answer without its end",
            "they are used, with an estimate of the end; some servers can be asked to include the end token",
        )
    return "none", Finding(
        "log-probabilities",
        "placeholders instead of real ones" if _sends_placeholders(model) else "none",
        "verdicts rest on samples alone; vLLM, SGLang, llama.cpp and the built-in model give them",
        good=False,
    )


def _sends_placeholders(model: Model) -> bool:
    """Whether the raw reply of an endpoint has numbers where log-probabilities belong; none of them was usable."""
    endpoint, refused = getattr(model, "endpoint", None), getattr(model, "refused", ())
    if endpoint is None or "logprobs" in refused:
        return False
    asked: Any = model
    prompt = {"prompt": FACT} if asked.path == "/completions" else {"messages": as_messages(FACT)}
    with suppress(ModelError, LookupError, TypeError, AttributeError):
        body = {"model": asked.model, **prompt, **asked.logprobs()}
        sent = sync_bridge.run(endpoint.post(asked.path, body, retries=0))["choices"][0]["logprobs"]
        return bool(sent.get("content") or sent.get("token_logprobs"))
    return False


def _answer_weight(model: Model, kind: str) -> Finding:
    pace = getattr(model, "pace", None)
    if kind != "none" and getattr(pace, "weighs_answer", None):
        return Finding("the answer itself", "its probability is known, so that some verdicts need no sample")
    return Finding(
        "the answer itself",
        "its probability at temperature 1 is not known",
        "a verdict needs at least one sample",
        good=kind == "none",
    )


def _given(model: Model, cold: Sequence[Sample], kind: str) -> Finding:
    weigh, aweigh = getattr(model, "weigh", None), getattr(model, "aweigh", None)
    weighed = None
    if cold and kind != "none":
        if weigh is not None:
            weighed = weigh(FACT, cold[0])
        elif aweigh is not None:
            weighed = sync_bridge.run(aweigh(FACT, cold[0]))
    if weighed is not None:
        return Finding("a given answer", "can be weighed with one request, which generates next to nothing")
    return Finding(
        "a given answer",
        "cannot be weighed",
        "a check with `--answer` takes a few more samples than one without",
    )


def _refused(model: Model, drawn: Sequence[Sample]) -> Iterator[Finding]:
    refused: frozenset[str] = getattr(model, "refused", frozenset())
    for name in sorted(refused & _REFUSALS.keys()):
        yield Finding("refused", _REFUSALS[name], None, good=name not in ("logprobs", "temperature", "cold"))
    unseen = [each.token_count - 4 * len(each.text.split()) for each in drawn if each.token_count is not None]
    if "thinking" in refused or (unseen and min(unseen) > 20):
        yield Finding(
            "thinking", "spends tokens before it answers, which budgets and bills count", None, good=False
        )


def _cost(drawn: Sequence[Sample], kind: str, price: Price | None) -> Finding:
    samples = _SAMPLES[kind]
    tokens = generated_tokens(drawn)
    each = None if tokens is None or not drawn else max(1, round(tokens / len(drawn)))
    found = f"about {samples} sample{'s' * (samples > 1)} for a steady answer, up to 10"
    if each is not None:
        found += (
            f"; {each} token{'s' * (each > 1)} a brief answer, so about {each * (samples + 1)} tokens a check"
        )
    if price is not None:
        money = price.per_sample * (samples + 1) + price.per_token * (each or 0) * (samples + 1)
        found += f", {money:.2g} in the currency of the price"
    return Finding("cost", found)


def _self_test(judge: Judge) -> Finding:
    pairs = [(question, a, b) for question, a, b, _ in _SELF_TEST]
    start = time.monotonic()
    there = judge.entails(pairs)
    back = judge.entails([(question, b, a) for question, a, b in pairs])
    seconds = time.monotonic() - start
    same = [fmean(both) > 0.5 for both in zip(there, back, strict=True)]
    right = sum(found == wanted for found, (*_, wanted) in zip(same, _SELF_TEST, strict=True))
    name = getattr(judge, "name", type(judge).__name__)
    found = f"{name} gets {right} of {len(_SELF_TEST)} known pairs right ({seconds:.1f} s)"
    good = right >= len(_SELF_TEST) - 1
    return Finding(
        "judge", found, None if good else "use the built-in judge, or a larger model behind `llm`", good
    )


# The command.


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="find out what a model really does, and what a check of it costs",
        description="Ask a model for nine short answers and report what it does: whether samples differ, which "
        "log-probabilities it gives, what it refuses, how fast it is, what a check costs. Test the judge, too. Each "
        "problem comes with what to do about it.",
    )
    add = parser.add_argument
    add("--model", default="smollm2", help="the model (default: smollm2, the built-in one)")
    add("--base-url", metavar="URL", help="address of the endpoint, with openai:MODEL or completions:MODEL")
    add("--judge", metavar="J", help="the judge to test (default: the built-in one)")
    add(
        "--price-per-token",
        type=float,
        default=0.0,
        metavar="P",
        help="what a generated token costs, for the cost of a check",
    )
    add("--json", action="store_true", help="print one JSON object")
    add_config(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Examine the model; exit code 0 whatever is found, as long as it answers."""
    from ..meaning import load_judge
    from ..models import load_model
    from ..stopping import Price

    read_config(arguments.config, arguments, arguments.words)
    address = {} if arguments.base_url is None else {"base_url": arguments.base_url}
    model = load_model(arguments.model, **address)
    price = Price(per_token=arguments.price_per_token) if arguments.price_per_token else None
    findings = examine(model, load_judge(arguments.judge), price=price)
    if arguments.json:
        say(json_text({"model": arguments.model, "findings": [asdict(finding) for finding in findings]}))
        return 0
    say(f"Asking {arguments.model} for {DRAWS + 3} short answers, of a few tokens each.")
    for finding in findings:
        say(f"{'ok  ' if finding.good else 'note'}  {finding.about}: {finding.found}.")
        if finding.advice is not None:
            say(f"      {finding.advice[0].upper()}{finding.advice[1:]}.")
    return 0
