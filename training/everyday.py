"""Everyday questions with explanations, and claims in other words, as a language model writes them.

For each question the model gives several answers in a sentence, words two of them in other ways and writes sentences
that sound alike and mean something else; it also says which of its answers are the same. Of sentences of passages it
does the same, and adds what a passage does not say. Sentences with one word turned round ("rises", "falls") are made
without it.
"""

from __future__ import annotations

import json
import random
import re
import time
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semtropy.meaning.answers import OPPOSITES

from .pairs import side_of
from .sources.passages import altered, nearest, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from .llm import Writer

TOPICS = (
    "git", "the Linux shell", "Python", "SQL databases", "Docker", "CSS", "JavaScript", "regular expressions",
    "spreadsheets", "HTTP and web servers", "file permissions", "package managers", "text editors", "SSH",
    "Kubernetes", "load balancers and caches", "encryption and passwords", "e-mail", "Wi-Fi and routers",
    "mobile networks", "phones and batteries", "computer memory", "operating systems", "programming languages",
    "testing software", "machine learning", "search engines", "printers", "cameras", "a web shop's returns",
    "a web shop's payments", "delivery and parcels", "warranties", "subscriptions", "a gym membership",
    "a bank account", "credit cards", "taxes", "insurance", "interest and loans", "inflation", "pensions",
    "renting a flat", "buying a house", "contracts", "working hours and holidays", "job applications", "school",
    "universities", "first aid", "medicines", "vitamins", "vaccines", "blood pressure", "sleep", "the heart",
    "the lungs", "the eye", "the brain", "muscles", "bones and teeth", "skin", "digestion", "allergies",
    "colds and fever", "pregnancy", "babies", "diets", "cooking meat", "cooking rice", "eggs", "baking bread",
    "baking cakes", "coffee", "tea", "wine and beer", "cheese and milk", "fruit", "vegetables", "spices",
    "storing food", "washing clothes", "cleaning", "removing stains", "household repairs", "tools",
    "painting walls", "electricity at home", "heating", "water pipes", "refrigerators", "ovens and microwaves",
    "gardening", "lawns", "roses", "trees", "house plants", "insects", "bees", "spiders", "birds", "fish",
    "whales", "cats", "dogs", "horses", "cows and sheep", "snakes", "dinosaurs", "bacteria and viruses",
    "cells and genes", "evolution", "photosynthesis", "seeds and flowers", "weather", "clouds and rain",
    "storms and lightning", "seasons", "climate", "volcanoes", "earthquakes", "mountains", "rivers",
    "oceans and tides", "deserts", "forests", "islands", "the Moon", "the Sun", "planets", "stars and galaxies",
    "rockets and satellites", "light and colours", "sound", "heat", "magnets", "electric current", "gravity",
    "pressure", "friction", "atoms", "acids and bases", "metals", "glass", "plastic", "salt and sugar", "fire",
    "ice and water", "batteries", "engines", "electric cars", "bicycles", "trains", "aeroplanes", "ships",
    "bridges", "buildings", "clocks and time", "calendars", "maps", "measuring and units", "numbers", "geometry",
    "probability", "statistics", "money", "stock markets", "trade", "elections", "parliaments", "courts",
    "police", "constitutions", "the European Union", "the United Nations", "the Roman Empire", "ancient Egypt",
    "ancient Greece", "the Middle Ages", "the Renaissance", "the French Revolution", "the industrial revolution",
    "the First World War", "the Second World War", "the Cold War", "colonies", "famous inventions", "explorers",
    "kings and queens", "religions", "philosophers", "painters", "novels", "poems", "theatre", "films",
    "television", "classical music", "rock music", "instruments", "dance", "football", "tennis", "swimming",
    "running", "chess", "card games", "the Olympic Games", "mountaineering", "travel and visas", "airports",
    "hotels", "public transport", "driving rules", "languages", "grammar", "words and their origin",
    "handwriting and alphabets", "newspapers", "psychology", "habits", "stress", "friendship", "weddings",
    "funerals", "holidays and customs", "toys", "fashion",
)  # fmt: skip
_SHOTS = (
    ("Why does ice float on water?", "Ice floats because it is less dense than liquid water.",
     ("Frozen water has a lower density than the liquid, so it stays on top.",
      "Because water expands when it freezes, which makes ice lighter than the water around it.",
      "Its density is below that of water."),
     ("Ice floats because it is denser than liquid water.", "Ice floats because air bubbles are trapped in it.")),
    ("How do I see which branch I am on in git?",
     "You can see it with `git branch`, which marks the current branch with a star.",
     ("Run git branch and look for the line with the asterisk.",
      "`git branch` lists all branches and puts a star next to the current one.",
      "Type `git branch`; the starred one is yours."),
     ("You can see it with `git log`, which lists the commits of the branch.",
      "Run `git branch -d`, which deletes the branch.")),
    ("How often does a tetanus vaccination have to be repeated?",
     "It should be repeated about every ten years.",
     ("You need another one after roughly 10 years.", "Every ten years or so, since the protection wears off.",
      "A booster is due around ten years after the last one."),
     ("It should be repeated about every five years.", "Never, since it protects for the rest of your life.")),
    ("Is it safe to eat rice that was left out overnight?",
     "No, because bacteria in the rice can produce toxins at room temperature.",
     ("It isn't safe, since bacteria may have grown in it and left toxins behind.",
      "You had better not: rice that was not cooled can hold bacterial toxins.",
      "No, rice left at room temperature may contain toxins made by bacteria."),
     ("Yes, as long as the rice was covered.", "It is safe, because cooking has killed all bacteria.")),
    ("What does a load balancer do?", "A load balancer spreads incoming requests over several servers.",
     ("It distributes traffic across multiple servers so that none is overloaded.",
      "Requests are divided among a group of servers by a load balancer.",
      "It shares the work between servers."),
     ("A load balancer sends all incoming requests to one server.",
      "A load balancer keeps copies of web pages to deliver them faster.")),
    ("Who painted The Night Watch?", "The Night Watch was painted by Rembrandt in 1642.",
     ("Rembrandt painted it.", "It is a painting by Rembrandt van Rijn, finished in 1642.",
      "The painter was Rembrandt."),
     ("The Night Watch was painted by Vermeer in 1642.", "It is by Frans Hals.")),
)  # fmt: skip
_TASK = (
    "Say the answer in other words, with the same meaning, and then write answers that sound alike and mean something "
    "else.\n\n"
)
_QUESTIONS = """Write questions that people ask.

Topic: bread
Question: Why does bread go stale faster in the fridge?
Question: How long does fresh bread keep?
Question: What is sourdough?
Question: Can I freeze a loaf of bread?
Question: Which flour is used for baguettes?
Question: What makes dough rise?

Topic: {topic}
Question:"""
_CHAT = (
    "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)
_SAME = """<|im_start|>system
You compare answers.<|im_end|>
<|im_start|>user
Question: Why does ice float on water?
First answer: Ice floats because it is less dense than liquid water.
Second answer: Water expands when it freezes, so ice has a lower density.
Do both give the same answer? Answer Yes or No.<|im_end|>
<|im_start|>assistant
Yes<|im_end|>
<|im_start|>user
Question: Why does ice float on water?
First answer: Because ice is denser than water.
Second answer: Ice floats because it is less dense than liquid water.
Do both give the same answer? Answer Yes or No.<|im_end|>
<|im_start|>assistant
No<|im_end|>
<|im_start|>user
Question: How do I undo the last commit?
First answer: Use `git revert HEAD`, which adds a commit that undoes it.
Second answer: You can run `git reset --hard HEAD~1` to drop it.
Do both give the same answer? Answer Yes or No.<|im_end|>
<|im_start|>assistant
No<|im_end|>
<|im_start|>user
Question: How long does fresh bread keep?
First answer: Two to three days at room temperature.
Second answer: Fresh bread stays good for about 2 or 3 days if you keep it in a bread box.
Do both give the same answer? Answer Yes or No.<|im_end|>
<|im_start|>assistant
Yes<|im_end|>
<|im_start|>user
Question: What is sourdough?
First answer: Bread that rises by a starter of wild yeast and bacteria.
Second answer: A kind of sweet bread with sugar and butter.
Do both give the same answer? Answer Yes or No.<|im_end|>
<|im_start|>assistant
No<|im_end|>
<|im_start|>user
Question: {}
"""
_COMPARED = (
    "First answer: {}\nSecond answer: {}\nDo both give the same answer? Answer Yes or No.<|im_end|>\n"
    "<|im_start|>assistant\n"
)
_STATED = (
    ("Anna Berg was born in Lund in 1931 and studied painting in Paris.",
     ("Lund is where Berg was born in 1931, and she learned to paint in the French capital.",
      "Born in Lund in 1931, she was a student of painting in Paris."),
     ("Anna Berg was born in Lund in 1913 and studied painting in Paris.", "She grew up in Paris and studied law."),
     "Her portraits were shown in several museums."),
    ("The battery of the phone lasts up to two days, but it takes three hours to charge.",
     ("Charging takes three hours, and a charge is enough for as long as two days.",
      "You can use the phone for two days at most before its battery needs three hours at the charger."),
     ("The battery of the phone lasts up to two days and is full within one hour.",
      "The battery of the phone lasts only a few hours."),
     "The phone has a camera with three lenses."),
    ("Because warm water holds less oxygen, trout prefer cold mountain streams.",
     ("Trout like cold streams in the mountains, since there is more oxygen in cold water.",
      "Less oxygen is dissolved in warm water, which is why this fish lives in cool mountain brooks."),
     ("Because warm water holds more oxygen, trout prefer warm lakes.", "Trout avoid mountain streams."),
     "Trout eat insects and smaller fish."),
    ("The bridge was closed in 1998 after engineers found cracks in two of its pillars.",
     ("Cracks in two pillars led to the closing of the bridge in 1998.",
      "In 1998 it was shut, since experts had discovered that two pillars were cracked."),
     ("The bridge was closed in 1998 after a ship had hit it.",
      "The bridge stayed open although engineers found cracks in two of its pillars."),
     "It was designed by a Danish architect."),
)  # fmt: skip
_STATE = (
    "Say the sentence in other words, with the same meaning, then write sentences that sound alike and contradict it, "
    "and one about something that it does not mention.\n\n"
)
SAMPLES = 6
COMPARED = 6  # pairs of samples of a question that the model compares, in both orders
STATED = 5  # claims made of a sentence
REWORDED = 5  # wordings and different answers that it writes for one answer
NAMES = ("London", "Berlin", "Edison", "Newton", "India", "Canada", "Mozart", "Anna Berg")
_DENIED = (
    "is/is not",
    "are/are not",
    "does/does not",
    "can/cannot",
    "should/should not",
    "will/will not",
    "must/must not",
)
_OPPOSITE: dict[str, list[str]] = {}
for _pair in (*sorted("/".join(sorted(pair)) for pair in OPPOSITES), *_DENIED):
    _one, _, _two = _pair.partition("/")
    _OPPOSITE.setdefault(_one, []).append(_two)
    _OPPOSITE.setdefault(_two, []).append(_one)
_TURNS = re.compile(
    rf"\b(?:{'|'.join(sorted(map(re.escape, _OPPOSITE), key=len, reverse=True))})\b", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"\w+")
_NEGATION = re.compile(
    r"\b(?:no|not|never|cannot|none|neither|without|\w+n['’]t|nicht|kein\w*|pas|ni)\b", re.IGNORECASE
)


def read_questions(texts: Iterable[str], known: Iterable[str]) -> list[str]:
    """The questions of the train side that were written, each once, and none that is nearly one of those known."""
    shunned = [stems for text in known if len(stems := _stems(text)) > 1]
    seen: set[frozenset[str]] = set()
    found = []
    for text in texts:
        for line in f"Question:{text}".partition("\n\n")[0].split("\n")[:-1]:
            name, _, question = line.partition(":")
            question = question.strip()
            stems = _stems(question)
            if (
                name.strip() != "Question"
                or not question.endswith("?")
                or not 3 <= len(question.split()) <= 18
            ):
                continue
            if stems in seen or len(stems) < 2 or side_of(question) != "train":
                continue
            if any(len(stems & other) >= 0.7 * min(len(stems), len(other)) for other in shunned):
                continue
            seen.add(stems)
            found.append(question)
    return found


_SMALL = """
a an the is are was were do does did can could what why how who when where which i my you your to of in on for and or it
its be with from at by that this there have has not one
"""
_COMMON = frozenset(_SMALL.split())


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in _WORD.findall(text.lower()) if word not in _COMMON)


