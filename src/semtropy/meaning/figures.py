"""Amounts as English writes them in figures: "1,9 Mio." as "1.9 million", "2 h 15 min" as "135 min"."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from .dates import MONTHS
from .number_words import SCALES, number
from .spelling import POWER, western_digits
from .units import CURRENCIES, UNITS, named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Replacement = str | Callable[[re.Match[str]], str]


# Words for numbers. Those of other languages than English are read only where the question is in one of them and, but
# for large numbers, before a unit: "once", "elf" and "due" are English words, too.

_LARGE = {
    "thousand": "tausend|mila",
    "million": "mio|millions|millionen|millón|millones|milion[ei]|milhão|milhões",
    "billion": "mrd|billions|milliarden?|milliards?|mil millones|miliard[oi]|mil milhões",
    "trillion": "trillions|billionen|billones",
}
_SUFFIXES = {"k": "thousand", "m": "million", "b": "billion", "t": "trillion"}  # also with an "n": "bn"
_WORDS = {
    "ein eine einen einer un une uno una um uma": "1", "zwei deux dos due dois duas": "2",
    "drei trois tres tre três": "3", "vier quatre cuatro quattro quatro": "4", "fünf cinq cinco cinque": "5",
    "sechs six seis sei": "6", "sieben sept siete sette sete": "7", "acht huit ocho otto oito": "8",
    "neun neuf nueve nove": "9", "zehn dix diez dieci dez": "10", "elf onze once undici": "11",
    "zwölf douze doce dodici doze": "12", "dreizehn treize trece tredici treze": "13",
    "vierzehn quatorze catorce quattordici catorze": "14", "fünfzehn quinze quince quindici": "15",
    "sechzehn seize dieciséis sedici dezesseis": "16", "siebzehn diecisiete diciassette dezessete": "17",
    "achtzehn dieciocho diciotto dezoito": "18", "neunzehn diecinueve diciannove dezenove": "19",
    "zwanzig vingt veinte venti vinte": "20", "dreißig trente treinta trenta trinta": "30",
    "vierzig quarante cuarenta quaranta quarenta": "40", "fünfzig cinquante cincuenta cinquanta cinquenta": "50",
    "hundert cien cento cem": "100",
    "halbe halben halbes halber demi media medio mezza mezzo mezz meia meio": "0.5",
    "anderthalb eineinhalb": "1.5", "zweieinhalb": "2.5",
}  # fmt: skip
_IN_FIGURES = {word: figures for words, figures in _WORDS.items() for word in words.split()}
_COUNTS = {
    word: figures for word, figures in _IN_FIGURES.items() if word != "sei" and figures not in ("0.5", "1")
}
_AND_A_HALF = "(?:and a half|y medi[ao]|et demie?|e mezz[ao]|e mei[ao])"
_MONTHS = (
    "januar janvier enero gennaio janeiro", "februar février febrero febbraio fevereiro", "märz mars marzo março",
    "avril abril aprile", "mai mayo maggio maio", "juni juin junio giugno junho", "juli juillet julio luglio julho",
    "août agosto", "septembre septiembre settembre setembro", "oktober octobre octubre ottobre outubro",
    "novembre noviembre novembro", "dezember décembre diciembre dicembre dezembro",
)  # fmt: skip
_MONTH = {name: month for names, month in zip(_MONTHS, MONTHS, strict=True) for name in names.split()}
_ABROAD = re.compile(  # a question in German, French, Spanish, Italian or Portuguese
    r"[¿]|\b(?:wie|wann|wer|wo|warum|welche[rsmn]?|wieviele?|quel(?:le)?s?|combien|quand|où|que|qui|pourquoi|comment"
    r"|cuál(?:es)?|cuánt[oa]s?|cuándo|qué|quant[oaie]|qual[ei]?|quando|che|como|onde|est[- ]ce)\b|^was \w+t\b",
    re.IGNORECASE,
)
_TIME_ABROAD = re.compile(
    r"\b(?:wann|um wie ?viel uhr|quelle heure|quand|qué hora|che ora|que horas)\b", re.IGNORECASE
)
_COUNT_ABROAD = re.compile(r"\b(?:wie ?viele?|combien|cuánt[oa]s|quant[ieo]s?)\b", re.IGNORECASE)


def _word(match: re.Match[str]) -> str:
    figures, thing = _IN_FIGURES.get(match[1].lower()), match[2].lower()
    return f"{figures} " if figures and (named(thing) or thing == "uhr") else match[0]


def _and_a_half(match: re.Match[str]) -> str:
    said, unit = match["value"].lower(), match["unit"] or match["thing"]
    value = Fraction(1) if said in ("a", "an", "un", "une", "una", "um", "uma") else number(said)
    known = value is not None and value < 10**6 and named(unit.lower())
    return f"{float(value) + 0.5} {unit}" if value is not None and known else match[0]


def _part(match: re.Match[str]) -> str:
    part = "0.5" if match["part"].lower() == "half" else "0.75" if match["three"] else "0.25"
    return match[0] if named(match["unit"].lower()) is None else f"{part} {match['unit']}"


def _together(match: re.Match[str]) -> str:
    """One amount for two: "6 ft 4 in" as "76 in"; unchanged where the second is no part of the first."""
    first, second = named(match["first"].lower()), named(match["second"].lower())
    if first is None or second is None or first.base != second.base or first.zero or first.base in CURRENCIES:
        return match[0]
    whole, more = Fraction(match["whole"]) * first.factor / second.factor, Fraction(match["more"])
    if first.factor <= more * second.factor:
        return match[0]
    return f"{float(whole + more)} {match['second']}".replace(".0 ", " ")


def _often(match: re.Match[str]) -> str:
    return f"{('once', 'twice', 'thrice').index(match[1].lower()) + 1} times"


def _date(match: re.Match[str]) -> str:
    """ "9.11.1989" as "9 november 1989"."""
    month = int(match[2])
    return f"{match[1]} {MONTHS[month - 1]} {match[3]}" if 1 <= month <= 12 else match[0]


def _month(match: re.Match[str]) -> str:
    return f" {_MONTH[(match[1] or match[2]).lower()]}"


def _time(match: re.Match[str]) -> str:
    return f"{match[1]}:{next((part for part in match.groups()[1:] if part), '00')}"


# What is replaced, in order.


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


def _steps(*steps: tuple[str, Replacement]) -> tuple[tuple[re.Pattern[str], Replacement], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), into) for pattern, into in steps)


def _joined(match: re.Match[str]) -> str:
    return re.sub(r"\D", "", match[0])


UNIT = rf"(?:{_any_of(UNITS)})(?![^\W\d])"
_SCALE = rf"(?:{'|'.join(_LARGE.values())}|{'|'.join(SCALES)})\b"
_SYMBOL = rf"(?:{_any_of(name for name, unit in UNITS.items() if unit.base in CURRENCIES and len(name) < 4)})"
_ALONE, _ENDS = r"(?<![\w.,])", r"(?![\d.,]*\d)"
_POINTED = _ALONE + r"[1-9]\d{0,2}(?:\.\d{3})"
_EVERYWHERE = _steps(
    (rf"(?<![\d.])(\d\d?)\.(\d\d?)\.(\d{{4}}){_ENDS}", _date),
    (r"\b(?:minus|negative|moins|menos|meno) (?=[$€£¥]? ?\d)", "-"),
    (r"(?<=\d) ?[x×*·⋅] ?10 ?\^ ?\(?([-+]?\d{1,3})\)?", r"e\1"),
    (r"\b(\d\d?) ?['’′] ?(\d\d?) ?(?:[\"”″]|''|′′)", r"\1 ft \2 in"),
    (rf"{_ALONE}[1-9]\d{{0,2}}(?:[ '’]\d{{3}})+(?!\w)|{_POINTED}{{2,}}{_ENDS}|{_POINTED}+(?=,\d\d?{_ENDS})", _joined),
    (rf"(?<![\d.,])(\d+),(\d\d?|\d{{4,}})(?= ?(?:(?!in\b){UNIT}|{_SCALE}))", r"\1.\2"),
    (rf"(?<![\d.,])(0),(\d+){_ENDS}|(?<!\w)({_SYMBOL} ?\d+),(\d\d?){_ENDS}", r"\1\3.\2\4"),
    (r"([$€£] ?\d[\d.,]*)m\b", r"\1 million"),
    *((rf"(?<=\d) ?(?:{large}|{names})\b\.?(?: d[ei](?= )| d['’])?", f" {large} ") for large, names in _LARGE.items()),
    (rf"\b(?P<value>[\w.]+) (?:(?P<unit>[^\W\d]+) {_AND_A_HALF}|and a half (?P<thing>[^\W\d]+))\b", _and_a_half),
    (r"\b(?:(?P<three>three )|an? |one )?(?P<part>half|quarters?)(?: of)? (?:an?|one) (?P<unit>[^\W\d]+)", _part),
    (r"\b(once|twice|thrice)(?= (?:an?|per|each|every|daily|weekly|monthly|yearly)\b)", _often),
    (rf"\b(?P<whole>\d{{1,5}}) ?(?P<first>{UNIT})(?:,| and| und| et| y| e)? (?P<more>\d\d?) ?(?P<second>{UNIT})",
     _together),
)  # fmt: skip
_IN_OTHER_LANGUAGES = _steps(
    (rf"(?<![\d/])(\d\d?)/(\d\d?)/(\d{{4}}){_ENDS}", _date),
    (rf"(?<=\d)\.(?= (?:{'|'.join([*_MONTH, *MONTHS])})\b)", ""),
    (rf"(?<=\d)(?:er|º)? (?:de |d')?({'|'.join(_MONTH)})\b(?: del?(?= \d))?", _month),
    (rf"\b()({'|'.join(_MONTH)})(?= (?:del? )?\d{{4}})(?: del?(?= \d))?", _month),
    (rf"{_POINTED}{_ENDS}", _joined),
    (rf"(?<![\d.,])([1-9]\d{{0,2}}),(\d{{3}}){_ENDS}", r"\1.\g<2>0"),  # not to be read as thousands when read again
    (rf"(?<![\d.,])(\d+),(\d\d?){_ENDS}", r"\1.\2"),
    (r"(?<=\d) mil\b", " thousand"),
    (r"\bun an\b", "1 year"),
    (r"(?<![\w-])(?:(?:eine?|une?|una|uma) )?([^\W\d]+)[ '-](?=([^\W\d]+))", _word),
)  # fmt: skip
_ON_THE_CLOCK = _steps(
    (r"\b(\d\d?)(?:[:.](\d\d))? ?uhr(?: (\d\d))?\b", _time),
    (r"\b(\d\d?) ?(?:h|heures?)(?: ?(\d\d))?\b", _time),
)
_COUNTED = _steps((rf"(?<![\w-])({'|'.join(_COUNTS)})(?![\w-])", lambda match: _COUNTS[match[1].lower()]))
_SUFFIXED = re.compile(r"(?<=\d)(?:([kKMB])|([bmt])n)(?![\w/^])")  # a small "m" is a metre
_AMOUNT = re.compile(r"\d|half|quarter|once|twice|thrice", re.IGNORECASE)


@lru_cache(8192)
def in_figures(text: str, question: str = "") -> str:
    """The text with its amounts in figures, and numbers as English writes them.

    question  where it is not in English, words for numbers and months are read in its language, and "2.962" is a
              number of four digits

    >>> in_figures("299 792 458 m/s"), in_figures("1,50 €"), in_figures("3,4 millones de habitantes")
    ('299792458 m/s', '1.50 €', '3.4 million habitantes')
    >>> in_figures("6,02 × 10²³"), in_figures("1.900.000"), in_figures("50k people"), in_figures("-1,6 × 10⁻¹⁹")
    ('6,02e23', '1900000', '50 thousand people', '-1,6e-19')
    >>> in_figures("2.962 m"), in_figures("2.962 m", "Wie hoch ist sie?"), in_figures("1,5 or 2")
    ('2.962 m', '2962 m', '1,5 or 2')
    >>> in_figures("an hour and a half"), in_figures("2 h 15 min"), in_figures("5'9\\""), in_figures("2 in 3 m")
    ('1.5 hour', '135 min', '69 in', '2 in 3 m')
    >>> in_figures("minus 50 dollars"), in_figures("three quarters of a mile"), in_figures("half a dozen")
    ('-50 dollars', '0.75 mile', 'half a dozen')
    >>> in_figures("am 9.11.1989"), in_figures("14 juillet 1789", "Quand ?"), in_figures("Um acht Uhr", "Wann?")
    ('am 9 november 1989', '14 july 1789', 'Um 8:00')
    >>> in_figures("Hay ocho planetas.", "¿Cuántos planetas hay?"), in_figures("ocho")
    ('Hay 8 planetas.', 'ocho')
    >>> in_figures("sechzehn", "Wie viele?"), in_figures("dix-sept jours", "Combien ?")
    ('16', 'dix-sept jours')
    >>> in_figures("500 mg twice a day"), in_figures("once upon a time")
    ('500 mg 2 times a day', 'once upon a time')
    """
    text = western_digits(unicodedata.normalize("NFKC", POWER.sub(r"^\g<0>", text))).replace("−", "-")
    abroad, clock = _ABROAD.search(question), _TIME_ABROAD.search(question)
    if not abroad and not _AMOUNT.search(text):
        return text
    text = _SUFFIXED.sub(lambda match: f" {_SUFFIXES[match[match.lastindex or 1].lower()]}", text)
    counted = _COUNTED if _COUNT_ABROAD.search(question) else ()
    steps = (_IN_OTHER_LANGUAGES if abroad else ()) + counted + _EVERYWHERE + (_ON_THE_CLOCK if clock else ())
    for pattern, into in steps:
        text = pattern.sub(into, text)
    return re.sub(" +", " ", text).strip()
