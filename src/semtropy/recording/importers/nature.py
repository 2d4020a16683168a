"""Importer for runs of the Nature paper's code: `validation_generations.pkl` and `uncertainty_measures.pkl`.

Its token log-probabilities belong to the distribution sampled from but leave out the end token. They are kept, and
the header says that they cannot be used as lower bounds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .common import Imported, Source, join_identical
from .pickles import StoredNamespace, load_pickle

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
    return source.texts(source.item(answers, "text", f"{at}.answers"), f"{at}.answers.text")


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


# Importer for result pickles of "Hallucination Detection on a Budget": a tuple of eight lists, one entry per
# question.
#
# (is_hallucination, semantic_ids, response_list, token_log_probs, p_false, most_likely_answer, questions, contexts).
# Their sequence probabilities include the end token.


FIELDS = (
    "is_hallucination",
    "semantic_ids",
    "response_list",
    "token_log_probs",
    "p_false",
    "most_likely_answer",
    "questions",
    "contexts",
)


def read_paper(path: Path) -> Imported:
    """Read the results in `path`; model and dataset come from its name (MODEL--DATASET--results.pickle)."""
    source = Source(path)
    held = load_pickle(path)
    if not isinstance(held, tuple | list) or len(held) != len(FIELDS):
        source.fail(f"expected a tuple of {len(FIELDS)}: {', '.join(FIELDS)}", "")
    questions = source.sequence(held[6], "questions")
    columns = [
        source.sequence(column, name, len(questions)) for name, column in zip(FIELDS, held, strict=True)
    ]
    joined = 0
    rows = []
    for place, values in enumerate(zip(*columns, strict=True)):
        row, moved = _paper_row(source, place, dict(zip(FIELDS, values, strict=True)))
        rows.append(row)
        joined += moved
    name = path.name.removeprefix("nnnp-").split("--")
    header = {
        "model": name[0] if len(name) > 1 else None,
        "dataset": name[1] if len(name) > 1 else None,
        "temperature": 1.0,
        "eos_included": True,
        "logprobs_of_sampling": True,
    }
    notes = [f"{joined} samples were moved to the meaning of an identical answer"] if joined else []
    return Imported(header, rows, notes)


def _paper_row(source: Source, place: int, values: dict[str, Any]) -> tuple[dict[str, Any], int]:
    def at(name: str) -> str:
        return f"{name}[{place}]"

    texts = source.texts(values["response_list"], at("response_list"))
    scores = source.sequence(values["token_log_probs"], at("token_log_probs"), len(texts))
    ids = source.sequence(values["semantic_ids"], at("semantic_ids"), len(texts))
    meanings, moved = join_identical(
        texts, [source.whole(label, f"{at('semantic_ids')}[{n}]") for n, label in enumerate(ids)]
    )
    samples = []
    for n, (text, score, meaning) in enumerate(zip(texts, scores, meanings, strict=True)):
        logprobs = source.logprobs(score, f"{at('token_log_probs')}[{n}]")
        known = {} if logprobs is None else {"token_logprobs": logprobs}
        samples.append({"text": text, **known, "meaning": meaning})
    p_false = source.number(values["p_false"], at("p_false"))
    context = values["contexts"]
    row = {
        "id": str(place),
        "question": source.text(values["questions"], at("questions")),
        "context": None if context is None else source.text(context, at("contexts")) or None,
        "references": [],
        "answer": _answer(source, values, at),
        "samples": samples,
        "p_true": None if p_false is None else min(1.0, max(0.0, 1.0 - p_false)),
    }
    return row, moved


def _answer(source: Source, values: dict[str, Any], at: Any) -> dict[str, Any]:
    held = values["most_likely_answer"]
    wrong = source.number(values["is_hallucination"], at("is_hallucination"))
    answer = {"text": held} if isinstance(held, str) else read_answer(source, held, at("most_likely_answer"))
    return {**answer, "correct": None if wrong is None else wrong < 0.5}