def answer_prompt(question: str, rng: random.Random) -> str:
    """What the model is asked for an answer."""
    added = rng.choice((" Answer in one sentence.",) * 6 + (" Answer briefly.", " Answer in a few words."))
    return _CHAT.format(question + added)


def reword_prompt(question: str, answer: str, rng: random.Random) -> str:
    """The prompt for other wordings of an answer and for answers that sound alike."""
    text = _TASK
    for asked, said, same, other in rng.sample(_SHOTS, 3):
        text += f"Question: {asked}\nAnswer: {said}\n"
        text += (
            "".join(f"Same: {each}\n" for each in same)
            + "".join(f"Different: {each}\n" for each in other)
            + "\n"
        )
    return f"{text}Question: {question}\nAnswer: {answer}\nSame:"


def read_rewordings(answer: str, text: str) -> tuple[list[str], list[str]]:
    """Other wordings, with the same numbers and as many denials, and different answers, of one continuation."""
    same: list[str] = []
    other: list[str] = []
    for line in f"Same:{text}".partition("\n\n")[0].split("\n"):
        name, _, said = line.partition(":")
        said = said.strip()
        if not 2 <= len(said.split()) <= 50 or said[-1] not in ".!?`\"'" or said == answer:
            continue
        if name.strip() == "Same" and _keeps(answer, said):
            same.append(said)
        elif name.strip() == "Different" and _adds(answer, said):
            other.append(said)
    return same[:3], [said for said in other if said not in same][:2]


