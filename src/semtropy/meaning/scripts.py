"""Scripts that the network of the built-in judge does not read, and what is certain about answers in them.

Its tokenizer has the single letters of many scripts but words of the Latin script only. A text in another script would
reach the network as letters without meaning, so that all cities look alike to it. Such answers are compared by their
spelling, and by what they add to the question's own words: "Столица Франции — Париж." answers "Какой город столица
Франции?" with "Париж".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from .spelling import normalise, plain_signs, without_accents

if TYPE_CHECKING:
    from collections.abc import Iterable


_ENOUGH = 0.9  # share of Latin letters from which the network is asked
_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]")
_SCRIPT_NAMES = {"CJK": "Chinese characters", "HIRAGANA": "Japanese", "KATAKANA": "Japanese"}


@lru_cache(4096)
def script_of(letter: str) -> str:
    """The script of a letter, by its Unicode name: "Latin", "Cyrillic", "Chinese characters", ...

    >>> script_of("é"), script_of("Ж"), script_of("京"), script_of("ア")
    ('Latin', 'Cyrillic', 'Chinese characters', 'Japanese')
    """
    name = unicodedata.name(unicodedata.normalize("NFKC", letter)[:1], "UNKNOWN").split(" ")[0]
    return _SCRIPT_NAMES.get(name, name.capitalize())


def readable(text: str) -> bool:
    """Whether nearly all letters of a text are Latin; a text without letters is.

    >>> readable("Charlotte Brontë"), readable("Москва"), readable("12 °C"), readable("Tokyo (東京)")
    (True, False, True, True)
    """
    if text.isascii():
        return True
    letters = _letters(without_gloss(text))
    return letters["Latin"] >= _ENOUGH * letters.total()


def without_gloss(text: str) -> str:
    """The text without brackets in another script where the rest is Latin: "Tokyo (東京)" is "Tokyo".

    >>> without_gloss("Tokyo (東京)"), without_gloss("東京 (Tokyo)"), without_gloss("Paris (France)")
    ('Tokyo', '東京 (Tokyo)', 'Paris (France)')
    """
    if text.isascii():
        return text
    bare = _BRACKETS.sub(lambda match: match[0] if _letters(match[0])["Latin"] else "", text)
    return bare.strip() if bare != text and _letters(bare)["Latin"] else text


def _letters(text: str) -> Counter[str]:
    return Counter(script_of(letter) for letter in text if letter.isalpha())


def warn_unreadable(texts: Iterable[str]) -> str | None:
    """A sentence that says how many answers the built-in judge could not read, and what to do.

    None where it read all, and where all are spelled alike, so that there was nothing to judge.

    >>> print(warn_unreadable(["Москва", "Киев", "Moscow"]))
    2 of 3 answers are in a script that the built-in judge does not read (Cyrillic), so it compared them word by word. \
