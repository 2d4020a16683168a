"""Emulators of the endpoints that people use, on loopback, for tests without a network or a key.

Each behaves as its documentation and the issues of its users describe: what it refuses and in which words, how many
answers it gives at once, and which log-probabilities. Its answers are drawn from a distribution that you choose.
"""

from __future__ import annotations

from .emulator import EmulatedEndpoint, emulate
from .providers import BY_NAME

__all__ = ["PROVIDERS", "SENTENCES", "EmulatedEndpoint", "emulate"]

PROVIDERS = tuple(BY_NAME)
"""The names of the providers that `emulate` knows."""

_WORDINGS = {
    "What is the capital of Australia?": (
        "The capital of Australia is Canberra.",
        "Canberra is the capital of Australia.",
        "Australia's capital city is Canberra.",
        "It is Canberra, which became the capital in 1913.",
    ),
    "Who wrote Faust?": (
        "Faust was written by Johann Wolfgang von Goethe.",
        "Johann Wolfgang von Goethe wrote Faust.",
        "The author of Faust is the German poet Johann Wolfgang von Goethe.",
        "Johann Wolfgang von Goethe",
    ),
    "Can penguins fly?": (
        "No, penguins cannot fly.",
        "Penguins can't fly.",
        "No, penguins do not fly.",
        "No. Penguins are birds that are unable to fly.",
    ),
    "How many legs does a spider have?": (
        "A spider has eight legs.",
        "Spiders have 8 legs.",
        "Spiders have eight legs, unlike insects.",
        "It has eight legs.",
    ),
}


SENTENCES = {
    question: {wording: 1 / len(wordings) for wording in wordings} for question, wordings in _WORDINGS.items()
}
"""Four questions, and the answer of a model that is sure of it in four equally likely wordings.

`emulate("vllm", SENTENCES.__getitem__)` serves them.
"""