def _adds(answer: str, said: str) -> bool:
    """Whether one says something that the other does not."""
    return not _content(said) <= _content(answer)


def _keeps(answer: str, said: str) -> bool:
    numbers = [sorted(_NUMBER.findall(text)) for text in (answer, said)]
    denials = [len(_NEGATION.findall(text)) % 2 for text in (answer, said)]
    return numbers[0] == numbers[1] and denials[0] == denials[1]


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.lower()) if word not in _COMMON or word == "not")


def clean(text: str) -> str | None:
    """An answer of the model as one line; None where it is empty, cut off or long."""
    said = " ".join(text.split())
    return said if said and len(said.split()) <= 60 and said[-1] in ".!?`\"')" else None


def turned(sentence: str, rng: random.Random) -> str | None:
    """The sentence with one word turned round, so that it says something else.

    >>> turned("The price rises.", random.Random(0))
    'The price falls.'
    """
    places = list(_TURNS.finditer(sentence))
    if not places:
        return None
    found = rng.choice(places)
    new = rng.choice(_OPPOSITE[found.group().lower()])
    if found.group()[0].isupper():
        new = new[0].upper() + new[1:]
    return sentence[: found.start()] + new + sentence[found.end() :]


def compared_parts(question: str, pairs: Iterable[tuple[str, str]]) -> tuple[str, list[str]]:
    """The prompt of comparisons in two parts: what all of a question share, and the rest of each."""
    return _SAME.format(question), [_COMPARED.format(*pair) for pair in pairs]


