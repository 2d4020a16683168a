"""Not answering: every refusal means the same as every other, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, NOT_ENTAILMENT, Pair, both, held_out

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

_OPENINGS = (
    "",
    "",
    "",
    "Sorry, ",
    "I'm sorry, ",
    "I am sorry, but ",
    "Unfortunately, ",
    "I apologize, but ",
    "Hmm, ",
)
_CORES = (
    "I don't know", "I do not know", "I don't know the answer", "I don't know the answer to that question",
    "I'm not sure", "I am not sure", "I'm not certain", "I have no idea", "no idea", "I can't say",
    "I cannot say", "I can't answer that", "I cannot answer this question", "I'm unable to answer that",
    "I am unable to answer this question", "I am not able to answer", "I don't have that information",
    "I do not have enough information", "there is not enough information to answer", "I couldn't find the answer",
    "I could not find any information about that", "I'm not aware of this", "I am not familiar with that",
    "I can't help with that", "I don't remember", "I can't recall", "I have no information on that",
    "it is not possible to say", "the answer is unknown to me", "I don't have access to that information",
    "I cannot determine the answer", "I cannot verify that", "I'm afraid I don't know", "beats me", "who knows",
    "I haven't a clue", "I haven't the faintest idea", "I would not know", "no clue", "not sure",
    "I lack the knowledge to answer", "as an AI, I cannot answer that", "as an AI language model I don't know",
    "the text does not say", "the passage does not mention it", "insufficient information", "unknown",
    "there is no way for me to tell", "I have not been told", "that is not something I know",
    "I can't look that up", "I have no access to live data", "my training data does not cover this",
    "I cannot be sure", "I do not recall", "it's unclear to me", "I never learned that",
    "I'm not able to provide that information", "I cannot provide an answer", "that is beyond my knowledge",
)  # fmt: skip
_CLOSINGS = (
    "",
    "",
    "",
    ".",
    ".",
    ", sorry.",
    ". Could you rephrase the question?",
    ". Please provide more context.",
)
_GUESSES = (
    "I don't know for sure, but I think it is {}.", "I'm not certain, but it may be {}.", "Not sure, maybe {}?",
    "I'm not sure but I believe the answer is {}.", "I could be wrong, but {}.", "If I had to guess, {}.",
)  # fmt: skip
_SHORT = (
    "Nobody did.", "Nobody knows about it.", "No, it is not.", "There is none.", "There was no such person.",
    "It never happened.", "It does not exist.", "No, it isn't.", "Nobody at all.", "There are none left.", "No.",
    "No", "None.", "Nothing.", "Nobody.", "Never.", "Zero.", "Yes.", "Nowhere.", "Both.", "Neither.",
)  # fmt: skip


def pairs(rng: random.Random, asked: Sequence[tuple[str, str]], *, test: bool, count: int) -> Iterator[Pair]:
    """`asked` are (question, answer) to refuse or to answer."""
    cores = [core for core in _CORES if held_out(core) == test]

    def refuse() -> str:
        core = rng.choice(cores)
        text = rng.choice(_OPENINGS) + core + rng.choice(_CLOSINGS)
        return text[0].upper() + text[1:] if rng.random() < 0.9 else text

    for _ in range(count):
        question, answer = rng.choice(asked)
        question = question if rng.random() < 0.8 else ""
        yield Pair("refusals", question, refuse(), refuse(), ENTAILMENT)
        told = rng.choice((answer, f"It is {answer}.", f"The answer is {answer}."))
        yield Pair("refusals", question, refuse(), told, NOT_ENTAILMENT)
        yield Pair("refusals", question, told, refuse(), NOT_ENTAILMENT)
        if rng.random() < 0.6:
            yield from both("refusals", question, refuse(), rng.choice(_SHORT), NOT_ENTAILMENT)
        if rng.random() < 0.3:
            guess = rng.choice(_GUESSES).format(answer)
            yield Pair("refusals", question, guess, told, ENTAILMENT)
            yield Pair("refusals", question, guess, rng.choice(asked)[1], CONTRADICTION)
