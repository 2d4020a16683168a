"""The requests made for one question, as a generator without I/O; engines run it locally or on a cluster.

`question_steps` yields requests, is sent their results, and returns the row of the recording. A batch of questions is
a batch of these generators, advanced together so that requests of the same kind share one call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...samples import without_certainty

if TYPE_CHECKING:
    from ...nouns import Question, Sample


# The two prompts of the Nature paper: the brief-answer prompt and the few-shot P(True) prompt.
#
# P(True) asks whether the model holds its own answer true. Each training question is shown with the answers the model
# gave, one of them as the possible answer, and whether that one was right. The score is the probability that the
# model continues a new question with "A" (True).


INSTRUCTION = "Answer the following question as briefly as possible."
TRUE, FALSE = " A", " B"
BRAINSTORMED = 10  # sampled answers shown besides the judged one, as in the Nature paper


@dataclass(frozen=True, slots=True)
class BriefPrompt:
    """The brief-answer prompt. It ends where the answer begins; an answer ends at the end of its line.

    >>> from semtropy.nouns import Question
    >>> shots = (Question("1", "What is the capital of Peru?", references=("Lima",)),)
    >>> print(BriefPrompt(shots).ask(Question("2", "Who wrote Emma?")))
    Answer the following question as briefly as possible.
    Question: What is the capital of Peru?
    Answer: Lima
    <BLANKLINE>
    Question: Who wrote Emma?
    Answer:
    """

    examples: tuple[Question, ...] = ()
    with_context: bool = False
    instruction: str = INSTRUCTION

    @property
    def head(self) -> str:
        """What the prompts of all questions begin with."""
        shots = "".join(
            f"{self.pose(shot)} {one_line(shot.references[0])}\n\n"
            for shot in self.examples
            if shot.references
        )
        return f"{self.instruction}\n{shots}"

    def ask(self, question: Question) -> str:
        """The whole prompt for one question."""
        return self.head + self.pose(question)

    def pose(self, question: Question) -> str:
        """The question alone, up to where its answer begins."""
        about = f"Context: {question.context}\n" if self.with_context and question.context else ""
        return f"{about}Question: {one_line(question.text)}\nAnswer:"


def one_line(text: str) -> str:
    """The text on one line; a line break would end a question or an answer early.

    >>> one_line("a\\n b ")
    'a b'
    """
    return " ".join(text.split())


def p_true_prompt(examples: Sequence[str], question: Question, answer: str, others: Sequence[str]) -> str:
    """The prompt that the model continues with " A" if it holds `answer` true.

    >>> from semtropy.nouns import Question
    >>> print(p_true_prompt([], Question("1", "Who wrote Emma?"), "Austen", ["Jane Austen", "Eliot"]))
    Question: Who wrote Emma?
    Brainstormed Answers: Austen
    Jane Austen
    Eliot
    Possible answer: Austen
    Is the possible answer:
    A) True
    B) False
    The possible answer is:
    """
    brainstormed = "\n".join(one_line(text) for text in (answer, *others[:BRAINSTORMED]))
    asked = (
        f"Question: {one_line(question.text)}\nBrainstormed Answers: {brainstormed}\n"
        f"Possible answer: {one_line(answer)}\n"
        "Is the possible answer:\nA) True\nB) False\nThe possible answer is:"
    )
    return p_true_prefix(examples) + asked


def p_true_prefix(examples: Sequence[str]) -> str:
    """What the prompts of all questions begin with."""
    return "".join(f"{example}\n\n" for example in examples)


def worked_example(question: Question, answer: str, others: Sequence[str], correct: bool) -> str:
    """A training question followed by the correct reply."""
    return p_true_prompt([], question, answer, others) + (TRUE if correct else FALSE)


@dataclass(frozen=True, slots=True)
class DrawSamples:
    """Draw `n` samples. Reply: a list of `Sample`.

    shared  what the prompts of all questions begin with, to be read once
    """

    prompt: str
    n: int
    temperature: float
    seed: int
    shared: str = ""


@dataclass(frozen=True, slots=True)
class WeighContinuation:
    """The probability of a continuation. Reply: a number, or None where it is unknown.

    shared  what the prompts of all questions begin with, to be read once
    """

    prompt: str
    continuation: str
    seed: int
    shared: str = ""


@dataclass(frozen=True, slots=True)
class GradeAnswer:
    """Grade an answer. Reply: True, False, or None for ungraded."""

    question: Question
    answer: str


@dataclass(frozen=True, slots=True)
class GroupMeanings:
    """Group answers by meaning. Reply: the number of a meaning for each text."""

    question: str
    texts: tuple[str, ...]


Request = DrawSamples | WeighContinuation | GradeAnswer | GroupMeanings
QuestionSteps = Generator[Request, Any, dict[str, Any]]


@dataclass(frozen=True)
class GenerationPlan:
    """How every question is answered. Two runs with the same plan and model give the same recording.

    prompt              the prompt template with its examples
    samples             samples per question
    temperature         of the samples
    answer_temperature  of the judged answer
    seed                of all draws
    grader              name of a grader
    judge               name of a judge that groups meanings in the same run; None leaves that to `semtropy cluster`
    p_true              worked examples of P(True); None leaves P(True) out

    >>> GenerationPlan(samples=20, judge="numeric").temperature
    1.0
    """

    prompt: BriefPrompt = field(default_factory=BriefPrompt)
    samples: int = 100
    temperature: float = 1.0
    answer_temperature: float = 0.1
    seed: int = 10
    grader: str = "f1"
    judge: str | None = None
    p_true: tuple[str, ...] | None = None


def seed_of(seed: int, *parts: str) -> int:
    """The seed of one use of one question; it depends on nothing else, such as the order of questions.

    >>> seed_of(10, "q1", "samples")
    1825864286960446
    """
    digest = hashlib.sha256("\0".join([str(seed), *parts]).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 11  # 53 bits: JSON readers keep them exactly


def question_steps(question: Question, index: int, plan: GenerationPlan) -> QuestionSteps:
    """The requests that answer one question; returns its row, with `index` as its place in the recording."""
    prompt = plan.prompt.ask(question)
    seeds = {use: seed_of(plan.seed, question.id, use) for use in ("answer", "samples", "p_true")}
    answer: Sample = (yield DrawSamples(prompt, 1, plan.answer_temperature, seeds["answer"]))[0]
    samples: list[Sample] = yield DrawSamples(prompt, plan.samples, plan.temperature, seeds["samples"])
    if plan.temperature == 1.0:  # below, a probability may well be 1 to the last digit
        samples = [without_certainty(sample) for sample in samples]
    correct: bool | None = yield GradeAnswer(question, answer.text)
    row: dict[str, Any] = {
        "id": question.id,
        "index": index,
        "question": question.text,
        "context": question.context,
        "references": list(question.references),
        "answer": {
            **as_fields(answer),
            **(_as_evidence(answer) if plan.temperature == 1.0 else {}),
            "temperature": plan.answer_temperature if answer.temperature is None else answer.temperature,
            "correct": correct,
        },
        "samples": [as_fields(sample) for sample in samples],
        "seeds": seeds,
    }
    if plan.p_true is not None:
        others = [sample.text for sample in samples[:BRAINSTORMED]]
        about = p_true_prompt(plan.p_true, question, answer.text, others)
        row["p_true"] = yield WeighContinuation(about, TRUE, seeds["p_true"], p_true_prefix(plan.p_true))
    else:
        del seeds["p_true"]
    if plan.judge is not None:
        texts = (answer.text, *(sample.text for sample in samples))
        meanings: Sequence[int] = yield GroupMeanings(question.text, texts)
        for fields, meaning in zip((row["answer"], *row["samples"]), meanings, strict=True):
            fields["meaning"] = int(meaning)
    return row


def rehearsal_steps(question: Question, plan: GenerationPlan) -> QuestionSteps:
    """The requests that answer a training question for a worked example of P(True).

    The head of the prompt is read once for all of them. Questions of the recording read it each time: llama.cpp rounds
    differently otherwise, and the same seed would no longer give the samples of earlier recordings.
    """
    prompt, head = plan.prompt.ask(question), plan.prompt.head
    seeds = [seed_of(plan.seed, question.id, use) for use in ("rehearsal answer", "rehearsal")]
    answer: Sample = (yield DrawSamples(prompt, 1, plan.answer_temperature, seeds[0], head))[0]
    others = yield DrawSamples(prompt, BRAINSTORMED, plan.temperature, seeds[1], head)
    correct = yield GradeAnswer(question, answer.text)
    return {"answer": answer.text, "others": [sample.text for sample in others], "correct": correct}


def _as_evidence(answer: Sample) -> dict[str, Any]:
    """The answer's log-probability and token entropies under the distribution of the samples, where known."""
    fields: dict[str, Any] = {}
    answer = without_certainty(answer)
    known = answer.prefix_logprob if answer.sampling_logprob is None else answer.sampling_logprob
    if known is not None:  # the header's eos_included says which of the two it is
        fields["sampling_logprob"] = round(known, 6)
    if answer.pieces is not None:
        fields["token_texts"] = [text for text, _ in answer.pieces]
        fields["sampling_token_logprobs"] = [round(value, 6) for _, value in answer.pieces]
    if answer.token_entropies is not None:
        fields["token_entropies"] = [round(value, 5) for value in answer.token_entropies]
    return fields


def as_fields(sample: Sample) -> dict[str, Any]:
    """A sample as a recording stores it: unknown fields left out, log-probabilities rounded to six decimals."""
    fields: dict[str, Any] = {"text": sample.text}
    if sample.logprob is not None:
        fields["logprob"] = round(sample.logprob, 6)
    if sample.tokens is not None:
        fields["tokens"] = list(sample.tokens)
    if sample.token_logprobs is not None:
        fields["token_logprobs"] = [round(value, 6) for value in sample.token_logprobs]
    if sample.token_count is not None and sample.token_count != len(sample.tokens or ()):
        fields["token_count"] = sample.token_count
    if not sample.complete:
        fields["complete"] = False
    return fields
