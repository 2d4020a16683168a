"""What a sentence answers: yes or no, or what it adds to the question's words."""

from __future__ import annotations

import pytest

from semtropy.meaning import cluster
from semtropy.meaning.answers import bare_answer, polarity, same_answer, without_form
from semtropy.meaning.builtin import Builtin

WHO = "Who wrote Faust?"
FLY = "Do penguins fly?"
SEATS = "A wheel has 2 seats for 14 people each. How many people can ride it?"


@pytest.mark.parametrize(
    ("question", "sentence", "answer"),
    [
        (WHO, "Faust was written by Johann Wolfgang von Goethe.", "Johann Wolfgang von Goethe"),
        (WHO, "I think Goethe wrote it.", "Goethe"),
        ("What is the capital of France?", "The capital of France is Paris.", "Paris"),
        ("What is the capital of France?", "Paris is the capital of France.", "Paris"),
        ("Which port does HTTPS use?", "HTTPS uses port 443.", "443"),
        ("When did the Berlin Wall fall?", "The Berlin Wall fell in 1989.", "1989"),
        ("How many grams are in a kilogram?", "There are one thousand grams in a kilogram.", "1000"),
        ("How do I list hidden files?", "Use `ls -a`.", "ls -a"),
        ("How much memory does it need?", "You need a minimum of four gigabytes.", "4 GB"),
        ("How long does it take?", "It takes between 7 and 9 hours.", "7-9 hours"),
        ("How do I copy?", "Press Command + C.", "Command-C"),
        ("How do I copy?", "You copy with Cmd+C.", "⌘C"),
        ("Which command lists files?", "ls", "`ls` command"),
        ("Which city is the largest in the US?", "New York", "New York City"),
        ("How do I reopen a tab?", "Ctrl+Shift+T", "Press Shift + Control + T."),
        ("When does it open?", "The shop opens at 9 am.", "09:00"),
        ("When did she arrive?", "She came in May 2004.", "in 2004"),
        ("Who did Cora marry?", "Cora married Henry.", "Henry"),
        ("Who was the first emperor of Rome?", "Augustus was the first emperor of Rome.", "Augustus"),
        (SEATS, "Each of the 2 seats holds 14 people, so 2 * 14 = 28 people can ride.", "28"),
        (SEATS, r"It can hold a total of $2 \times 14 = 28$ people.", r"They hold \(2 \times 14 = 28\)."),
        (SEATS, "2 + 14 = 16 and 16 + 12 = 28 people can ride it.", "28 people"),
        ("Ann has 9 pens and Bob 4. How many more has Ann?", "Ann has 9 - 4 = 5 more.", "She has 5 more."),
    ],
)
def test_a_sentence_and_its_bare_answer_are_one(question: str, sentence: str, answer: str) -> None:
    assert same_answer(question, sentence, answer)
    assert same_answer(question, answer, sentence)


@pytest.mark.parametrize(
    ("question", "a", "b"),
    [
        ("Who beat Brazil?", "Germany", "Brazil beat Germany."),
        ("Who did Germany beat?", "Brazil", "Brazil beat Germany."),
        ("Which team was beaten by Brazil?", "Germany", "Brazil was beaten by Germany."),
        (WHO, "Goethe", "Faust was not written by Goethe."),
        (WHO, "Goethe", "Faust was written after Goethe."),
        (WHO, "Goethe", "Faust was written by Goethe or Schiller."),
        (WHO, "Goethe", "Faust was written by Goethe in Weimar."),
        (WHO, "Goethe", "Schiller"),
        ("Which law was it?", "Law", "Law of Conservation"),
        ("What is the state of New York?", "New York", "state"),
        ("How many of the 5 teams won?", "12", "5 of 12"),
        (SEATS, "28", "There are 2 seats and each holds 14 people."),
        (SEATS, "28", "2 * 14 = 28 and 2 more stand, so 30 people can ride it."),
        ("What is the name of Quixote's horse?", "Sancho", "Sancho's horse."),
        ("Who won, Italy or France?", "Italy", "Italy beat France."),
        ("When was the treaty signed?", "1919", "In the spring of 1919."),
        ("On which day did she arrive?", "in 2004", "She came in May 2004."),
        ("How many people came?", "50", "More than 50 people came."),
        ("How many people came?", "50", "50 or 60 people came."),
        ("What is it?", "It is a + b.", "a - b"),
        ("Is it red or blue?", "Yes", "Yes, red."),
        ("Isn't it late?", "No", "No, it isn't."),
        ("What is the capital?", "No", "No, Paris."),
        (FLY, "Yes", "Yes, but only downhill."),
        ("Is the Nile longer than the Rhine?", "Yes", "The Rhine is longer than the Nile."),
        ("Did Germany beat Brazil?", "Yes", "Brazil beat Germany."),
    ],
)
def test_what_is_not_certain_is_left_to_the_network(question: str, a: str, b: str) -> None:
    assert same_answer(question, a, b) is None
    assert same_answer(question, b, a) is None


