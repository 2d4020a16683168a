"""Short forms: initials of many-word names made by rule, and tables of symbols, formulas and usual short forms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out
from ..vocabulary import words
from .wording import say

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

_SMALL = {"of", "the", "and", "for", "in", "on", "de", "a", "an", "to", "at", "&"}
_TABLE = (
    "CO2=carbon dioxide|H2O=water|O2=oxygen|N2=nitrogen|CH4=methane|H2SO4=sulfuric acid|HCl=hydrochloric acid|"
    "NaOH=sodium hydroxide|O3=ozone|H2O2=hydrogen peroxide|C2H5OH=ethanol|CaCO3=calcium carbonate|SO2=sulfur dioxide|"
    "N2O=nitrous oxide|Fe2O3=iron oxide|H2=hydrogen|HNO3=nitric acid|C6H12O6=glucose|NaHCO3=baking soda|"
    "UN=United Nations|UK=United Kingdom|US=United States|USA=United States of America|EU=European Union|"
    "NATO=North Atlantic Treaty Organization|NASA=National Aeronautics and Space Administration|"
    "FBI=Federal Bureau of Investigation|BBC=British Broadcasting Corporation|IMF=International Monetary Fund|"
    "WTO=World Trade Organization|DNA=deoxyribonucleic acid|TV=television|PC=personal computer|LA=Los Angeles|"
    "NYC=New York City|DC=District of Columbia|AI=artificial intelligence|GDP=gross domestic product|"
    "PM=prime minister|CEO=chief executive officer|WW2=World War II|WWII=the Second World War|MP=Member of Parliament|"
    "JFK=John F. Kennedy|FDR=Franklin D. Roosevelt|LBJ=Lyndon B. Johnson|MLK=Martin Luther King|"
    "UAE=United Arab Emirates|"
    "USSR=Soviet Union|GDR=East Germany|ROK=South Korea|DPRK=North Korea|PRC=China|NZ=New Zealand|SF=San Francisco|"
    "IBM=International Business Machines|GE=General Electric|GM=General Motors|HP=Hewlett-Packard|"
    "BMW=Bayerische Motoren Werke|"
    "MIT=Massachusetts Institute of Technology|UCLA=University of California, Los Angeles|"
    "ICBM=intercontinental ballistic missile|"
    "RAF=Royal Air Force|SAS=Special Air Service|IRA=Irish Republican Army|PLO=Palestine Liberation Organization|"
    "OPEC=Organization of the Petroleum Exporting Countries|UNICEF=United Nations Children's Fund|"
    "IOC=International Olympic Committee|"
    "ECB=European Central Bank|CERN=European Organization for Nuclear Research|ESA=European Space Agency|"
    "NHL=National Hockey League|"
    "NFL=National Football League|MLB=Major League Baseball|NCAA=National Collegiate Athletic Association|"
    "PhD=Doctor of Philosophy|"
    "HIV=human immunodeficiency virus|ADHD=attention deficit hyperactivity disorder|TB=tuberculosis|"
    "MRI=magnetic resonance imaging|"
    "CPU=central processing unit|RAM=random access memory|HTML=hypertext markup language|GPS=global positioning system|"
    "UFO=unidentified flying object|DIY=do it yourself|ATM=automated teller machine|SUV=sport utility vehicle|"
    "Mt Everest=Mount Everest|St Petersburg=Saint Petersburg|Ft Worth=Fort Worth|Dr Watson=Doctor Watson|"
    "Sgt Pepper=Sergeant Pepper|Capt Cook=Captain Cook|Jan=January|Feb=February|Tue=Tuesday|Sat=Saturday|"
    "approx 5=approximately 5|Sq km=square kilometre|mph=miles per hour|kWh=kilowatt hour|rpm=revolutions per minute"
)
_ELEMENTS = words("""
    H hydrogen He helium Li lithium Be beryllium B boron C carbon N nitrogen O oxygen F fluorine Ne neon Na
    sodium Mg magnesium Al aluminium Si silicon P phosphorus S sulfur Cl chlorine Ar argon K potassium Ca
    calcium Sc scandium Ti titanium V vanadium Cr chromium Mn manganese Fe iron Co cobalt Ni nickel Cu copper Zn
    zinc Ga gallium Ge germanium As arsenic Se selenium Br bromine Kr krypton Rb rubidium Sr strontium Ag silver
    Cd cadmium Sn tin Sb antimony I iodine Xe xenon Cs caesium Ba barium W tungsten Pt platinum Au gold Hg
    mercury Pb lead Bi bismuth Rn radon Ra radium U uranium Pu plutonium
""")


def initials(name: str) -> str | None:
    """The initials of the words that count, where there are at least two.

    >>> initials("Federal Bureau of Investigation"), initials("Paris")
    ('FBI', None)
    """
    words = [word for word in re.findall(r"[^\W\d_][\w']*|&", name) if word.lower() not in _SMALL]
    return "".join(word[0].upper() for word in words) if 2 <= len(words) <= 6 else None


def pairs(rng: random.Random, names: Sequence[str], *, test: bool, count: int) -> Iterator[Pair]:
    """Initials of `names`, against other initials and other names, and the tables, split by the long form."""
    table = [tuple(row.split("=")) for row in _TABLE.split("|")]
    table += list(zip(_ELEMENTS[::2], _ELEMENTS[1::2], strict=True))
    for short, long in table:
        if held_out(long) == test:
            for _ in range(4):
                yield from _row(short, long, [row for row in table if row[1] != long], rng)
    usable = [(made, name) for name in names if held_out(name) == test and (made := initials(name))]
    for _ in range(count):
        yield from _row(*rng.choice(usable), usable, rng)


def _row(short: str, long: str, others: Sequence[tuple[str, ...]], rng: random.Random) -> Iterator[Pair]:
    form = rng.choice((short, short, ".".join(short) + "." if short.isalpha() and short.isupper() else short))
    longer = rng.choice((long, long, f"the {long}", f"{long} ({short})"))
    question = rng.choice(("", "", "What is it called?", "Which is it?"))
    yield from both("abbreviations", question, say(form, rng), say(longer, rng), ENTAILMENT)
    other_short, other_long = rng.choice(others)
    if initials(other_long) != short and other_short != short:
        yield from both("abbreviations", question, say(form, rng), say(other_long, rng), CONTRADICTION)
        yield Pair("abbreviations", question, say(form, rng), say(other_short, rng), CONTRADICTION)
