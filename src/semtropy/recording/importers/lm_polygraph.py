"""Importer for lm-polygraph's `UEManager.save`: a torch file with the statistics listed in `save_stats`.

Its estimations become the `scores` of a question: for all of them a higher value is more uncertain.
The file does not state the temperature or any truncation (top-k, top-p), so its log-probabilities are not used as lower
bounds until the header states them. They include the end token, except for samples cut off by the length limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .common import Imported, Source
from .pickles import load_pickle

# A generation metric that says right or wrong; others are kept under the key `lm_polygraph`.
GRADE = "Accuracy"
NEEDED = "is missing: run lm-polygraph with save_stats=['sample_texts', 'sample_log_probs', 'sample_tokens']"


def read_lm_polygraph(path: Path) -> Imported:
    """The saved manager at `path`; the run needs save_stats with sample_texts, and better sample_log_probs too."""
    source = Source(path)
    held = load_pickle(path)
    stats = source.mapping(source.item(held, "stats", ""), "stats")
    texts = _column(source, stats, "sample_texts", None)
    if texts is None:
        source.fail(NEEDED, "stats.sample_texts")
    columns = {
        name: _column(source, stats, name, len(texts))
        for name in (
            "input_texts",
            "target_texts",
            "greedy_texts",
            "greedy_log_likelihoods",
            "sample_log_probs",
            "sample_log_likelihoods",
            "sample_tokens",
        )
    }
    if columns["input_texts"] is None:
        source.fail("is missing", "stats.input_texts")
    metrics, estimations = (
        _scores(source, held, group, len(texts)) for group in ("gen_metrics", "estimations")
    )
    rows = [
        {
            **_row(
                source, place, {"sample_texts": texts[place], **_pick(columns, place)}, _pick(metrics, place)
            ),
            **_estimated(source, place, _pick(estimations, place)),
        }
        for place in range(len(texts))
    ]
    header = {"model": None, "dataset": None, "temperature": None, "eos_included": True}
    return Imported(
        header,
        rows,
        ["the file does not state the model, the dataset or the temperature: add them with --set"],
    )


def _column(source: Source, stats: Mapping[str, Any], name: str, size: int | None) -> list[Any] | None:
    found = stats.get(name, stats.get(f"blackbox_{name}"))
    return None if found is None else source.sequence(found, f"stats.{name}", size)


def _pick(columns: Mapping[str, list[Any] | None], place: int) -> dict[str, Any]:
    return {name: values[place] for name, values in columns.items() if values is not None}


def _scores(source: Source, held: Any, group: str, size: int) -> dict[str, list[Any] | None]:
    """Sequence-level scores: {("sequence", name): one number per question}."""
    found: dict[str, list[Any] | None] = {}
    table: Mapping[Any, Any] = source.mapping(source.mapping(held, "").get(group) or {}, group)
    for key, values in table.items():
        if isinstance(key, tuple) and len(key) == 2 and key[0] == "sequence":
            found[str(key[1])] = source.sequence(values, f"{group}[{key!r}]", size)
    return found


def _row(source: Source, place: int, values: dict[str, Any], scores: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: source.number(value, f"{name}[{place}]") for name, value in scores.items()}
    grade, wanted = numbers.get(GRADE), values.get("target_texts")
    row: dict[str, Any] = {
        "id": str(place),
        "question": source.text(values["input_texts"], f"stats.input_texts[{place}]"),
        "context": None,
        "references": [wanted]
        if isinstance(wanted, str)
        else source.texts(wanted or [], f"stats.target_texts[{place}]"),
    }
    if "greedy_texts" in values:
        answer: dict[str, Any] = {"text": source.text(values["greedy_texts"], f"stats.greedy_texts[{place}]")}
        known = source.logprobs(
            values.get("greedy_log_likelihoods"), f"stats.greedy_log_likelihoods[{place}]"
        )
        if known is not None:
            answer["token_logprobs"] = known
        row["answer"] = {**answer, "correct": None if grade is None else grade > 0.5}
    row["samples"] = _samples(source, place, values)
    return {**row, "lm_polygraph": numbers} if numbers else row


def _estimated(source: Source, place: int, estimations: dict[str, Any]) -> dict[str, Any]:
    """The estimations of one question: P(True), and the others as scores."""
    numbers = {name: source.number(value, f"{name}[{place}]") for name, value in estimations.items()}
    p_true = numbers.pop("PTrue", None)
    row: dict[str, Any] = {}
    if p_true is not None:  # minus the log-probability of "True"
        row["p_true"] = math.exp(min(0.0, -p_true))
    scores = {f"lm-polygraph/{name}": number for name, number in numbers.items()}
    return {**row, "scores": scores} if scores else row


def _samples(source: Source, place: int, values: dict[str, Any]) -> list[dict[str, Any]]:
    texts = source.sequence(values["sample_texts"], f"stats.sample_texts[{place}]")

    def entry(name: str, n: int) -> tuple[Any, str]:
        at = f"stats.{name}[{place}]"
        found = values.get(name)
        return (None if found is None else source.sequence(found, at, len(texts))[n]), f"{at}[{n}]"

    samples = []
    for n, text in enumerate(texts):
        sample: dict[str, Any] = {"text": source.text(text, f"stats.sample_texts[{place}][{n}]")}
        total = source.number(*entry("sample_log_probs", n))
        parts = source.logprobs(*entry("sample_log_likelihoods", n))
        tokens, at = entry("sample_tokens", n)
        sample["logprob"] = total
        if parts is not None:
            sample["token_logprobs"] = parts
        if tokens is not None:
            sample["tokens"] = [source.whole(token, at) for token in source.sequence(tokens, at)]
        # The total counts the end token and the parts do not: equal means that no end was drawn.
        if total is not None and parts is not None and total == _running_sum(parts):
            sample["complete"] = False
        samples.append(sample)
    return samples


def _running_sum(parts: list[float]) -> float:
    """As lm-polygraph adds up, one by one: sum() rounds better on newer Pythons, and would differ."""
    total = 0.0
    for part in parts:
        total += part
    return total