def compared(samples: Sequence[str], rng: random.Random) -> list[tuple[str, str]]:
    """Pairs of the answers to a question that the model compares: always as many, if need be some twice."""
    pairs = [(a, b) for a, b in permutations(dict.fromkeys(samples), 2) if a < b] or [
        (samples[0], samples[0])
    ]
    rng.shuffle(pairs)
    return [pairs[n % len(pairs)] for n in range(COMPARED)]


def comparisons(row: dict[str, Any]) -> list[tuple[str, str]]:
    """What the model is asked about a question: the pairs in both orders, and each answer with its rewordings."""
    found = [(a, b) for pair in row["compared"] for a, b in (pair, pair[::-1])]
    for made in row["reworded"]:
        answer = made["answer"]
        own = [(answer, said) for said in (*made["same"], *made["other"])]
        found += own + [(answer, answer)] * (REWORDED - len(own))
    return found


def state_prompt(sentence: str, rng: random.Random) -> str:
    """The prompt for a claim in other words, for what contradicts it and for what it does not say."""
    text = _STATE
    for said, same, other, beside in rng.sample(_STATED, 3):
        text += f"Sentence: {said}\n" + "".join(f"Same: {each}\n" for each in same)
        text += "".join(f"Contradiction: {each}\n" for each in other) + f"Not mentioned: {beside}\n\n"
    return f"{text}Sentence: {sentence}\nSame:"


