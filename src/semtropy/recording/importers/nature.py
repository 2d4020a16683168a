"""Importer for runs of the Nature paper's code: `validation_generations.pkl` and `uncertainty_measures.pkl`.

Its token log-probabilities belong to the distribution sampled from but leave out the end token. They are kept, and
the header says that they cannot be used as lower bounds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .arrays import StoredNamespace
from .common import Imported, Source, join_identical
from .pickles import load_pickle

__all__ = ["read_nature"]

GENERATIONS, MEASURES, DETAILS = (
    "validation_generations.pkl",
    "uncertainty_measures.pkl",
    "experiment_details.pkl",
)


def read_nature(path: Path) -> Imported:
    """The run in the folder `path`, or the folder of the file `path`."""
    main = path / GENERATIONS if path.is_dir() else path
    source = Source(main)
    generations = source.mapping(load_pickle(main), "")
    rows = [_row(source, str(key), value) for key, value in generations.items()]
    notes: list[str] = []
    measures = main.with_name(MEASURES)
    if measures.exists():
        notes += _add_measures(Source(measures), load_pickle(measures), rows)
    return Imported(_header(main.with_name(DETAILS), main), rows, notes)


def _header(details: Path, main: Path) -> dict[str, Any]:
    arguments: Any = {}
    if details.exists():
        held = load_pickle(details)
        namespace = held.get("args") if isinstance(held, dict) else None
        arguments = namespace.state if isinstance(namespace, StoredNamespace) and namespace.state else {}
    model, dataset, temperature = (arguments.get(key) for key in ("model_name", "dataset", "temperature"))
    guess = main.parent.name.split("--")
    return {
        "model": model if isinstance(model, str) else guess[0] or None,
        "dataset": dataset if isinstance(dataset, str) else (guess[1] if len(guess) > 1 else None),
        "temperature": temperature if isinstance(temperature, int | float) else 1.0,
        "eos_included": False,
        "logprobs_of_sampling": True,
    }


def _row(source: Source, key: str, value: Any) -> dict[str, Any]:
    at = f"[{key!r}]"
    context = source.item(value, "context", at)
    return {
        "id": key,
        "question": source.text(source.item(value, "question", at), f"{at}.question"),
        "context": None if context is None else source.text(context, f"{at}.context") or None,
        "references": _references(source, source.mapping(value, at).get("reference"), f"{at}.reference"),
        "answer": read_answer(
            source, source.item(value, "most_likely_answer", at), f"{at}.most_likely_answer"
        ),
        "samples": [
            _sample(source, response, f"{at}.responses[{place}]")
            for place, response in enumerate(
                source.sequence(source.item(value, "responses", at), f"{at}.responses")
            )
        ],
    }


def _references(source: Source, value: Any, at: str) -> list[str]:
    if value is None:
        return []
    answers = source.item(value, "answers", at)
    texts = source.sequence(source.item(answers, "text", f"{at}.answers"), f"{at}.answers.text")
    return [source.text(text, f"{at}.answers.text[{place}]") for place, text in enumerate(texts)]


def read_answer(source: Source, value: Any, at: str) -> dict[str, Any]:
    """`most_likely_answer`: the low-temperature answer with its grade."""
    accuracy = source.number(source.mapping(value, at).get("accuracy"), f"{at}.accuracy")
    answer: dict[str, Any] = {"text": source.text(source.item(value, "response", at), f"{at}.response")}
    scores = source.logprobs(value.get("token_log_likelihoods"), f"{at}.token_log_likelihoods")
    if scores is not None:
        answer["token_logprobs"] = scores
    return {**answer, "correct": None if accuracy is None else accuracy > 0.5}


def _sample(source: Source, response: Any, at: str) -> dict[str, Any]:
    """The sample in a tuple (text, token log-probabilities, embedding, accuracy); the embedding is not imported."""
    if not isinstance(response, list | tuple) or len(response) < 2:
        source.fail("expected a tuple (text, token log-probabilities, ...)", at)
    sample: dict[str, Any] = {"text": source.text(response[0], f"{at}[0]")}
    scores = source.logprobs(response[1], f"{at}[1]")
    if scores is not None:
        sample["token_logprobs"] = scores
    accuracy = source.number(response[3], f"{at}[3]") if len(response) > 3 else None
    return sample if accuracy is None else {**sample, "accuracy": accuracy}


def _add_measures(source: Source, held: Any, rows: list[dict[str, Any]]) -> list[str]:
    """Add meanings and P(True), listed in the order of the questions; an interrupted run has fewer."""
    measures = source.mapping(
        source.mapping(held, "").get("uncertainty_measures", {}), "uncertainty_measures"
    )
    joined = 0
    all_ids = source.sequence(source.mapping(held, "").get("semantic_ids", []), "semantic_ids")
    wrong = source.sequence(measures.get("p_false_fixed", []), "uncertainty_measures.p_false_fixed")
    if max(len(all_ids), len(wrong)) > len(rows):
        source.fail(f"has {len(all_ids)} entries for {len(rows)} questions of {GENERATIONS}", "semantic_ids")
    for place, (row, ids) in enumerate(zip(rows, all_ids, strict=False)):
        at = f"semantic_ids[{place}]"
        labels = [source.whole(label, f"{at}[{n}]") for n, label in enumerate(source.sequence(ids, at))]
        if len(labels) > len(row["samples"]):
            source.fail(f"has {len(labels)} meanings for {len(row['samples'])} samples", at)
        texts = [sample["text"] for sample in row["samples"][: len(labels)]]
        labels, moved = join_identical(texts, labels)
        joined += moved
        for sample, label in zip(row["samples"], labels, strict=False):
            sample["meaning"] = label
    for place, (row, value) in enumerate(zip(rows, wrong, strict=False)):
        p_false = source.number(value, f"uncertainty_measures.p_false_fixed[{place}]")
        row["p_true"] = None if p_false is None else min(1.0, max(0.0, 1.0 - p_false))
    return [f"{joined} samples were moved to the meaning of an identical answer"] if joined else []
