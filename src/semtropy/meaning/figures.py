"""Numbers and amounts as English writes them in figures: "1,9 Mio." as "1.9 million", "2 h 15 min" as "135 min"."""

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

_LARGE = {
    "thousand": "tausend|mila|mil",
    "million": "mio|millions|millionen|millón|millones|milion[ei]|milhão|milhões",
    "billion": "mrd|billions|milliarden?|milliards?|mil millones|miliard[oi]|mil milhões",
    "trillion": "trillions|billionen|billones",
}
_SUFFIXES = {"k": "thousand", "m": "million", "b": "billion", "mn": "million", "bn": "billion", "tn": "trillion"}
# Read before a unit only: "once", "elf" and "due" are English words, too.
_WORDS = {
    "ein eine einen einer un une uno una um uma": "1", "zwei deux dos due dois duas": "2", "drei trois tres tre três": "3",
    "vier quatre cuatro quattro quatro": "4", "fünf cinq cinco cinque": "5", "sechs seis sei": "6",
    "sieben sept siete sette sete": "7", "acht huit ocho otto oito": "8", "neun neuf nueve nove": "9",
    "zehn dix diez dieci dez": "10", "elf onze once undici": "11", "zwölf douze doce dodici doze": "12",
    "fünfzehn quinze quince quindici": "15", "zwanzig vingt veinte venti vinte": "20",
    "dreißig trente treinta trenta trinta": "30", "vierzig quarante cuarenta quaranta quarenta": "40",
    "fünfzig cinquante cincuenta cinquanta cinquenta": "50", "hundert cien cento cem": "100",
    "halbe halben demi media mezza mezzo mezz meia": "0.5", "anderthalb eineinhalb": "1.5", "zweieinhalb": "2.5",
}  # fmt: skip
_ONE = dict.fromkeys(("a", "an", "un", "une", "una", "um", "uma"), "1")
_IN_FIGURES = {word: figures for words, figures in _WORDS.items() for word in words.split()}
_AND_A_HALF = "(?:and a half|y medi[ao]|et demie?|e mezz[ao]|e mei[ao])"
_MONTHS_ABROAD = (
    "januar janvier enero gennaio janeiro", "februar février febrero febbraio fevereiro", "märz mars marzo março",
    "avril abril aprile", "mai mayo maggio maio", "juni juin junio giugno junho", "juli juillet julio luglio julho",
    "août agosto", "septembre septiembre settembre setembro", "oktober octobre octubre ottobre outubro",
    "novembre noviembre novembro", "dezember décembre diciembre dicembre dezembro",
)  # fmt: skip
_MONTH = {name: month for names, month in zip(_MONTHS_ABROAD, MONTHS, strict=True) for name in names.split()}
_TIME_ASKED = re.compile(r"\b(?:wann|quelle heure|quand|qué hora|cuándo|che ora|quando|que horas)\b", re.IGNORECASE)
# Languages that write 1.234,5 for 1,234.5 and ask with these words.
_COMMA_ASKED = re.compile(
    r"\b(?:wie|wann|welche[rsmn]?|wieviele?|um wie|quel(?:le)?s?|combien|quand|cuál(?:es)?|cuánt[oa]s?|cuándo|qué"
    r"|quant[oaie]|qual[ei]?|quando|dove|che ora|que horas|est[- ]ce)\b|^was \w+t\b",
    re.IGNORECASE,
)


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


_UNIT = rf"(?:{_any_of(UNITS)})(?![^\W\d])"
_AFTER = rf"(?= ?(?:(?!in\b){_UNIT}|(?:{'|'.join([*_LARGE.values(), *SCALES])})\b))"
_SYMBOL = rf"(?:{_any_of(name for name, unit in UNITS.items() if unit.base in CURRENCIES and len(name) < 4)})"
_ALONE = r"(?<![\w.,])"
_POINTED = _ALONE + r"[1-9]\d{0,2}(?:\.\d{3})"


