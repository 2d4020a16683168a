"""The judge that ships: what it must get right, and that nothing it is given can be lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from semtropy.meaning import cluster, load_judge, wordpiece
from semtropy.meaning.builtin import FOLDER, Builtin
from semtropy.meaning.networks import pieces, shorten

PROBE = Path(__file__).parents[2] / "training" / "probe.jsonl"
RELATED = PROBE.with_name("related.jsonl")
CAPITAL = "What is the capital of France?"


@pytest.fixture(scope="module")
def judge() -> Builtin:
    return Builtin()


class TestAnswers:
    def test_a_city_does_not_swallow_paris(self, judge: Builtin) -> None:
        assert len(set(cluster(CAPITAL, ["Paris", "a city", "It is a city."], judge)[:2])) == 2

    @pytest.mark.parametrize(
        "question", ["Who was the first president of the United States?" + " Think hard." * 900]
    )
    def test_a_long_question_does_not_merge_different_answers(self, judge: Builtin, question: str) -> None:
        assert len(question) > 10_000
        texts = ["George Washington", "Thomas Jefferson", "Abraham Lincoln", "Washington"]
        assert cluster(question, texts, judge)[:3] == [0, 1, 2]

    @pytest.mark.parametrize(
        "texts",
        [
            ["Paris", "The capital of France is Paris.", "It's Paris."],
            ["I don't know.", "I have no idea.", "Sorry, I'm not sure."],
            ["carbon dioxide", "CO2"],
            ["UN", "United Nations"],
            ["5 km", "5000 metres", "five kilometres"],
        ],
    )
    def test_one_meaning(self, judge: Builtin, texts: list[str]) -> None:
        assert len(set(cluster("What is it?", texts, judge))) == 1

    @pytest.mark.parametrize(
        "texts",
        [
            ["It is Paris.", "It is not Paris."],
            ["Paris", "I don't know."],
            ["Brazil won the final.", "Brazil lost the final."],
            ["12 days", "13 days"],
            ["Yes", "No"],
            ["5 km", "5 miles"],
        ],
    )
    def test_two_meanings(self, judge: Builtin, texts: list[str]) -> None:
        assert len(set(cluster("What is it?", texts, judge))) == 2

    def test_the_probe(self, judge: Builtin) -> None:
        rows = [json.loads(line) for line in PROBE.read_text("utf-8").splitlines()]
        assert len(rows) >= 200
        values = judge.entails([(row["question"], row["a"], row["b"]) for row in rows])
        yes = np.array([bool(row["entails"]) for row in rows])
        wins = (values[yes][:, None] > values[~yes]) + 0.5 * (values[yes][:, None] == values[~yes])
        assert wins.mean() >= 0.92

    @pytest.mark.parametrize("asked", [True, False])
    @pytest.mark.parametrize(
        ("question", "one", "other"),
        [
            (CAPITAL, "Paris", "Marseille"),
            (CAPITAL, "Nice", "Paris"),
            (CAPITAL, "Toulouse", "Paris"),
            ("Which city in France hosted the summit?", "Lyon", "Marseille"),
            ("What is the capital of Australia?", "Canberra", "Sydney"),
            ("Which president signed the act?", "Woodrow Wilson", "Herbert Hoover"),
            ("Which planet is the largest?", "Jupiter", "Saturn"),
            ("In which month was she born?", "June", "July"),
            ("What colour is the flag?", "green", "yellow"),
            ("Which river flows through the city?", "the Danube", "the Rhine"),
            ("Which team won the league?", "Arsenal", "Chelsea"),
            ("Which language is spoken there?", "Danish", "Swedish"),
            ("Who composed the opera?", "Giuseppe Verdi", "Giacomo Puccini"),
            ("Which instrument does she play?", "the viola", "the cello"),
        ],
    )
    def test_related_names_are_two_meanings(
        self, judge: Builtin, question: str, one: str, other: str, asked: bool
    ) -> None:
        for texts in ([one, other], [other, one], [f"It is {one}.", other]):
            assert len(set(cluster(question if asked else "", texts, judge))) == 2, texts

    def test_names_that_no_training_told_apart(self, judge: Builtin) -> None:
        rows = [json.loads(line) for line in RELATED.read_text("utf-8").splitlines()]
        groups = [len(set(cluster(row["question"], [row["a"], row["b"]], judge))) for row in rows]
        yes = np.array([bool(row["entails"]) for row in rows])
        assert len(rows) >= 150
        # The threshold is set where sampled answers are: it keeps names apart rather than merging two that are close.
        assert (np.array(groups)[~yes] == 2).mean() >= 0.99
        assert (np.array(groups)[yes] == 1).mean() >= 0.88

    def test_any_script(self, judge: Builtin) -> None:
        texts = ["東京", "Токио", "طوكيو", "🗼", "\u200b", "\ud800", "a\x00b"]
        values = judge.entails([("首都は？", a, b) for a in texts for b in texts])
        assert np.isfinite(values).all()

    def test_what_the_vocabulary_lacks_is_not_all_one(self, judge: Builtin) -> None:
        assert cluster("Which sign?", ["🗼", "🗿", "🗼"], judge) == [0, 1, 0]

    @pytest.mark.parametrize(
        "texts",
        [
            ["Москва", "Киев", "Минск"],
            ["北京", "上海", "南京"],
            ["Αθήνα", "Θεσσαλονίκη"],
            ["서울", "부산"],
            ["القاهرة", "الجيزة"],
            ["नई दिल्ली", "मुंबई"],
        ],
    )
    def test_a_script_it_cannot_read_is_grouped_by_spelling(self, judge: Builtin, texts: list[str]) -> None:
        assert cluster("?", [*texts, texts[0] + "."], judge) == [*range(len(texts)), 0]
        [warning] = judge.warnings(texts)
        assert "--judge llm:MODEL" in warning
        assert judge.explain(("?", texts[0], texts[1])) == "script"
        assert load_judge().warnings(texts) == (warning,)  # type: ignore[attr-defined]

    def test_it_says_what_decides(self, judge: Builtin) -> None:
        assert judge.explain(("?", "12", "13")) == "arithmetic"
        assert judge.explain(("?", "Paris", "paris.")) == "spelling"
        assert judge.explain(("?", "Paris", "Rome")) == "network"
        assert judge.warnings(["Paris", "Rome", "Brontë"]) == ()

    def test_accents_are_spelling(self, judge: Builtin) -> None:
        assert cluster("Who wrote it?", ["Charlotte Brontë", "Charlotte Bronte"], judge) == [0, 0]


class TestDeterminism:
    TRIPLES = (
        ("Who wrote it?", "Mark Twain", "Samuel Clemens"),
        ("Who wrote it?", "It was written by Mark Twain in 1884, long after the war had ended.", "Twain"),
        ("", "a dog", "an animal"),
    )

    def test_a_value_does_not_depend_on_its_company(self, judge: Builtin) -> None:
        alone = [float(judge.entails([triple])[0]) for triple in self.TRIPLES]
        assert judge.entails(self.TRIPLES * 5).tolist() == alone * 5
        assert judge.entails(self.TRIPLES[::-1]).tolist() == alone[::-1]

    def test_a_value_does_not_depend_on_the_threads(self) -> None:
        one, three = (Builtin(threads=threads).entails(self.TRIPLES).tolist() for threads in (1, 3))
        assert one == three

    def test_relations_add_up_and_begin_with_entailment(self, judge: Builtin) -> None:
        relations = judge.relation(self.TRIPLES)
        assert relations.sum(axis=1) == pytest.approx(1)
        phrases = [not judge.sentences(triple) for triple in self.TRIPLES]
        assert relations[phrases, 0].tolist() == judge.entails(self.TRIPLES)[phrases].tolist()

    def test_relaxed_mode_works_with_it(self, judge: Builtin) -> None:
        assert len(set(cluster("What animal is it?", ["a dog", "a cat"], judge, mode="relaxed"))) == 2


class TestLength:
    def test_answers_are_never_cut(self, judge: Builtin) -> None:
        filler = "It was a long and rainy day in the old town by the river. " * 60
        one, other = filler + "The winner was Brazil.", filler + "The winner was Italy."
        grid = judge._pairs("Who won?", one, other)
        assert sum(len(row) for row in grid) > 1
        seen = " ".join(row[0][1] for row in grid)
        assert seen.replace(" ", "") == other.replace(" ", "")
        assert any("The winner was Brazil." in pair[0] for pair in grid[-1])

    def test_a_megabyte_costs_no_judgement(self, judge: Builtin) -> None:
        """Answers that long are the same only where their words are: the network is not asked."""
        long = "It was a long and rainy day in the old town by the river. " * 17_500
        assert len(long) > 1_000_000

        class Refuses:
            def logits(self, pairs: object) -> object:
                raise AssertionError("the network was asked")

        quick = Builtin()
        quick._encoder = Refuses()  # type: ignore[assignment]
        assert cluster("Who won?", [long, long + "Brazil.", long.upper()], quick) == [0, 1, 0]
        assert judge.explain(("Who won?", long, "Brazil")) == "length"

    @pytest.mark.parametrize("tail", [" yes" * 100, " [PAD]" * 60, " [MASK]" * 60, " [SEP]" * 60])
    def test_padding_does_not_hide_the_answer(self, judge: Builtin, tail: str) -> None:
        texts = [name + tail for name in ("Jane Roe", "Max Moe", "Ada Lund")]
        assert cluster("Who was the mayor in 1911?", texts, judge) == [0, 1, 2]

    def test_long_nonsense_takes_no_time(self, judge: Builtin) -> None:
        """The number of runs of the network is bounded, whatever is compared."""
        asked = []
        encoder = judge._encoder.logits
        judge._encoder.logits = lambda pairs: (asked.append(len(pairs)), encoder(pairs))[1]  # type: ignore[method-assign]
        try:
            cluster("What?", ["1+" * 3900, "1+" * 3899 + "2", "2+" * 3900], judge)
            assert sum(asked) == 0
            grid = judge._pairs("What?", "one two " * 700, "one three " * 700)
        finally:
            judge._encoder.logits = encoder  # type: ignore[method-assign]
        assert max(map(len, grid)) <= 2

    def test_pieces_stop_at_the_first_that_does_not_follow(self, judge: Builtin) -> None:
        filler = "It was a long and rainy day in the old town by the river. " * 60
        asked = []
        encoder = judge._encoder.logits
        judge._encoder.logits = lambda pairs: (asked.append(len(pairs)), encoder(pairs))[1]  # type: ignore[method-assign]
        try:
            judge.entails([("Who won?", "Brazil", "Nobody won. " * 40 + filler)])
        finally:
            judge._encoder.logits = encoder  # type: ignore[method-assign]
        assert asked == [1]

    def test_long_questions_lose_their_middle(self, judge: Builtin) -> None:
        [[(first, second)]] = judge._pairs("begin " + "middle " * 5000 + "end?", "Paris", "Rome")
        assert first.startswith("begin middle")
        assert first.endswith("end? Paris")
        assert "…" in first
        assert len(first) < 400
        assert second == "Rome"

    def test_shorten_keeps_what_fits(self) -> None:
        def words(text: str) -> list[tuple[int, int]]:
            places, at = [], 0
            for word in text.split(" "):
                places.append((at, at + len(word)))
                at += len(word) + 1
            return places

        text = " ".join(str(n) for n in range(50))
        for room in range(60):
            assert len(words(shorten(text, words, room).replace(" …", ""))) <= max(room, 1)
        assert " ".join(pieces(text, words, 7)) == text


def test_the_default_is_the_one_that_ships() -> None:
    assert load_judge().name == Builtin().name
    assert load_judge().name.startswith("builtin-3-")


SCRIPTS = (
    "Who wrote  \tMiddlemarch?\nGeorge Eliot (Mary Ann Evans), 1871–72.",
    "Ça a coûté 12,50 € à l'hôtel Zürich… naïve İstanbul ǅ ﬁ ½ x²",
    "Κωνσταντινούπολη Привет שָׁלוֹם العَرَبِيَّة हिन्दी தமிழ் ไทย",
    "東京は日本の首都です。 中文、 한국어 𠀀 🇫🇷 👩‍👩‍👧",
    "[MASK] [SEP] ##ing don't e.g. a_b $5 `ls -a` \u200b\x85\x0c\ufffd\u00a0\u3000",
    "x" * 101,
    "",
)


def test_tokens_are_those_of_the_package_that_trained_it() -> None:
    package = pytest.importorskip("tokenizers")
    content = (FOLDER / "tokenizer.json").read_text("utf-8")
    theirs, ours = package.Tokenizer.from_str(content), wordpiece.load(content)
    theirs.no_truncation()
    theirs.no_padding()
    theirs.encode_special_tokens = True
    assert ours is not None
    for first, second in [*zip(SCRIPTS, SCRIPTS[::-1], strict=True), *((each, None) for each in SCRIPTS)]:
        expected, found = theirs.encode(first, second), ours.encode(first, second)
        for part in ("ids", "type_ids", "attention_mask", "offsets"):
            assert getattr(found, part) == getattr(expected, part), (part, first, second)


def test_a_tokenizer_of_another_kind_is_left_to_the_package() -> None:
    assert wordpiece.load('{"model": {"type": "BPE"}, "normalizer": null}') is None


@pytest.mark.parametrize("token", ["[MASK]", "[PAD]", "[SEP]", "[CLS]", "[UNK]"])
def test_a_special_token_in_an_answer_is_text(token: str) -> None:
    """Read as what it stands for, it would make any two answers look alike: twenty masks fit every name."""
    judge = Builtin(threads=1)
    encoder = judge._encoder
    assert encoder._tokenizer.token_to_id(token) not in encoder.ids(f"Ann {token}")
    names = ("Janos Geml", "Carol Telbisz", "Stan Vidrighin")
    pad = f" {token}" * 20
    asked = [("Who was the mayor?", f"It was {a}{pad}", f"It was {b}{pad}") for a in names for b in names]
    found = judge.entails(asked)
    assert all((probability > 0.5) == (a == b) for probability, (_, a, b) in zip(found, asked, strict=True))


def test_two_sentences_of_which_one_says_more_are_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the mean of both directions."""
    question, brief = "Who wrote Faust?", "The author of Faust is Johann Wolfgang von Goethe."
    fuller = "Faust is by Johann Wolfgang von Goethe, a German poet and essayist who lived from 1732 to 1821."
    judge = Builtin()
    pairs = [(question, brief, fuller), (question, fuller, brief)]
    assert judge.entails(pairs).min() > 0.5
    assert judge.entails([(question, brief, "Faust is by Christopher Marlowe, an English poet.")])[0] < 0.05

    odds = {brief: 4.0, fuller: -1.0}
    monkeypatch.setattr(judge, "_odds", lambda batch: np.array([odds[a] for _, a, _ in batch]))
    assert judge.entails(pairs) == pytest.approx([expit(1.5)] * 2)
