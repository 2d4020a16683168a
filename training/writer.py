"""What a language model of 1.5 billion parameters (Qwen2.5-Coder-1.5B-Instruct, Apache-2.0) writes for the training.

Passages, several to a prompt, whose sentences are set against each other; the facts in their sentences; whether a
passage supports a sentence; and more wordings: sentences that answer a question, with reasons and hedges, yes and no,
other languages, commands. No question or name of the test sets is asked about (`sides`, `prompts`).
"""

from __future__ import annotations

import random
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .sources.passages import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_CHAT = (
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)
_BIOS = (
    "Tell me a paragraph bio of {}.", "Tell me in one paragraph about the life of {}.",
    "Who was {}? Answer in a paragraph.",
    "This is a Wikipedia passage about {}:",
)  # fmt: skip
_FACTS = (
    "Provide me with a paragraph detailing some facts related to {}.", "Tell me in one paragraph about {}.",
    "Write a short paragraph about {}.", "What is {}? Answer in a paragraph.",
)  # fmt: skip
_OPEN = ("{} Answer in three sentences.", "{} Explain in a few sentences.", "{} Answer in a short paragraph.")
_STYLES = {
    "sentence": (
        ("Who wrote Faust?", "Johann Wolfgang von Goethe", "Faust was written by Johann Wolfgang von Goethe."),
        ("What is the boiling point of water?", "100 °C", "Water boils at 100 °C."),
        ("In which country is the city of Graz?", "Austria", "The city of Graz is in Austria."),
    ),
    "detail": (
        ("Who wrote Faust?", "Johann Wolfgang von Goethe",
         "Faust is a play by Johann Wolfgang von Goethe, who worked on it for most of his life."),
        ("What is the boiling point of water?", "100 °C",
         "At sea level it boils at 100 °C; higher up it boils earlier."),
        ("In which country is the city of Graz?", "Austria", "It's in Austria, since Graz is the capital of Styria."),
    ),
    "hedge": (
        ("Who wrote Faust?", "Johann Wolfgang von Goethe", "I think Johann Wolfgang von Goethe wrote it."),
        ("What is the boiling point of water?", "100 °C", "If I remember correctly, water boils at 100 °C."),
        ("In which country is the city of Graz?", "Austria", "That should be Austria, I believe."),
    ),
    "yesno": (
        ("Do penguins fly?", "no", "Penguins cannot fly."),
        ("Is the Nile longer than the Rhine?", "yes", "Yes, the Nile is much longer than the Rhine."),
        ("Is a tomato a mineral?", "no", "No, a tomato isn't a mineral, it is a fruit."),
        ("Can you vote by post in Germany?", "yes", "It is possible to vote by post in Germany."),
    ),
}  # fmt: skip
_LANGUAGES = {
    "German": (("Wer schrieb Faust?", "Faust wurde von Johann Wolfgang von Goethe geschrieben."),
               ("In welchem Land liegt Graz?", "Graz liegt in Austria.")),
    "French": (("Qui a écrit Faust ?", "C'est Johann Wolfgang von Goethe qui a écrit Faust."),
               ("Dans quel pays se trouve Graz ?", "La ville de Graz se trouve en Austria.")),
    "Spanish": (("¿Quién escribió Fausto?", "Fausto fue escrito por Johann Wolfgang von Goethe."),
                ("¿En qué país está Graz?", "La ciudad de Graz está en Austria.")),
}  # fmt: skip
_TOPICS = (
    "git", "the Linux shell", "Python", "SQL", "Docker", "CSS", "JavaScript", "regular expressions", "Excel formulas",
    "HTTP status codes", "file permissions", "package managers", "Vim", "SSH", "Kubernetes", "a web shop's returns",
    "delivery times", "a gym membership", "first aid", "medicines", "vitamins", "cooking", "baking", "gardening",
    "public transport", "opening hours", "taxes", "renting a flat", "school holidays", "football", "world history",
    "geography", "physics", "chemistry", "biology", "music", "films", "phones", "cars", "bicycles", "pets", "weather",
)  # fmt: skip
_EVERYDAY = """Write a question, a short answer, the answer in three different sentences, and another answer that \
means something else.

Topic: git
Question: How do I undo my last commit but keep the changes?
Answer: git reset --soft HEAD~1
Sentence: Run `git reset --soft HEAD~1`.
Sentence: You can undo it with git reset --soft HEAD~1, which keeps your changes staged.
Sentence: The command for that is `git reset --soft HEAD~1`.
Other: git revert HEAD
Other sentence: Use `git revert HEAD` to undo the last commit.

Topic: a web shop's returns
Question: How long can I return shoes I bought online?
Answer: 30 days
Sentence: You have 30 days to send them back.
Sentence: Shoes can be returned within 30 days of delivery.
Sentence: Our return period is 30 days, so there is still time.
Other: 14 days
Other sentence: You can return them within 14 days.

Topic: {topic}
Question:"""
_SPLIT = """List the facts in the sentence, one per line, each a full sentence that names its subject.

Sentence: John Smith (1820-1890) was an English lawyer and author who was born in London.
- John Smith was born in 1820.
- John Smith died in 1890.
- John Smith was an English lawyer.
- John Smith was an author.
- John Smith was born in London.

Sentence: {}
-"""
_VOTE = """<|im_start|>system
You are a careful fact checker.<|im_end|>
<|im_start|>user
Passage: Anna Berg is a Swedish painter. She was born in Lund in 1931 and studied in Paris.
Sentence: She was born in Lund.
Does the passage say so? Answer Yes or No.<|im_end|>
<|im_start|>assistant
Yes<|im_end|>
<|im_start|>user
Passage: Anna Berg is a Swedish painter. She was born in Lund in 1931 and studied in Paris.
Sentence: Berg won several prizes for her portraits.
Does the passage say so? Answer Yes or No.<|im_end|>
<|im_start|>assistant
No<|im_end|>
<|im_start|>user
Passage: Anna Berg is a Swedish painter. She was born in Lund in 1931 and studied in Paris.
Sentence: Anna Berg was born in Norway in 1931.
Does the passage say so? Answer Yes or No.<|im_end|>
<|im_start|>assistant
No<|im_end|>
<|im_start|>user
Passage: {}
"""
_ASKED = "Sentence: {}\nDoes the passage say so? Answer Yes or No.<|im_end|>\n<|im_start|>assistant\n"
_NEGATION = re.compile(
    r"\b(?:no|not|never|cannot|none|neither|nor|without|unable|\w+n['’]t)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked of the model: a kind, the text that it continues, and what is needed to read the result."""

    kind: str
    text: str
    limit: int
    about: dict[str, Any]

    def json(self) -> dict[str, Any]:
        """As a row of a file."""
        return asdict(self)


def passage_prompts(
    people: Sequence[str], things: Sequence[str], questions: Sequence[str], rng: random.Random
) -> Iterator[Prompt]:
    """A paragraph about each person and thing, and an answer of some sentences to each question."""
    for subjects, frames in ((people, _BIOS), (things, _FACTS), (questions, _OPEN)):
        for subject in subjects:
            asked = rng.choice(frames).format(subject)
            yield Prompt("passage", _CHAT.format(asked), 170, {"question": asked, "subject": subject})


def wording_prompts(questions: Sequence[tuple[str, Sequence[str]]], rng: random.Random) -> Iterator[Prompt]:
    """Sentences with each of the answers of a question, in several styles."""
    for question, answers in questions:
        for answer in answers:
            for style in ("sentence", "detail", "hedge"):
                yield _styled(style, question, answer, list(answers), rng)
        if rng.random() < 0.35:
            language = rng.choice(list(_LANGUAGES))
            for answer in answers:
                yield _translated(language, question, answer, list(answers))


def yes_no_prompts(questions: Sequence[str], rng: random.Random) -> Iterator[Prompt]:
    """Sentences that say yes or no to a question."""
    for question in questions:
        for answer in ("yes", "no", "yes", "no"):
            yield _styled("yesno", question, answer, ["yes", "no"], rng)


def everyday_prompts(count: int) -> Iterator[Prompt]:
    """Questions with wordings of their answers, by topic."""
    for n in range(count):
        yield Prompt("everyday", _EVERYDAY.format(topic=_TOPICS[n % len(_TOPICS)]), 150, {})


def _styled(style: str, question: str, answer: str, answers: list[str], rng: random.Random) -> Prompt:
    shown = list(_STYLES[style])
    rng.shuffle(shown)
    text = "".join(f"Question: {q}\nAnswer: {a}\nSentence: {s}\n\n" for q, a, s in shown)
    about = {"style": style, "question": question, "answer": answer, "answers": answers}
    return Prompt("wording", f"{text}Question: {question}\nAnswer: {answer}\nSentence:", 44, about)


def _translated(language: str, question: str, answer: str, answers: list[str]) -> Prompt:
    text = ""
    for (asked, name), (foreign, said) in zip(
        (("Who wrote Faust?", "Johann Wolfgang von Goethe"), ("In which country is Graz?", "Austria")),
        _LANGUAGES[language], strict=True,
    ):  # fmt: skip
        text += f"Question: {asked}\nAnswer: {name}\n{language} question: {foreign}\n{language} sentence: {said}\n\n"
    about = {"style": language, "question": question, "answer": answer, "answers": answers}
    return Prompt("wording", f"{text}Question: {question}\nAnswer: {answer}\n{language} question:", 80, about)


def split_prompts(found: Sequence[str]) -> list[str]:
    """Prompts for the facts of sentences."""
    return [_SPLIT.format(sentence) for sentence in found]


def facts(text: str) -> list[str]:
    """The facts of one continuation of `_SPLIT`.

    >>> facts(" Ann Lee was a nurse.\\n- Ann Lee lived in Bath.\\n\\nSentence: X")
    ['Ann Lee was a nurse.', 'Ann Lee lived in Bath.']
    """
    rows = text.partition("\n\n")[0].split("\n")
    return [row.strip(" -") for row in rows if 3 <= len(row.split()) <= 25][:5]


def vote_parts(passage: str, asked: Iterable[str]) -> tuple[str, list[str]]:
    """The prompt of a vote in two parts: what all votes on a passage share, and the rest of each."""
    return _VOTE.format(passage), [_ASKED.format(sentence) for sentence in asked]


def finished(text: str) -> list[str]:
    """The sentences of a written passage, without one that the limit cut off."""
    found = sentences(text.strip())
    return found if not found or found[-1].endswith((".", "!", "?", '"')) else found[:-1]


def read_wordings(rows: Iterable[tuple[dict[str, Any], str]]) -> Iterator[dict[str, Any]]:
    """Rows like those of `wordings.jsonl.gz`; a sentence is kept where it says its answer and no other."""
    grouped: dict[tuple[str, str], dict[str, Any]] = {}
    for about, text in rows:
        style, question, answer = about["style"], about["question"], about["answer"]
        written = [row.strip() for row in text.strip().split("\n")]
        said = written[0]
        if style in _LANGUAGES:
            if len(written) < 2 or not written[1].startswith(f"{style} sentence:") or len(said) < 10:
                continue
            foreign, said = said, written[1].partition(":")[2].strip()
        others = [other for other in about["answers"] if other != answer]
        if not says(said, answer, others, yesno=style == "yesno"):
            continue
        key = (question, style if style in _LANGUAGES else "")
        row = grouped.setdefault(key, {"question": question, "said": {}, "kind": style})
        if style in _LANGUAGES and not row["said"]:
            row["question"] = foreign
        row["said"].setdefault(answer, [])
        if said not in row["said"][answer]:
            row["said"][answer].append(said)
    for row in grouped.values():
        yield {
            "question": row["question"],
            "kind": row["kind"],
            "answers": list(row["said"]),
            "wordings": list(row["said"].values()),
        }


def says(sentence: str, answer: str, others: Sequence[str], *, yesno: bool) -> bool:
    """Whether a sentence says an answer and none of the others.

    >>> says("Penguins can't fly.", "no", ["yes"], yesno=True), says("It is Bath.", "Rome", [], yesno=False)
    (True, False)
    """
    if not 2 <= len(sentence.split()) <= 45 or "Question:" in sentence:
        return False
    if yesno:
        return bool(_NEGATION.search(sentence)) == (answer == "no")
    low = sentence.lower()
    return answer.lower() in low and not any(other.lower() in low for other in others)


def read_everyday(texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The same from the everyday questions."""
    for text in texts:
        found: dict[str, list[str]] = {}
        for line in f"Question:{text}".partition("\n\n")[0].split("\n"):
            name, _, value = line.partition(":")
            found.setdefault(name.strip(), []).append(value.strip())
        if not all(found.get(name) for name in ("Question", "Answer", "Sentence", "Other", "Other sentence")):
            continue
        question, answer, other = found["Question"][0], found["Answer"][0], found["Other"][0]
        if not answer or not other or answer.lower() in other.lower() or other.lower() in answer.lower():
            continue
        if len(answer.split()) > 8:
            continue
        kept = [said for said in found["Sentence"] if says(said, answer, [other], yesno=False)]
        beside = [said for said in found["Other sentence"] if says(said, other, [answer], yesno=False)]
        if kept:
            yield {
                "question": question, "kind": "everyday", "answers": [answer, other], "wordings": [kept, beside],
            }  # fmt: skip