def read_stated(sentence: str, text: str) -> dict[str, list[str]]:
    """What one continuation says: `same`, `other` and `beside`."""
    found: dict[str, list[str]] = {"same": [], "other": [], "beside": []}
    names = {"Same": "same", "Contradiction": "other", "Not mentioned": "beside"}
    for line in f"Same:{text}".partition("\n\n")[0].split("\n"):
        name, _, said = line.partition(":")
        said = said.strip()
        kind = names.get(name.strip())
        if kind is None or not 3 <= len(said.split()) <= 50 or said[-1] not in ".!?\"'" or said == sentence:
            continue
        fits = {"same": _keeps(sentence, said), "other": _adds(sentence, said), "beside": True}
        if fits[kind] and said not in found["same"]:
            found[kind].append(said)
    return {"same": found["same"][:2], "other": found["other"][:2], "beside": found["beside"][:1]}


def state(model: Writer, texts: Sequence[str], out: Path, *, most: int = 16_000, seed: int = 8) -> None:
    """Sentences of passages in other words, one row a sentence into `out`, with votes whether the passage says them."""
    rng, started = random.Random(seed), time.time()
    chosen = []
    for text in texts:
        parts = [part for part in sentences(text) if 5 <= len(part.split()) <= 35 and part[-1] in ".!?"]
        chosen += [(text, part) for part in rng.sample(parts, min(3, len(parts)))]
    rng.shuffle(chosen)
    chosen = chosen[:most]
    made = model.write([state_prompt(part, rng) for _, part in chosen], 150, temperature=0.7)
    rows = [
        {"passage": text, "sentence": part, **found}
        for (text, part), [written] in zip(chosen, made, strict=True)
        if (found := read_stated(part, written))["same"]
    ]
    print(f"stated {len(rows)} {time.time() - started:.0f} s", flush=True)
    claims = [[*row["same"], *row["other"], *row["beside"]] for row in rows]
    claims = [own + [row["sentence"]] * (STATED - len(own)) for row, own in zip(rows, claims, strict=True)]
    for row, odds in zip(rows, model.votes([row["passage"] for row in rows], claims), strict=True):
        row["votes"] = [round(float(value), 3) for value in odds]
    print(f"votes on them {time.time() - started:.0f} s", flush=True)
    part = out.with_suffix(".part")
    part.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    part.rename(out)


def claims(rows: Sequence[dict[str, Any]], rng: random.Random) -> Iterator[Example]:
    """What is learnt of passages and claims in other words; votes against a label by far drop the claim."""
    for row in rows:
        text, sentence, votes = row["passage"], row["sentence"], iter(row["votes"])
        rest = " ".join(part for part in sentences(text) if part != sentence)
        near = nearest(sentence, text, rng.choice((2, 3, 4)))
        same = [said for said in row["same"] if next(votes) > -1.0]
        other = [said for said in row["other"] if next(votes) < 1.0]
        beside = [said for said in row["beside"] if next(votes) < 0.5]
        changes = [changed for base in (sentence, *same[:1]) if (changed := turned(base, rng)) is not None]
        for whole in (text, near):
            for said in same:
                yield Example("restated", ("", whole, said), (0.95, 0.02, 0.03), rest=False)
            for said in beside:
                yield Example("beside", ("", whole, said), (0.03, 0.12, 0.85), rest=False)
            for said in other:
                yield Example("opposed", ("", whole, said), (0.03, 0.85, 0.12), rest=False)
            for said in changes:
                yield Example("turned-claim", ("", whole, said), (0.02, 0.93, 0.05), rest=False)
        for said in (*same[:1], *changes[:1]):
            yield Example("beside", ("", rest, said), (0.03, 0.1, 0.87), rest=False)
        for said in same[:1]:
            yield Example("restated", ("", sentence, said), (0.95, 0.02, 0.03), rest=False)


class Example(NamedTuple):
    """A pair with the three probabilities to learn; where `rest` is set only the first of them is known."""

    kind: str
    triple: tuple[str, str, str]
    target: tuple[float, float, float]
    rest: bool


