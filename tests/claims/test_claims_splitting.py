"""The claims of a text: what is one, what is none, and where each lies."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.claims import split
from semtropy.claims.splitting import sentences

PIECES = st.sampled_from(
    ["He was born in 1901. ", "Dr. J. R. Hall ", "- item\n", "# Title\n", "| a | b |\n", "|---|---|\n", "```\n",
     "Who? ",      "彼は学者です。", "عاش في مصر. ", "\n\n", "2.5 ", "(", ")", "\t", "\r\n", "U.S. ", "etc. ",
     "  ", "> ", "\u2028", "…"]
)  # fmt: skip


def texts(text: str) -> list[str]:
    return [claim.text for claim in split(text)]


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=200))
def test_claims_lie_in_the_text_in_order(text: str) -> None:
    end = 0
    for claim in split(text):
        assert end <= claim.start < claim.end <= len(text)
        end = claim.end
        if "|" not in text and "\t" not in text:  # rows of tables are written out
            assert claim.text == " ".join(text[claim.start : claim.end].split())
        assert any(letter.isalnum() for letter in claim.text)


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Timothy W. Finchem was born in 1947. He led the tour.", 2),
        ("She took vitamin C. It helped. The U.S. In 1903 agreed.", 4),
        ("It is 3.14 metres, i.e. about 10 ft. in all, vs. Dr. No's 4.", 1),
        ("Acme Inc. was founded in 1901 by J.R.R. Tolkien Jr. in Ohio.", 1),
        ("He (b. 1920. d. 1999) was tall. She was not.", 2),
        ('He said "I did it." Then he left.', 2),
        ("Er kam am 3. Oktober an. Sie blieb.", 2),
        ("彼は学者です。東京に住む！", 2),
        ("वह एक लेखक था। वह दिल्ली में रहता था।", 2),
        ("وُلد في القاهرة. عاش في مصر.", 2),
        ("Wait... what he said was fine. Yes, he did that.", 2),
    ],
)
def test_sentences_end_where_readers_say(text: str, claims: int) -> None:
    assert len(split(text)) == claims, texts(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "   \n", "Hello there!", "Sure! I hope this helps.", "Is it so?", "彼は学者ですか？", "# Heading",
        "**Early life**", "Here is a paragraph bio of Ada:", "Let me know if you have any other questions.",
        "```python\nx = 1\n```", "def f(x):\n    y = 2 * x\n    return y\n", "Title\n=====\n", "---", "...",
        "I'm sorry, I can't help with that.",
    ],
)  # fmt: skip
def test_what_makes_no_claim(text: str) -> None:
    assert split(text) == []


def test_lists_tables_and_headings() -> None:
    answer = (
        "Here are the facts:\n\n## Prizes\n\nShe won:\n1. Physics (1903)\n2. **Chemistry**: in 1911\n\n"
        "| Year | City |\n|---|---|\n| 1867 | Warsaw |\n| 1934 | Passy |\n\nLegacy\n\nShe is remembered.\n"
    )
    found = split(answer)
    assert [claim.text for claim in found] == [
        "Physics (1903)",
        "**Chemistry**: in 1911",
        "Year: 1867; City: Warsaw",
        "Year: 1934; City: Passy",
        "She is remembered.",
    ]
    assert [claim.lead for claim in found[:3]] == ["She won:", "She won:", None]
    assert answer[found[2].start : found[2].end] == "| 1867 | Warsaw |"


def test_short_lines_are_claims_where_there_is_nothing_else() -> None:
    assert texts("Paris") == ["Paris"]
    assert texts("Rome\n\nParis\n") == ["Rome", "Paris"]


def test_sentences_keeps_questions() -> None:
    assert sentences("Who is he? He is Ada's son.") == ["Who is he?", "He is Ada's son."]


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        "He was born in 1920 in the U.S. and died. ",
        "a.b. ",
        ". ",
        "(",
        "|",
        "- ",
        "`",
        "'",
        "x= ",
        "1) ",
        "<a",
        "**",
    ],
)
def test_time_grows_with_the_length_only(unit: str) -> None:
    short, long = unit * 2_000, unit * 16_000
    begin = time.process_time()
    split(short)
    first = time.process_time() - begin
    begin = time.process_time()
    split(long)
    assert time.process_time() - begin < 40 * max(
        first, 0.02
    )  # 8 times the text; quadratic would be 64 times


def test_twenty_thousand_words_and_three_hundred_items() -> None:
    assert len(split("He was born in 1920 in the city of York. " * 2_000)) == 2_000
    assert len(split("".join(f"- item number {n}\n" for n in range(300)))) == 300
