"""Which questions ask for a paragraph, and what a completion model gets then."""

from __future__ import annotations

import pytest

from semtropy.models.prompt_template import HEAD, LONG_HEAD, asks_for_long, brief_prompt


@pytest.mark.parametrize(
    "prompt",
    [
        "Write a paragraph about cats.",
        "Tell me a paragraph bio of Ada Lovelace.",
        "Provide me with a paragraph detailing some facts related to Haute-Corse.",
        "Explain photosynthesis.",
        "Can you describe the water cycle?",
        "Summarise the plot of Hamlet in three sentences.",
        "Biography of Marie Curie",
    ],
)
def test_questions_that_ask_for_a_paragraph(prompt: str) -> None:
    assert asks_for_long(prompt)
    assert asks_for_long([{"role": "system", "content": "Be kind."}, {"role": "user", "content": prompt}])
    assert brief_prompt(prompt) == f"{LONG_HEAD}Question: {prompt}\nAnswer:"


@pytest.mark.parametrize(
    "prompt",
    [
        "Who wrote the biography of Steve Jobs?",
        "What is the capital of France?",
        "What does the word describe mean?",
        "Which story did he write in 1912?",
        "",
    ],
)
def test_questions_that_ask_for_a_few_words(prompt: str) -> None:
    assert not asks_for_long(prompt)
    assert brief_prompt(prompt).startswith(HEAD)


def test_the_example_is_one_line() -> None:
    assert LONG_HEAD.count("\n\n") == 2
    assert len(LONG_HEAD.split("Answer: ")[1].strip().splitlines()) == 1