def test_an_instruction_after_the_question_changes_nothing() -> None:
    told = "Do penguins fly? Answer in one sentence."
    assert same_answer(told, "Penguins can't fly.", "No, they do not fly.") is True
    assert same_answer(f"{WHO} Be brief.", "Goethe", "Faust was written by Goethe.") is True


def test_the_same_command_in_other_words() -> None:
    question, first = "How do I list hidden files?", "To list hidden files, use the `ls -a` command."
    assert same_answer(
        question, first, "Use the `ls` command followed by the `-a` option, which stands for all."
    )
    assert same_answer(question, first, "Do not use `ls -a`, it is slow.") is None
    assert same_answer(question, first, "Use `ls -l`.") is False


@pytest.mark.parametrize(
    ("question", "a", "b", "same"),
    [
        ("How long does it take?", "It takes 7 to 9 hours.", "7-9 minutes", False),
        ("How long does shipping take?", "3 to 5 business days", "Shipping takes two weeks.", False),
        ("How long does shipping take?", "3 to 5 business days", "It takes four days.", None),
        ("How much is it?", "It costs $20 a month.", "20 dollars monthly", True),
        ("How much is it?", "$20 per month", "It costs $20 a year.", False),
        ("How much is it?", "$20/month", "It is $240 per year.", True),
        ("What is the boiling point of water?", "100 °C", "It boils at 212 degrees Fahrenheit.", True),
        ("What is 15% of 80?", "12", "0.15 × 80 = 12", True),
        ("What is the boiling point in Fahrenheit?", "It is 212 degrees.", "It is 212°F.", True),
        ("What is the boiling point?", "It is 212°F (100°C).", "It boils at 212 degrees.", True),
        ("How tall is the tower?", "It is 324 m (1,063 ft) tall.", "It stands at 324 meters tall.", True),
        ("How tall is the tower?", "It is 324 m (984 ft) tall.", "It stands at 324 meters tall.", None),
    ],
)
def test_amounts(question: str, a: str, b: str, same: bool | None) -> None:
    assert same_answer(question, a, b) is same
    assert same_answer(question, b, a) is same


@pytest.mark.parametrize(
    ("question", "text", "says"),
    [
        (FLY, "No", False),
        (FLY, "No, penguins do not fly.", False),
        (FLY, "Penguins can't fly.", False),
        (FLY, "They cannot fly.", False),
        (FLY, "Yes, they do.", True),
        (FLY, "Penguins do fly.", True),
        (FLY, "No idea.", None),
        (FLY, "Penguins swim.", None),
        (FLY, "Yes, they don't walk.", True),
        (FLY, "Yes, they don't fly.", None),
        ("Darf man mit Fieber Sport treiben?", "Mit Fieber darf man keinen Sport treiben.", False),
        ("Darf man mit Fieber Sport treiben?", "Nein, man sollte ruhen.", False),
        ("Le paracétamol fait-il baisser la fièvre ?", "Oui.", True),
        ("Est-ce que la mer est calme ?", "Non, pas du tout.", False),
        ("¿Se puede pagar con tarjeta?", "Sí, claro.", True),
        ("What flies?", "No.", None),
        ("Is the Earth flat?", "Yes, the Earth is round.", None),
        ("Is the Earth flat?", "Yes, the Earth is relatively flat.", True),
        ("Is the Earth flat?", "Yes, it is, indeed.", True),
        ("Is the Earth flat?", "No, it is round.", False),
    ],
)
def test_polarity(question: str, text: str, says: bool | None) -> None:
    assert polarity(question, text) is says


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Use `ls -a`.", "ls -l"),
        ("It is O(log n).", "O(n)"),
        ("`git revert HEAD`", "git reset --soft HEAD~1"),
    ],
)
def test_other_code_is_another_answer(a: str, b: str) -> None:
    assert same_answer("How?", a, b) is False
    assert same_answer("How?", b, a) is False


def test_groups() -> None:
    texts = ["No", "No, penguins do not fly.", "Penguins can't fly.", "Yes, penguins fly.", "Penguins fly."]
    assert cluster(FLY, texts, Builtin()) == [0, 0, 0, 1, 1]


def test_a_question_of_a_long_prompt_is_its_last_sentence() -> None:
    prompt = "Context: Goethe lived in Weimar for many years. " * 40 + WHO
    assert bare_answer(prompt, "Faust was written by Goethe.") == "goethe"


@pytest.mark.parametrize("asked", ["who's", "what-if", "how's", "which/what"])
def test_an_interrogative_within_a_word_is_no_error(asked: str) -> None:
    question = f"So {asked} the author of Faust?"
    assert bare_answer(question, "The author of Faust wrote Goethe in Weimar.") is None
    assert same_answer(question, "Goethe", "The author of Faust was Goethe.") in (True, None)
    assert bare_answer(question, "Goethe wrote the Faust.") in ("goethe", "goethe wrote", None)


BOTH = "Can I take ibuprofen and paracetamol together?"


