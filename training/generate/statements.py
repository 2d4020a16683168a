"""Statements and their opposites: negation, won and lost, who did what to whom, yes and no."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, Pair, both, held_out, one_way

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

# (active, its passive, its opposite, the converse): "A {active} B", "B {passive} A", "A {opposite} B", "B {converse} A"
_DEEDS = (
    ("beat", "was beaten by", "lost to", "lost to"), ("defeated", "was defeated by", "was defeated by", "lost to"),
    ("won against", "was beaten by", "lost against", "lost against"), ("killed", "was killed by", "saved", ""),
    ("wrote to", "received a letter from", "never wrote to", ""), ("taught", "was taught by", "learned from", ""),
    ("bought", "was bought by", "sold", ""), ("invaded", "was invaded by", "was invaded by", ""),
    ("succeeded", "was succeeded by", "preceded", "preceded"),
    ("followed", "was followed by", "preceded", "came before"),
    ("married", "was married by", "divorced", "married"), ("discovered", "was discovered by", "never discovered", ""),
    ("supported", "was supported by", "opposed", ""), ("married", "", "never married", "was married to"),
    ("is older than", "", "is younger than", "is younger than"),
    ("is larger than", "", "is smaller than", "is smaller than"),
    ("is north of", "", "is south of", "is south of"), ("came before", "", "came after", "came after"),
    ("is the parent of", "", "is the child of", "is the child of"), ("employs", "is employed by", "fired", "works for"),
    ("is heavier than", "", "is lighter than", "is lighter than"),
    ("owns", "is owned by", "does not own", "belongs to"),
    ("attacked", "was attacked by", "defended", ""), ("praised", "was praised by", "criticised", ""),
    ("founded", "was founded by", "closed", ""), ("outlived", "", "died before", "died before"),
    ("conquered", "was conquered by", "failed to conquer", "fell to"), ("borders", "", "does not border", "borders"),
)  # fmt: skip
# (a verb phrase, the same, the opposite)
_PHRASES = (
    ("won the election", "was elected", "lost the election"), ("won", "was victorious", "lost"),
    ("won the match", "was the winner of the match", "lost the match"), ("survived", "did not die", "died"),
    ("passed the exam", "did not fail the exam", "failed the exam"), ("is alive", "is not dead", "is dead"),
    ("was guilty", "was convicted", "was acquitted"),
    ("accepted the offer", "said yes to the offer", "rejected the offer"),
    ("increased", "went up", "decreased"), ("rose", "grew", "fell"),
    ("arrived late", "was not on time", "arrived on time"),
    ("succeeded", "did not fail", "failed"), ("is true", "is correct", "is false"), ("stayed", "did not leave", "left"),
    ("is legal", "is allowed", "is illegal"), ("finished first", "came first", "finished last"),
    ("was present", "attended", "was absent"), ("agreed", "said yes", "refused"), ("expanded", "got bigger", "shrank"),
    ("opened in spring", "was opened in spring", "closed in spring"), ("got married", "wed", "got divorced"),
    ("was built before the war", "was there before the war", "was built after the war"),
    ("started", "began", "ended"), ("gained weight", "put on weight", "lost weight"),
    ("is possible", "can be done", "is impossible"),
    ("remembered it", "did not forget it", "forgot it"), ("won the war", "was the victor in the war", "lost the war"),
    ("was rich", "had a lot of money", "was poor"), ("is hot", "is not cold", "is cold"),
    ("bought the house", "purchased the house", "sold the house"),
    ("turned left", "went left", "turned right"), ("went north", "headed north", "went south"),
    ("was the first", "came before all others", "was the last"), ("always agreed", "agreed every time", "never agreed"),
    ("likes it", "is fond of it", "dislikes it"), ("is a mammal", "belongs to the mammals", "is not a mammal"),
    ("is edible", "can be eaten", "is poisonous"), ("was born there", "came into the world there", "died there"),
)  # fmt: skip
_NEGATIONS = (
    ("won", "did not win"), ("wrote it", "did not write it"), ("was the first", "was not the first"),
    ("is in Europe", "is not in Europe"), ("has been there", "has never been there"), ("can swim", "cannot swim"),
    ("plays the piano", "does not play the piano"), ("was born in Vienna", "wasn't born in Vienna"),
    ("knew him", "didn't know him"), ("is the capital", "isn't the capital"), ("ever went there", "never went there"),
    ("will come", "will not come"), ("has a dog", "has no dog"), ("speaks French", "doesn't speak French"),
    ("is married", "is not married"), ("directed the film", "did not direct the film"),
    ("is a planet", "is not a planet"),
    ("lived in Rome", "never lived in Rome"), ("sang the song", "didn't sing the song"), ("is correct", "is incorrect"),
    ("is safe", "is unsafe"), ("was found", "was never found"), ("played for the team", "never played for the team"),
    ("is known", "is unknown"), ("was there", "was nowhere near"), ("is a vegetable", "is not a vegetable"),
    ("is visible from space", "is not visible from space"), ("causes cancer", "does not cause cancer"),
)  # fmt: skip
_YES = (
    "Yes", "Yes.", "Yes, it is.", "Yes, it does.", "Yes, that is correct.", "Correct.", "True.", "That is true.",
    "Indeed.",
    "Yes, definitely.", "That's right.", "Absolutely.", "Yes, he did.", "It is.", "Certainly.", "Of course.", "Yep",
)  # fmt: skip
_NO = (
    "No", "No.", "No, it is not.", "No, it doesn't.", "No, that is incorrect.", "Incorrect.", "False.",
    "That is false.",
    "Not at all.", "No, definitely not.", "That's wrong.", "Absolutely not.", "No, he did not.", "It is not.",
    "Nope", "No way.",
)  # fmt: skip
_SUBJECTS = ("He", "She", "It", "The team", "The company", "The king", "The town", "The price", "Our guide")


def pairs(rng: random.Random, names: Sequence[str], *, test: bool, count: int) -> Iterator[Pair]:
    """`names` stand for who does and who suffers; the split is by deed and phrase."""
    deeds = [deed for deed in _DEEDS if held_out(deed[0] + deed[2]) == test]
    phrases = [phrase for phrase in _PHRASES if held_out(phrase[0]) == test]
    negations = [phrase for phrase in _NEGATIONS if held_out(phrase[0]) == test]
    for _ in range(count):
        yield from _deed(rng.choice(deeds), *rng.sample(names, 3), rng)
        subject = rng.choice((*_SUBJECTS, rng.choice(names)))
        yield from _phrase(subject, rng.choice(phrases), rng)
        phrase, negated = rng.choice(negations)
        yield from both("negation", "", f"{subject} {phrase}.", f"{subject} {negated}.", CONTRADICTION)
        yield from _yes_no(f"{subject} {phrase}.", f"{subject} {negated}.", rng)


def _deed(deed: tuple[str, str, str, str], a: str, b: str, c: str, rng: random.Random) -> Iterator[Pair]:
    active, passive, opposite, converse = deed
    told = f"{a} {active} {b}."
    if passive:
        yield from both("roles", "", told, f"{b} {passive} {a}.", ENTAILMENT)
    if converse:
        yield from both("roles", "", told, f"{b} {converse} {a}.", ENTAILMENT)
    yield from both("antonyms", "", told, f"{a} {opposite} {b}.", CONTRADICTION)
    if converse != active:
        yield Pair("roles", "", told, f"{b} {active} {a}.", NOT_ENTAILMENT)
    yield Pair("roles", "", told, f"{a} {active} {c}.", NOT_ENTAILMENT)
    if rng.random() < 0.3:
        yield from one_way("general", "", told, f"{a} {active} someone.")


def _phrase(subject: str, phrase: tuple[str, str, str], rng: random.Random) -> Iterator[Pair]:
    one, same, opposite = (f"{subject} {part}." for part in phrase)
    question = rng.choice(("What happened?", "How did it end?", ""))
    yield from both("roles", question, one, same, ENTAILMENT)
    yield from both("antonyms", question, rng.choice((one, same)), opposite, CONTRADICTION)
    extra = rng.choice((" in the end", " that year", " after all", " easily"))
    yield Pair("general", question, one[:-1] + extra + ".", one, ENTAILMENT)


def _yes_no(statement: str, negated: str, rng: random.Random) -> Iterator[Pair]:
    question = rng.choice(
        ("Is it so?", "Is that true?", "Did it happen?", f"Is it true that {statement[:-1]}?")
    )
    yield Pair("yes-no", question, rng.choice(_YES), rng.choice(_YES), ENTAILMENT)
    yield Pair("yes-no", question, rng.choice(_NO), rng.choice(_NO), ENTAILMENT)
    yield from both("yes-no", question, rng.choice(_YES), rng.choice(_NO), CONTRADICTION)
    asked = f"Is it true that {statement[:-1]}?"
    yield from both("yes-no", asked, rng.choice(_YES), statement, ENTAILMENT)
    yield from both("yes-no", asked, rng.choice(_NO), negated, ENTAILMENT)
    yield from both("yes-no", asked, rng.choice(_YES), negated, CONTRADICTION)
    yield from both(
        "yes-no",
        question,
        rng.choice(("Maybe.", "Sometimes.", "It depends.")),
        rng.choice(_YES + _NO),
        NEUTRAL,
    )
