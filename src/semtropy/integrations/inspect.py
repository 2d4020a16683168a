"""inspect_ai: a scorer, `--scorer semtropy/semantic_entropy`, that samples with the model under evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import needs
from ..models.replies import chat_sample
from ..verdict import score_reason
from .bridge import Bridge

with needs("inspect_ai", extra="inspect"):
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.scorer import Score, mean, scorer, stderr

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..nouns import Sample

__all__ = ["semantic_entropy"]


@scorer(metrics=[mean(), stderr()])
def semantic_entropy(
    max_samples: int = 10, judge: str | None = None, threshold: float | None = None
) -> Callable[..., Any]:
    """The probability that an answer deserves no flag, from 0 to 1; unscored where it is unknown.

    max_samples  the most samples of an answer
    judge        compares answers; default the built-in one
    threshold    flag above this entropy in nats; default log 2
    """
    given = {"judge": judge, "threshold": threshold}
    bridge = Bridge(
        max_samples=max_samples, **{name: each for name, each in given.items() if each is not None}
    )

    async def score(state: Any, target: Any) -> Any:
        model, answer = get_model(), state.output.completion
        asked = _before_answer(state.messages)
        if not answer.strip() or not asked:
            return Score.unscored(answer=answer, explanation="there is no answer to judge")

        async def ask(messages: list[dict[str, Any]], n: int, temperature: float) -> list[Sample]:
            settings = GenerateConfig(num_choices=n, temperature=1.0, top_p=1.0, logprobs=True)
            output = await model.generate(asked, config=settings, cache=False)
            return [_sample(choice) for choice in output.choices]

        prompt = [{"role": message.role, "content": message.text} for message in asked]
        verdict = await bridge.acheck(prompt, answer=answer, ask=ask)
        about = {"answer": answer, "explanation": score_reason(verdict), "metadata": verdict.to_dict()}
        return Score.unscored(**about) if verdict.score is None else Score(value=verdict.score, **about)

    return score


def _before_answer(messages: list[Any]) -> list[Any]:
    """The conversation up to the last answer."""
    ends = [place for place, message in enumerate(messages) if message.role == "assistant"]
    return messages[: ends[-1]] if ends else list(messages)


def _sample(choice: Any) -> Sample:
    logprobs = choice.logprobs
    content = [] if logprobs is None else [entry.model_dump() for entry in logprobs.content]
    made = {"message": {"content": choice.message.text}, "finish_reason": choice.stop_reason}
    return chat_sample({**made, "logprobs": {"content": content} if content else None})