def _without(signs: str) -> Callable[[re.Match[str]], str]:
    return lambda match: re.sub(signs, "", match[0])


def _with_a_half(match: re.Match[str]) -> str:
    value = number(_ONE.get(match["value"].lower(), match["value"].lower()))
    unit = match["unit"] or match["thing"]
    if value is None or named(unit.lower()) is None:
        return match[0]
    return f"{float(value) + 0.5} {unit}"


def _part(match: re.Match[str]) -> str:
    value = Fraction(1, 2) if match["part"].lower() == "half" else Fraction(3 if match["part"][-1] in "sS" else 1, 4)
    return match[0] if named(match["unit"].lower()) is None else f"{float(value)} {match['unit']}"


def _counted(match: re.Match[str]) -> str:
    figures = _IN_FIGURES.get(match[1].lower())
    return f"{figures} " if figures and (named(match[2].lower()) or match[2].lower() == "uhr") else match[0]


def _together(match: re.Match[str]) -> str:
    """One amount for two: "6 ft 4 in" as "76 in"; unchanged where the second is no part of the first."""
    first, second = named(match["first"].lower()), named(match["second"].lower())
    if first is None or second is None or first.base != second.base or first.zero or first.base in CURRENCIES:
        return match[0]
    more = Fraction(match["more"])
    if first.factor <= more * second.factor:
        return match[0]
    whole = first.from_base(Fraction(0)) + Fraction(match["whole"]) * first.factor / second.factor + more
    return f"{float(whole):g} {match['second']}" if whole < 10**6 else match[0]


def _month(match: re.Match[str]) -> str:
    return f" {_MONTH[(match[1] or match[2]).lower()]}"


def _dated(match: re.Match[str]) -> str:
    """ "9.11.1989" as "9 november 1989"."""
    month = int(match[2])
    return f"{match[1]} {MONTHS[month - 1]} {match[3]}" if 1 <= month <= 12 else match[0]


def _on_the_clock(match: re.Match[str]) -> str:
    hour, minutes = match[1], next((part for part in match.groups()[1:] if part), "00")
    return f"{hour}:{minutes}"


_Step = tuple[re.Pattern[str], "str | Callable[[re.Match[str]], str]"]


def _steps(*steps: tuple[str, str | Callable[[re.Match[str]], str]]) -> tuple[_Step, ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), into) for pattern, into in steps)


