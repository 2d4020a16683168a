"""Emulators of the endpoints that people use, on loopback, for tests without a network or a key.

Each behaves as its documentation and the issues of its users describe: what it refuses and in which words, how many
answers it gives at once, and which log-probabilities. Its answers are drawn from a distribution that you choose.
"""

from __future__ import annotations

from .emulator import EmulatedEndpoint, emulate
from .providers import BY_NAME

__all__ = ["PROVIDERS", "EmulatedEndpoint", "emulate"]

PROVIDERS = tuple(BY_NAME)
"""The names of the providers that `emulate` knows."""