Choose a judge that reads it: --judge llm:MODEL, or --judge llm for the model that is checked.
    >>> warn_unreadable(["Paris"])
    """
    texts = list(texts)
    unread = [text for text in texts if not readable(text)]
    if not unread or len({normalise(text) for text in texts}) == 1:
        return None
    scripts = sum((_letters(text) for text in unread), Counter[str]())
    del scripts["Latin"], scripts["Katakana-hiragana"]  # the latter is a mark that both of them use
    named = ", ".join(script for script, _ in scripts.most_common(3))
    count, n = len(unread), len(texts)
    who = f"{count} of {n}" if count < n else "Both" if n == 2 else f"All {n}"
    are = "is" if count == 1 < n else "are"
    return (
        f"{who} answers {are} in a script that the built-in judge does not read ({named}), so it compared them word by"
        " word. Choose a judge that reads it: --judge llm:MODEL, or --judge llm for the model that is checked."
    )


# What an answer adds to the question's words.
#
# Words of the question are recognised by their beginning, since they may be inflected ("столица", "столицей"); in
# scripts without spaces they are runs of characters that the question has, too. What remains must be the same words in
# both answers. A negation in one of them, and whatever else remains in one only, leaves the pair undecided.

_LONGEST = 300  # characters of an answer: more is several statements
_UNSPACED = {"Chinese characters", "Japanese", "Thai", "Lao", "Khmer", "Myanmar"}
_MARKS = " .,;:!?\"'`*()[]{}«»—–-…。，、；：！？「」『』《》（）।॥،؛؟·"
# What may stand around an answer without adding to it.
_FILLER_WORDS = {
    "Russian": "он она оно они это был была было были является являлся являлась есть называется в на году год года г по"
    " моему думаю что я ответ верный правильный примерно около",
    "Ukrainian": "він вона воно вони це був була було були є у в році рік",
    "Greek": "είναι ήταν η ο το οι τα την τον της του των στην στον στο σε από αυτό αυτή αυτός",
    "Arabic": "هو هي كان كانت في من إنه إنها هذا هذه",
    "Persian": "است بود این در",
    "Hebrew": "הוא היא זה זו היה הייתה היתה של את",
    "Hindi": "है हैं था थी थे की का के में ने को यह वह",
    "Korean": "이다 입니다 것은 그것은 정답은",
}
_FILLERS = frozenset(word.casefold() for words in _FILLER_WORDS.values() for word in words.split())
_FILLER_RUNS = {
    "Japanese": "答えは およそ 約 となります になります でした である であり です は が の を に で と だ",
    "Chinese": "答案是 作者是 写的 大约 约 位于 叫做 就是 是 的 在 叫 了",
    "Thai": "อยู่ คือ เป็น ที่",
}
# Endings of nouns and names, beside none at all.
_ENDINGS = {
    "Cyrillic": "а я у ю ы и е о й ь ой ей ом ем ою ею ым им ью ого его ому ему ах ях ам ям ами ями ая яя ую юю ов ев"
    " ий ый і ї",
    "Greek": "σ ασ ησ οσ ου ο α η εσ ων ουσ ον ιου",  # casefolded: no final sigma
    "Hangul": "입니다 이다 이에요 예요 은 는 이 가 을 를 의 에 에서 로 으로 과 와 이며 이고",
}
_ARTICLES = {"Arabic": ("وال", "بال", "لل", "ال"), "Hebrew": ("ה", "ב", "ל", "מ", "ש")}
_PLACE = re.compile(r"(?<=\w\w)[都市県縣县省府州]$")  # 東京都 is 東京
_DENIALS = re.compile(
    r"(?:^|\s)(?:не|нет|ні|ни|δεν|μην|όχι|لا|ليس|ليست|لم|لن|نیست|לא|אין|नहीं|मत|아니\w*|않\w*)(?=$|[\s,.!])"
    r"|[不没沒非無无]|ない|ません|ではな|じゃな|지 않|아닙|아니|ไม่"
)
_ASKING = re.compile(r"何|誰|谁|哪|どこ|どれ|どの|どちら|いつ|什么|什麼|多少|几|幾")
_IS = re.compile(r"[は是]([^は是]+?)(?:です|である|だ|でした|であった)?$")  # 山は富士山です, 是珠穆朗玛峰
_AGREEING = re.compile(
    r"(?:(?P<yes>да|так|ναι|نعم|أجل|بله|כן|हाँ|हां|네|예|是的|是|对|對|はい|ええ|ใช่)"
    r"|(?P<no>нет|ні|όχι|οχι|لا|كلا|نه|לא|नहीं|아니요|아니오|아뇨|不是|不|否|没有|いいえ|いえ|ไม่ใช่|ไม่))(?=$|[\s,.!。，、！])"
)


def same_in_script(question: str, a: str, b: str) -> bool | None:
    """Whether two texts in a script that the network does not read give one answer; None where that is not certain.

    >>> same_in_script("Какой город столица Франции?", "Париж", "Столицей Франции является Париж.")
    True
    >>> same_in_script("日本の首都はどこですか？", "東京", "日本の首都は東京です。")
    True
    >>> same_in_script("Это рыба?", "Нет.", "Нет, это не рыба."), same_in_script("Это рыба?", "Да", "Нет, птица.")
    (True, False)
    >>> same_in_script("Какой город столица Франции?", "Париж", "Столица Франции — Лион.")
    >>> same_in_script("Какой город столица Франции?", "Париж", "Это не Париж.")
    """
    if max(len(a), len(b)) > _LONGEST:
        return None
    plain = [plain_signs(text).strip(_MARKS) for text in (a, b)]
    first, second = (_AGREEING.match(text) for text in plain)
    if first and second:
        return (first["yes"] is None) == (second["yes"] is None)
    if any(_DENIALS.search(text) for text in plain):
        return None
    asked = plain_signs(question[-_LONGEST:])
    if _unspaced(a) or _unspaced(b):
        left, right = (_runs_said(asked, text) for text in plain)
        return True if left and _PLACE.sub("", left) == _PLACE.sub("", right) else None
    one, other = _words_added(asked, a), _words_added(asked, b)
    return True if one and other and (_same_words(one, other) or _same_person(one, other)) else None


def _unspaced(text: str) -> bool:
    return bool(_UNSPACED & set(_letters(text)))


def _runs_said(asked: str, text: str) -> str:
    """What a text adds: where the question asks what something is, the side of "is" that the question does not have."""
    said = _IS.search(text) if _ASKING.search(asked) else None
    sides = [] if said is None else [said[1], text[: said.start()]]
    return next(filter(None, (_runs_added(asked, side) for side in sides)), "") or _runs_added(asked, text)


def _runs_added(asked: str, text: str) -> str:
    """What remains of a text without the runs of two or more characters that the question has, and without fillers."""
    kept, place = [], 0
    while place < len(text):
        size = next((n for n in range(len(text) - place, 1, -1) if text[place : place + n] in asked), 0)
        kept.append(" " if size else text[place])
        place += size or 1
    rest = "".join(kept)
    for filler in " ".join(_FILLER_RUNS.values()).split():
        rest = re.sub(rf"(?:(?<=[\s{_ESCAPED}])|^){filler}|{filler}(?=$|[\s{_ESCAPED}])", " ", rest)
    return " ".join(rest.translate(_NO_MARKS).split())


_ESCAPED = re.escape(_MARKS)
_NO_MARKS = str.maketrans(dict.fromkeys(_MARKS, " "))


def _words_added(asked: str, text: str) -> dict[int, str]:
    """The words of a text, by place and as they are written, that are neither the question's nor fillers."""
    known = [_stripped(word) for word in asked.translate(_NO_MARKS).split()]
    found = {}
    for place, written in enumerate(text.translate(_NO_MARKS).split()):
        word = plain_signs(written)
        if word not in _FILLERS and not any(_inflected(_stripped(word), each) for each in known):
            found[place] = written
    return found