def examples(rows: Sequence[dict[str, Any]], rng: random.Random) -> Iterator[Example]:
    """What is learnt from all that was written.

    The model's votes are scaled on its own rewordings. A rewording that it then calls another answer is dropped, and
    so is a different answer that it calls the same, but nothing that was made by turning a word round.
    """
    scale, shift = _scaling(rows)
    for row in rows:
        question = row["question"]
        votes = [float(1 / (1 + np.exp(-(scale * odds + shift)))) for odds in row["votes"]]
        for n, (a, b) in enumerate(row["compared"]):
            p = min(max((votes[2 * n] + votes[2 * n + 1]) / 2, 0.03), 0.9)
            if a != b:
                yield from _both("compared", question, a, b, (p, 0.0, 0.0), rest=True)
        for made, own in zip(row["reworded"], _parts(row, votes), strict=True):
            answer, same, other = made["answer"], made["same"], made["other"]
            kept = [answer] + [said for said, vote in zip(same, own, strict=False) if vote > 0.6]
            for a, b in combinations(kept, 2):
                yield from _both("explained", question, a, b, (0.95, 0.02, 0.03))
            for said, vote in zip(other, own[len(same) :], strict=False):
                if vote < 0.4:
                    for a in kept[:2]:
                        yield from _both("different", question, a, said, (0.0, 0.85, 0.15), rest=True)
            for a in kept[:2]:
                changes = [turned(a, rng), altered(a, NAMES, rng) if rng.random() < 0.4 else None]
                for changed in changes:
                    if changed is not None:
                        for b in {a, rng.choice(kept)}:
                            yield from _both("turned", question, b, changed, (0.0, 1.0, 0.0))


def _both(
    kind: str, question: str, a: str, b: str, target: tuple[float, float, float], *, rest: bool = False
) -> Iterator[Example]:
    yield Example(kind, (question, a, b), target, rest)
    yield Example(kind, (question, b, a), target, rest)


def _parts(row: dict[str, Any], votes: Sequence[float]) -> list[Sequence[float]]:
    """The votes on each reworded answer of a row."""
    start = 2 * COMPARED
    return [votes[start + n * REWORDED : start + (n + 1) * REWORDED] for n in range(len(row["reworded"]))]


def _scaling(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    from .export import calibrate

    odds: list[float] = []
    same: list[float] = []
    for row in rows:
        for made, votes in zip(row["reworded"], _parts(row, row["votes"]), strict=True):
            kinds = [1.0] * len(made["same"]) + [0.0] * len(made["other"])
            odds += votes[: len(kinds)]
            same += kinds
    scale, shift = calibrate(np.array(odds), np.array(same), np.ones(len(odds)))
    print(f"comparisons: scale {scale:.3f} shift {shift:.3f} on {len(odds)}")
    return scale, shift


def write(
    model: Writer, out: Path, known: Sequence[str], *, each: int = 12, most: int = 8_000, seed: int = 7
) -> None:
    """Ask, answer, reword and compare; one row a question into `out`. Nothing like the `known` questions is asked."""
    rng, started = random.Random(seed), time.time()

    def note(text: str) -> None:
        print(f"{text} {time.time() - started:.0f} s", flush=True)

    texts = model.write([_QUESTIONS.format(topic=topic) for topic in TOPICS], 110, times=each)
    questions = read_questions([text for own in texts for text in own], known)
    rng.shuffle(questions)
    questions = questions[:most]
    note(f"questions {len(questions)}")
    said = model.write(
        [answer_prompt(question, rng) for question in questions], 60, times=SAMPLES, rows=3_000
    )
    rows: list[dict[str, Any]] = []
    for question, texts in zip(questions, said, strict=True):
        samples = [text for text in map(clean, texts) if text is not None]
        if len(set(samples)) > 1:
            rows.append({"question": question, "samples": samples, "compared": compared(samples, rng)})
    note(f"answered {len(rows)}")
    bases = [(row, answer) for row in rows for answer in list(dict.fromkeys(row["samples"]))[:2]]
    prompts = [reword_prompt(row["question"], answer, rng) for row, answer in bases]
    for (row, answer), [text] in zip(bases, model.write(prompts, 150, temperature=0.6), strict=True):
        same, other = read_rewordings(answer, text)
        row.setdefault("reworded", []).append({"answer": answer, "same": same, "other": other})
    note(f"reworded {len(bases)}")
    votes = model.odds_of_yes([compared_parts(row["question"], comparisons(row)) for row in rows])
    for row, odds in zip(rows, votes, strict=True):
        row["votes"] = [round(float(value), 3) for value in odds]
    note(f"compared {votes.size}")
    part = out.with_suffix(".part")
    part.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    part.rename(out)
