"""The claims of a text: its sentences, list items and table rows, each with its place, without what claims nothing.

Rules, not a library: those that are kept up are models of hundreds of megabytes, and the light ones know nothing of
lists, tables, headings and code, which is where answers of language models differ from prose. One pass over the
text, linear in its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of an answer.

    text   the statement, on one line; a row of a table is written out with the heads of its columns
    start  where it begins in the answer
    end    where it ends
    lead   for an item of a list, the line that introduces the list ("She won:"); None for any other

    >>> Claim("Paris is in France.", 0, 19).lead is None
    True
    """

    text: str
    start: int
    end: int
    lead: str | None = None


def words(text: str) -> frozenset[str]:
    """The words of a list as a set."""
    return frozenset(text.split())


# Abbreviations that a name or a number follows, and those that may also end a sentence.
_BEFORE = words(
    """mr mrs ms mx dr prof rev hon st ste mt ft sgt capt col gen lt cmdr adm maj gov sen rep pres messrs mme mlle
    vs v cf e.g i.e eg ie viz al fig figs eq no nos vol vols p pp ch sec art ca c approx b d r fl nr bzw z.b d.h u.a
    usw sog geb gest hr fr jan feb mar apr jun jul aug sept sep oct nov dec ed eds trans op cit ave blvd rd
    sr sra srta dott sig av"""
)
_EITHER = words(
    """inc ltd co corp jr sr esq etc u.s u.k u.n u.s.a e.u a.m p.m b.c a.d b.c.e c.e ph.d m.d b.a m.a b.s m.s d.c
    dept univ assn bros plc est"""
)
OPENERS = words(
    """he she it they we i you the a an this that these those his her its their our my your in on at by for from with
    after before during since until while when where as if although though however but and so then there here
    despite additionally furthermore moreover also later today born known following throughout because both some
    many most several one all each another such overall finally first second what who er sie es der die das
    il elle le la les el los las"""
)
_END = re.compile(
    r"""(?P<end>[.!?…]+[)\]"'”’»*_]{0,4})(?=\s|$)   # an end that a space follows
      | (?P<full>[。！？｡]+[」』”’）)]{0,3}|[।॥؟۔።](?=\s|$)[)\]"'”’»]{0,3})""",
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«/—–]*$")
_NEXT = re.compile(r"\s*[(\[\"'“‘«*_]*(?P<word>[^\W_]+)?")
_GERMAN_DATE = re.compile(r"\b(?:am|vom|dem|den|der|des|im|zum|ab|seit|bis)\s\d{1,2}$", re.IGNORECASE)

_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_ITEM = re.compile(r"\s*(?:[-*+•◦‣·–—]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s|\s*(?:\*\*|__)[^*_]{1,120}(?:\*\*|__):?\s*$")
_RULE = re.compile(r"\s*(?:[-=*_]\s*){3,}$")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_CODE = re.compile(
    r"""\s*(?:(?:def|class|import|from|return|for|while|if|elif|else|try|with|fn|func|function|const|let|var|public
      |private|static|void|int|SELECT|INSERT|CREATE)\b.*[:;{(=]\s*$
      |import\ [\w.]+(?:\ as\ \w+)?\s*$ | from\ [\w.]+\ import\ .* | \#include\b.* | [}\])]+[;,]?\s*$
      | .*[{;]\s*$ | @\w+(\(.*\))?\s*$
      | [\w.\[\]"']+\s*(?:[-+*/|&]?=|:=)\s*\S.* | [\w.]+\([^()]*\)\s*$ | (?:\$|>>>|\.\.\.)\ .* | //.* | <\/?\w[^>]*>.*
      | return\b.*)$""",
    re.VERBOSE,
)
_QUOTE = re.compile(r"\s{0,3}(?:>\s?)+")