_ANY_MONTH = "|".join(_MONTH)
_EVERYWHERE = _steps(
    (r"(?<![\d.])(\d\d?)\.(\d\d?)\.(\d{4})(?![\d.])", _dated),
    (rf"(?<=\d)\.(?= (?:{_ANY_MONTH}|{'|'.join(MONTHS)})\b)", ""),
    (rf"(?:(?<=\d)(?:er|º)? (?:de |d')?({_ANY_MONTH})\b|\b({_ANY_MONTH})(?= (?:del? )?\d{{4}}))(?: del?(?= \d))?", _month),
    (r"(?<=\d) ?[x×*·⋅] ?10 ?\^ ?\(?([-+]?\d{1,3})\)?", r"e\1"),
    (_ALONE + r"[1-9]\d{0,2}(?:[ '’]\d{3})+(?!\w)", _without("[ '’]")),
    (_POINTED + r"{2,}(?!\d|\.\d)", _without(r"\.")),
    (_POINTED + r"+(?=,\d\d?(?!\d))", _without(r"\.")),
    (rf"(?<![\d.,])(\d+),(\d\d?|\d{{4,}}){_AFTER}|(?<![\d.,])(0),(\d+)(?![\d,])", r"\1\3.\2\4"),
    (rf"(?<!\w)({_SYMBOL} ?\d+),(\d\d?)(?![\d,])", r"\1.\2"),
    (r"([$€£] ?\d[\d.,]*)m\b", r"\1 million"),
    *((rf"(?<=\d) ?(?:{names}|{large})\b\.?(?: (?:de |d'|di ))?", f" {large} ") for large, names in _LARGE.items()),
    (r"\bun an\b", "1 year"),
    (r"\b(?:(?:eine?|une?|una|uma) )?([^\W\d]+)[ '-](?=([^\W\d]+))", _counted),
    (rf"\b(?P<value>[\w.]+) (?:(?P<unit>[^\W\d]+) {_AND_A_HALF}|and a half (?P<thing>[^\W\d]+))\b", _with_a_half),
    (r"\b(?:(?P<parts>three|an?|one) )?(?P<part>half|quarters?)(?: of)? (?:an?|one) (?P<unit>[^\W\d]+)", _part),
    (rf"\b(?P<whole>\d+) ?(?P<first>{_UNIT})(?:,| and| und| et| y| e)? (?P<more>\d+) ?(?P<second>{_UNIT})", _together),
)  # fmt: skip
_WITH_COMMAS = _steps(
    (r"(?<![\d/])(\d\d?)/(\d\d?)/(\d{4})(?![\d/])", _dated),
    (_POINTED + r"(?![\d.,])", _without(r"\.")),
    (r"(?<![\d.,])([1-9]\d{0,2}),(\d{3})(?![\d.,])", r"\1.\g<2>0"),  # not to be read as thousands when read again
    (r"(?<![\d.,])(\d+),(\d\d?)(?![\d.,])", r"\1.\2"),
)
_AT_TIMES = _steps(
    (r"\b(\d\d?)(?:[:.](\d\d))? ?uhr(?: (\d\d))?\b", _on_the_clock),
    (r"\b(\d\d?) ?(?:h|heures?)(?: ?(\d\d))?\b", _on_the_clock),
)
_SUFFIXED = re.compile(r"(?<=\d)(?:[kKMB]|bn|mn|tn)(?![\w/^])")  # "5m" is five metres, and "$5m" is in the table


@lru_cache(8192)
def in_figures(text: str, question: str = "") -> str:
    """The text with its amounts in figures, and numbers as English writes them.

    question  where its language writes commas for points, "2.962" is a number of four digits

    >>> in_figures("299 792 458 m/s"), in_figures("1,50 €"), in_figures("3,4 millones de habitantes")
    ('299792458 m/s', '1.50 €', '3.4 million habitantes')
    >>> in_figures("6,02 × 10²³"), in_figures("1.900.000"), in_figures("50k people"), in_figures("-1,6 × 10⁻¹⁹")
    ('6,02e23', '1900000', '50 thousand people', '-1,6e-19')
    >>> in_figures("2.962 m"), in_figures("2.962 m", "Wie hoch ist sie?"), in_figures("1,5 or 2")
    ('2.962 m', '2962 m', '1,5 or 2')
    >>> in_figures("an hour and a half"), in_figures("2 hours 15 minutes"), in_figures("deux ans"), in_figures("2 in 3 m")
    ('1.5 hour', '135 minutes', '2 ans', '2 in 3 m')
    >>> in_figures("half an hour"), in_figures("three quarters of a mile"), in_figures("half a dozen")
    ('0.5 hour', '0.75 mile', 'half a dozen')
    >>> in_figures("am 9.11.1989"), in_figures("le 14 juillet 1789"), in_figures("Um acht Uhr", "Wann?")
    ('am 9 november 1989', 'le 14 july 1789', 'Um 8:00')
    """
    text = western_digits(unicodedata.normalize("NFKC", POWER.sub(r"^\g<0>", text))).replace("−", "-")
    text = _SUFFIXED.sub(lambda match: f" {_SUFFIXES[match[0].lower()]}", text)
    steps = _EVERYWHERE + (_WITH_COMMAS if _COMMA_ASKED.search(question) else ())
    for pattern, into in steps + (_AT_TIMES if _TIME_ASKED.search(question) else ()):
        text = pattern.sub(into, text)
    return re.sub(" +", " ", text).strip()
