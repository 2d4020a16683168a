"""The tokens of BERT and its kin, from a tokenizer.json: what the package `tokenizers` does, without its 40 MB.

It reads uncased vocabularies of whole words and pieces ("##ing"), which is what the built-in judges have. Other
tokenizers need the package (`load` returns None for them).
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Encoding", "WordPiece", "load"]

_LONGEST = 100  # characters of a word that is looked up; a longer one is unknown
_REMEMBERED = 50_000  # words
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_READ = {
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}


class Encoding(NamedTuple):
    """Tokens, the text (0 or 1) that each belongs to, and where it stands there."""

    ids: list[int]
    type_ids: list[int]
    offsets: list[tuple[int, int]]

    @property
    def attention_mask(self) -> list[int]:
        """One for each token: nothing is padded."""
        return [1] * len(self.ids)


def load(content: str) -> WordPiece | None:
    """The tokenizer that a tokenizer.json describes; None where it is of another kind."""
    data = json.loads(content)
    model, layout = data.get("model") or {}, data.get("post_processor") or {}
    same = all(data.get(part) == what for part, what in _READ.items())
    kind = (model.get("type"), model.get("continuing_subword_prefix"), layout.get("type"))
    if kind[2] == "RobertaProcessing":
        layout, kind = _layout(layout["cls"], layout["sep"]), (*kind[:2], "TemplateProcessing")
    if not same or kind != ("WordPiece", "##", "TemplateProcessing"):
        return None
    return WordPiece(model["vocab"], model["unk_token"], layout)


def _layout(first: tuple[str, int], end: tuple[str, int]) -> dict[str, Any]:
    """What RoBERTa and MPNet put around texts, as a template: `<s> A </s></s> B </s>`."""
    begin, close = ({"SpecialToken": {"id": name, "type_id": 0}} for name, _ in (first, end))
    a, b = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "single": [begin, a, close],
        "pair": [begin, a, close, close, b, close],
        "special_tokens": {name: {"ids": [token]} for name, token in (first, end)},
    }


class WordPiece:
    """A vocabulary, and the layout of one text and of two.

    >>> layout = {"single": [{"Sequence": {"id": "A", "type_id": 0}}], "pair": [], "special_tokens": {}}
    >>> made = WordPiece({"?": 1, "play": 2, "##ed": 3, "[UNK]": 0}, "[UNK]", layout)
    >>> made.encode("Pláyed? Xyz").ids, made.encode("Pláyed?").offsets
    ([2, 3, 1, 0], [(0, 4), (4, 6), (6, 7)])
    """

    def __init__(self, vocabulary: Mapping[str, int], unknown: str, layout: Mapping[str, Any]) -> None:
        self._unknown, self._layout = vocabulary[unknown], layout
        self.token_to_id = vocabulary.get
        self._split = lru_cache(_REMEMBERED)(self._pieces)

    def encode(self, first: str, second: str | None = None, *, add_special_tokens: bool = True) -> Encoding:
        """The tokens of a text or of a pair, with those that begin and part them."""
        texts = {"A": self._tokens(first), "B": self._tokens(second or "")}
        if not add_special_tokens:
            ids, places = texts["A"]
            return Encoding(ids, [0] * len(ids), places)
        made = Encoding([], [], [])
        for part in self._layout["single" if second is None else "pair"]:
            if "Sequence" in part:
                ids, places = texts[part["Sequence"]["id"]]
                kind = part["Sequence"]["type_id"]
            else:
                ids = self._layout["special_tokens"][part["SpecialToken"]["id"]]["ids"]
                places, kind = [(0, 0)] * len(ids), part["SpecialToken"]["type_id"]
            made.ids.extend(ids)
            made.offsets.extend(places)
            made.type_ids.extend([kind] * len(ids))
        return made

    def _tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        plain = [_plain(char) for char in text]
        where = [place for place, said in enumerate(plain) for _ in said]
        ids, places = [], []
        for word in re.finditer("[^ ]+", "".join(plain)):
            end = word.start()
            for token, length in self._split(word[0]):
                start, end = end, end + length
                ids.append(token)
                places.append((where[start], where[end - 1] + 1))
        return ids, places

    def _pieces(self, word: str) -> Sequence[tuple[int, int]]:
        """The longest piece that the word begins with, then of its rest; or the unknown token."""
        found: list[tuple[int, int]] = []
        start = 0
        while start < len(word) <= _LONGEST:
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                token = self.token_to_id(prefix + word[start:end])
                if token is not None:
                    found.append((token, end - start))
                    start = end
                    break
            else:
                break
        return found if found and start == len(word) else [(self._unknown, len(word))]


@lru_cache(None)
def _plain(char: str) -> str:
    """A character in lower case, without accents; between spaces where it is a whole word; empty where left out."""
    if char == "\ufffd" or (char not in "\t\n\r" and unicodedata.category(char) in ("Cc", "Cf", "Co")):
        return ""
    if char.isspace():
        return " "
    if any(low <= ord(char) <= high for low, high in _IDEOGRAPHS):
        return f" {unicodedata.normalize('NFD', char)} "
    bare = [each for each in unicodedata.normalize("NFD", char) if unicodedata.category(each) != "Mn"]
    return "".join(f" {each} " if _punctuation(each) else each for each in "".join(bare).lower())


def _punctuation(char: str) -> bool:
    ascii_ = "!" <= char <= "~" and not char.isalnum()
    return ascii_ or unicodedata.category(char).startswith("P")