def test_a_caveat_leaves_yes_a_yes() -> None:
    texts = [
        "Yes, you can take ibuprofen and paracetamol together, but it's important to follow the recommended dosages.",
        "Yes, you can take ibuprofen and paracetamol together, but they should not be taken in excess.",
        "Yes.",
        "No, but you can take them one after the other.",
    ]
    assert [polarity(BOTH, text) for text in texts] == [True, True, True, False]
    assert polarity(BOTH, "Yes, but not on an empty stomach.") is None
    assert polarity(BOTH, "Yes, but only for a few days.") is None


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Whale sharks are fish.", "A whale shark is a fish, not a mammal.", True),
        ("A fish", "It is a mammal.", False),
        ("It is a fish, because it has gills.", "Fish", True),
        ("It is neither a fish nor a mammal.", "Fish", None),
        ("It is both a fish and a mammal.", "Fish", None),
    ],
)
def test_one_of_two_that_the_question_offers(a: str, b: str, same: bool | None) -> None:
    assert same_answer("Is a whale shark a fish or a mammal?", a, b) is same
    assert same_answer("Is a whale shark a fish or a mammal?", b, a) is same


def test_code_after_a_complete_answer_illustrates_it() -> None:
    code = "4 strings.\n\n```python\ndef strings():\n    return 4\n```"
    question = "How many strings does a violin have?"
    assert Builtin().entails([(question, code, "4 strings."), (question, "4 strings.", code)]).min() > 0.5
    assert Builtin().entails([(question, code, "5 strings.")])[0] < 0.5


@pytest.mark.parametrize(
    ("question", "a", "b", "same"),
    [
        ("Is Pluto a planet?", "No, Pluto is a dwarf planet.", "Pluto is a dwarf planet.", True),
        ("Is it safe, and why?", "No, they contain toxic solanine.", "They contain toxic solanine.", True),
        ("Is Pluto a planet?", "No, Pluto is a planet.", "Pluto is a planet.", False),
        ("Is Pluto a planet?", "No, Pluto is a dwarf planet.", "Pluto is a star.", None),
        ("Who was it?", "Yes, Ann.", "Ann", None),
    ],
)
def test_a_statement_with_and_without_its_yes_or_no(question: str, a: str, b: str, same: bool | None) -> None:
    assert same_answer(question, a, b) is same
    assert same_answer(question, b, a) is same


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("`git blame`", "`git blame filename`", True),
        ("Use `git blame path/to/file.txt`.", "`git blame <file>`", True),
        ("Use `git blame <file>`.", "Use `git log <file>`.", False),
        ("Use `cat notes.txt`.", "Use `cat`.", False),
    ],
)
def test_a_placeholder_adds_nothing_to_a_command(a: str, b: str, same: bool) -> None:
    question = "Which command shows who changed each line of a file?"
    assert (
        Builtin().entails([(question, a, b), (question, b, a)]).min() > 0.5
    ) == same  # one meaning needs both


def test_an_umlaut_may_be_spelled_out() -> None:
    question = "Was ist die größte Stadt der Schweiz?"
    same = [("Zürich", "Zuerich"), ("Die größte Stadt ist Zürich.", "Zuerich."), ("Tromsø", "Tromsoe")]
    both = [(question, *pair) for one, other in same for pair in ((one, other), (other, one))]
    assert Builtin().entails(both).min() > 0.5
    assert Builtin().entails([(question, "Zürich", "Bern"), (question, "Goethe", "Gothe")]).max() < 0.5


@pytest.mark.parametrize(
    ("question", "a", "b", "same"),
    [
        (
            "What does `git stash` do?",
            "`git stash` deletes your changes.",
            "`git stash` saves your changes.",
            None,
        ),
        (
            "Which `B` swam in `Jaws`?",
            "The shark in `Jaws` was Bruce.",
            "`Jaws` had a shark named Bait.",
            None,
        ),
        (
            "How do I undo `git add`?",
            "Run `git reset` to undo `git add`.",
            "To undo `git add`, use `git reset`.",
            True,
        ),
        (
            "How do I undo `git add`?",
            "Run `git reset` to undo `git add`.",
            "To undo `git add`, use `git rm`.",
            False,
        ),
    ],
)
def test_code_of_the_question_is_not_the_answer(question: str, a: str, b: str, same: bool | None) -> None:
    assert same_answer(question, a, b) is same


@pytest.mark.parametrize(
    "prompt",
    [
        "Hi! {} Thanks in advance.",
        "Question: {}\nAnswer:",
        "You are a helpful assistant. Be concise.\n\n{}",
        "{} Be brief.",
        "{} Please be concise and do not explain.",
        "I have a question: {}",
        "{} Keep it under 20 words.",
        "Answer the following question in one short sentence: {}",
        "{}\nAnswer in at most 15 words.",
        "Please answer briefly. {}",
        "{} (short answer)",
    ],
)
def test_how_to_answer_is_no_part_of_a_question(prompt: str) -> None:
    assert without_form(prompt.format(WHO)) == WHO


@pytest.mark.parametrize(
    "question",
    [
        "Thanks!",
        "Be brief.",
        "Translate: keep it short.",
        "Which is right, 3 or 4? Assume that x is 2.",
        "Who? He said no.",
    ],
)
def test_what_is_asked_is_kept(question: str) -> None:
    assert without_form(question) == question
