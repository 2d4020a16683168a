"""The tables of the page on providers, made by asking the emulator of each."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from semtropy import check
from semtropy.testing import EmulatedEndpoint, emulate
from semtropy.testing.providers import BY_NAME

__all__ = ["provider_commands", "provider_table"]

QUESTION = "What is the capital of France?"
TITLES = {
    "openai": "OpenAI, chat",
    "openai-reasoning": "OpenAI, reasoning models",
    "anthropic": "Anthropic",
    "anthropic-no-temperature": "Anthropic, models without a temperature",
    "gemini": "Gemini",
    "ollama": "Ollama",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llama.cpp": "llama.cpp",
    "placeholder-zeros": "an endpoint that sends 0.0 for every token, as DeepSeek's",
    "placeholder-9999": "an endpoint that sends -9999 for every token",
}


@dataclass(frozen=True, slots=True)
class Observed:
    """What asking one endpoint showed."""

    together: bool
    logprobs: str
    temperature: float
    refused: int
    samples: int


def observe(endpoint: EmulatedEndpoint) -> Observed:
    """Ask the endpoint for samples and for a verdict on a question that it always answers the same."""
    with closing(endpoint.model()) as model:
        answer = model.sample(QUESTION, 1, temperature=0.1)[0]
        model.sample(QUESTION, 3)
        refused = sum(endpoint.provider.refusal(body) is not None for body in endpoint.requests)
        before = len(endpoint.requests)
        samples = model.sample(QUESTION, 3)
        together = len(endpoint.requests) == before + 1
        verdict = check(QUESTION, model=model, judge="exact", rng=1)
    kind = "none"
    if samples[0].logprob is not None:
        kind = "of the whole answer"
    elif samples[0].token_logprobs is not None:
        kind = "without the end"
    return Observed(together, kind, answer.temperature or 0.0, refused, verdict.samples)


def provider_table() -> str:
    """What each provider gives."""
    rows = [
        "| provider | answers per request | log-probabilities | the answer is drawn at | requests refused before "
        "the first answers | samples for a steady verdict |",
        "|---|---|---|---|---|---|",
    ]
    for name, title in TITLES.items():
        # Not quite certain: a log-probability of exactly 0 is a placeholder.
        with emulate(name, {"Paris": 0.999, "Lyon": 0.001}) as endpoint:
            seen = observe(endpoint)
        cells = [title, "several" if seen.together else "one", seen.logprobs, f"{seen.temperature:g}"]
        rows.append("| " + " | ".join([*cells, str(seen.refused), str(seen.samples)]) + " |")
    return "\n".join(rows)


def provider_commands() -> str:
    """A command for each provider that has an address of its own."""
    lines = ["```sh"]
    for name, title in TITLES.items():
        provider = BY_NAME[name]
        if name.startswith("placeholder"):
            continue
        key = "OPENAI_API_KEY=your-key " if provider.base_url.startswith("https:") else ""
        url = "" if "api.openai.com" in provider.base_url else f" --base-url {provider.base_url}"
        lines += [f"# {title}", f'{key}semtropy check "{QUESTION}" --model openai:{provider.example}{url}']
    return "\n".join([*lines, "```"])