# What claims nothing about the subject: greetings, offers, remarks about the answer itself.
_NO_CLAIM = re.compile(
    r"""\W*(?:
      (?:hi|hello|hey|greetings|dear|welcome)\b[^.!]{0,40}[.!,]*$
    | (?:sure|certainly|of\ course|absolutely|great(?:\ question)?|good\ question|okay|ok|yes|no|thanks|thank\ you)
      (?:[,!.]?\W*$|[,!]\ (?:here|i|let|happy|glad)\b|\ (?:thing|for)\b)
    | (?:here|below)(?:['’]s|\ is|\ are)\b(?=.{0,160}(?::|paragraph|summary|overview|bio\b|biography|list|facts|answer))
    | i\ (?:hope|would\ be|['’]?d\ be|can\ (?:also\ )?(?:help|provide|tell|try)|apologi[sz]e
        |am\ sorry|am\ happy|am\ an\ ai|do\ not\ have|don['’]?t\ have
        |could\ not\ find|couldn['’]?t\ find|cannot\ (?:provide|verify|confirm))\b
    | i['’](?:m|d|ll|ve)\ (?:sorry|happy|glad|afraid|be|love|try|here|an\ ai|not\ (?:able|sure|aware))\b
    | (?:let\ me|let['’]s|feel\ free|please|do\ not\ hesitate|don['’]t\ hesitate
        |if\ you(?:['’]?d|\ would|\ have|\ need|\ want)
        |would\ you\ like|hope\ this|happy\ to\ help|is\ there\ anything|note:?\ (?:i|this\ answer|the\ above))\b
    | as\ an\ (?:ai|artificial)\b
    | (?:sources?|references?|see\ also|disclaimer)\s*:?\s*$
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_QUESTION = re.compile(r"[?？؟][)\]\"'”’»*_\s]*$")
_WHOLE = re.compile(r"[.!?…。！？｡।॥؟۔።|][)\]\"'”’»*_」』）\s]*$")
_LONGEST_ASIDE = 240
"""Within brackets that stay open for longer than this, sentences end as elsewhere."""


def split(text: str) -> list[Claim]:
    """The claims of `text` in order.

    text  an answer, in any language; Markdown is understood

    Greetings, questions, headings, introductions ("Here is a list:"), offers of help and code are not claims.

    >>> [claim.text for claim in split("Sure! Dr. J. R. Hall was born in 1901. He had 2.5 acres, e.g. for U.S. wheat.")]
    ['Dr. J. R. Hall was born in 1901.', 'He had 2.5 acres, e.g. for U.S. wheat.']
    >>> split("- Rome\\n- Is it?\\n")
    [Claim(text='Rome', start=2, end=6, lead=None)]
    """
    found = [(claim, title) for claim, title in _pieces(text) if _claims_something(claim.text)]
    # Short lines between sentences are headings; where there is nothing else, they are what is said.
    untitled = [claim for claim, title in found if not title]
    return untitled or [claim for claim, _ in found]


def ends_sentence(text: str) -> bool:
    """Whether the last sentence of `text` is whole.

    >>> ends_sentence("It rained. He was"), ends_sentence('He said "no."')
    (False, True)
    """
    return _WHOLE.search(text[-8:]) is not None


def sentences(text: str) -> list[str]:
    """All sentences, list items and table rows of `text`, whether they claim anything or not.

    >>> sentences("Who? He. 彼は学者です。東京に住む。")
    ['Who?', 'He.', '彼は学者です。', '東京に住む。']
    """
    return [claim.text for claim, _ in _pieces(text)]


def _claims_something(text: str) -> bool:
    if not any(letter.isalnum() for letter in text):
        return False
    return not (
        _QUESTION.search(text[-40:]) or text.rstrip("*_ ").endswith((":", "：")) or _NO_CLAIM.match(text)
    )


def _pieces(text: str) -> Iterator[tuple[Claim, bool]]:
    """Every sentence, item and row, and whether it stands alone on its line as a heading may."""
    heads: list[str] | None = None
    lead: str | None = None
    for kind, start, end in _blocks(text):
        body = text[start:end]
        if kind == "row":
            cells = _cells(body)
            if heads is None:
                heads = cells
            elif any(cells):
                yield Claim(_written_out(heads, cells), start, end), False
            continue
        if kind == "head row":  # a row that no rule of dashes follows
            heads = None
            yield Claim("; ".join(filter(None, _cells(body))), start, end), False
            continue
        heads = None
        if kind == "item":
            for claim in _sentences(text, start, end):
                yield Claim(claim.text, claim.start, claim.end, lead), False
            continue
        parts = list(_sentences(text, start, end))
        for claim in parts:
            yield claim, len(parts) == 1 and kind == "line" and _may_be_title(claim.text)
        lead = parts[-1].text if parts and parts[-1].text.rstrip("*_ ").endswith((":", "：")) else None


def _may_be_title(text: str) -> bool:
    return len(text) <= 60 and len(text.split()) <= 8 and not re.search(r"[.!?…。！？।؟۔][\"'”’»)*_]*$", text)


def _blocks(text: str) -> Iterator[tuple[str, int, int]]:
    """The parts in which sentences are looked for: paragraphs, single lines, items and table rows; no code."""
    fence: str | None = None
    begin: int | None = None  # of the paragraph so far
    finish = lines = 0
    kind = "line"
    rows: list[tuple[int, int]] = []
    places = list(_lines(text))
    for number, (start, end) in enumerate(places):
        line = text[start:end]
        fenced = _FENCE.match(line)
        table = fence is None and fenced is None and _is_row(line)
        if rows and not table:
            yield from _table(rows, text)
            rows = []
        item = None if table or fence else _ITEM.match(line)
        plain = not (fence or fenced or table or item or not line.strip())
        code = plain and (
            _CODE.match(line) is not None or (line.startswith(("    ", "\t")) and begin is None)
        )
        heading = plain and bool(
            _HEADING.match(line) or _RULE.match(line) or _underlined(text, places, number)
        )
        if begin is not None and not (plain and not code and not heading):
            yield kind if lines > 1 or kind == "item" else "line", begin, finish
            begin = None
        if fenced and (fence is None or fenced[1].startswith(fence)):
            fence = None if fence else fenced[1]
        elif table:
            rows.append((start, end))
        elif item and _RULE.match(line) is None:
            begin, finish, lines, kind = start + item.end(), end, 1, "item"
        elif plain and not code and not heading:
            if begin is None:
                quote = _QUOTE.match(line)
                begin, lines, kind = start + (quote.end() if quote else 0), 0, "paragraph"
            finish, lines = end, lines + 1
    if rows:
        yield from _table(rows, text)
    if begin is not None:
        yield kind if lines > 1 or kind == "item" else "line", begin, finish


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, start + len(line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"))
        start += len(line)


def _underlined(text: str, places: list[tuple[int, int]], number: int) -> bool:
    """Whether the next line underlines this one as a heading."""
    if number + 1 == len(places):
        return False
    line = text[slice(*places[number + 1])]
    return (
        bool(line.strip())
        and len(line) < 200
        and re.fullmatch(r"\s{0,3}(?:={3,}|-{3,})\s*", line) is not None
    )


def _is_row(line: str) -> bool:
    return line.count("|") >= 2 or (
        "\t" in line.strip() and line.strip().count("\t") >= 1 and "|" not in line
    )


def _table(rows: list[tuple[int, int]], text: str) -> Iterator[tuple[str, int, int]]:
    """The rows that say something, the head first; without a rule of dashes below it there is no head."""
    ruled = len(rows) > 1 and _TABLE_RULE.match(text[slice(*rows[1])]) is not None
    for start, end in rows:
        if _TABLE_RULE.match(text[start:end]) is None:
            yield "row" if ruled else "head row", start, end


def _cells(row: str) -> list[str]:
    parts = row.split("|") if "|" in row else row.split("\t")
    cells = [part.strip(" *_`") for part in parts]
    if cells and not cells[0]:
        cells = cells[1:]
    return cells[:-1] if cells and not cells[-1] else cells


def _written_out(heads: list[str], cells: list[str]) -> str:
    """A row in words: "Country: France; Capital: Paris"."""
    named = [*heads[: len(cells)], *[""] * (len(cells) - len(heads))]
    return "; ".join(
        f"{head}: {cell}" if head else cell for head, cell in zip(named, cells, strict=True) if cell
    )


def _sentences(text: str, start: int, end: int) -> Iterator[Claim]:
    """The sentences of `text[start:end]`, without the spaces and marks around them."""
    begin = start
    opened: int | None = None  # where a bracket was opened that is not closed yet
    scanned = start
    for match in _END.finditer(text, start, end):
        opened = _still_open(text, scanned, match.start(), opened)
        scanned = match.start()
        if match["full"] is None and not _ends(text, begin, match, end):
            continue
        if opened is not None and match.end() - opened < _LONGEST_ASIDE and ")" not in match[0]:
            continue
        yield from _trimmed(text, begin, match.end())
        begin, opened = match.end(), None
    yield from _trimmed(text, begin, end)


def _still_open(text: str, start: int, end: int, opened: int | None) -> int | None:
    left, right = text.rfind("(", start, end), text.rfind(")", start, end)
    if left == right == -1:
        return opened
    return left if left > right else None


def _ends(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    """Whether a sentence ends here, rather than an abbreviation, an initial or a German date."""
    following = _NEXT.match(text, match.end(), min(end, match.end() + 60))
    word = (following["word"] if following else None) or ""
    if word[:1].islower():
        return False
    if (not word and match.end() >= end) or match["end"][0] != ".":
        return True
    before = _WORD_BEFORE.search(text, max(begin, match.start() - 24), match.start())
    last = before[0] if before else ""
    opener = word.casefold() in OPENERS
    if (len(last) == 1 and last.isupper()) or re.fullmatch(r"(?:[A-Z]\.)+[A-Z]", last):
        return opener or not word  # "Timothy W. Finchem", but "vitamin C. It"
    bare = last.casefold()
    if bare in _BEFORE and not (bare == "no" and opener):
        return not last[:1].isalpha() or (len(match["end"]) > 1 and match["end"][1] in ".!?")
    if bare in _EITHER:
        return opener
    return not _GERMAN_DATE.search(text, max(begin, match.start() - 12), match.start())


def _trimmed(text: str, start: int, end: int) -> Iterator[Claim]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield Claim(" ".join(text[start:end].split()), start, end)