def _stripped(word: str) -> str:
    """The word without an article or a preposition that is written as its beginning."""
    for prefix in _ARTICLES.get(script_of(word[0]), ()):
        if word.startswith(prefix) and len(word) >= len(prefix) + 3:
            return word[len(prefix) :]
    return word


def _inflected(one: str, other: str) -> bool:
    """Whether two words of a sentence and of its question are forms of one: a long common beginning."""
    if one == other:
        return True
    size = _common(one, other)
    return size >= 4 and 5 * size >= 3 * max(len(one), len(other))


def _same_words(one: dict[int, str], other: dict[int, str]) -> bool:
    """Whether the words are the same, in one order, up to their endings."""
    return len(one) == len(other) and all(map(_same_word, one.values(), other.values()))


def _same_person(one: dict[int, str], other: dict[int, str]) -> bool:
    """Whether both are one name, with more given names in one of them: "Толстой", "Лев Николаевич Толстой"."""
    longer, shorter = sorted((one, other), key=len, reverse=True)
    names = list(longer.values())
    apart = max(longer) - min(longer) >= len(longer)  # other words stand between them
    if apart or len(names) > 4 or not all(word[0].isupper() for word in names):
        return False
    *given, family = shorter.values()
    left = iter(names[:-1])
    return _same_word(family, names[-1]) and all(
        any(_same_word(word, each) for each in left) for word in given
    )


def _same_word(one: str, other: str) -> bool:
    one, other = _stripped(plain_signs(one)), _stripped(plain_signs(other))
    if one == other:
        return True
    one, other = _unaccented(one), _unaccented(other)
    size = _common(one, other)
    endings = {"", *_ENDINGS.get(script_of(one[0]), "").split()}
    return size >= (2 if script_of(one[0]) == "Hangul" else 4) and {one[size:], other[size:]} <= endings


def _unaccented(word: str) -> str:
    """Without the accents of Greek, which wander as a word is inflected."""
    return without_accents(word) if script_of(word[0]) == "Greek" else word


def _common(one: str, other: str) -> int:
    """How many characters two words share at their beginning."""
    return next(
        (n for n, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other))
    )
