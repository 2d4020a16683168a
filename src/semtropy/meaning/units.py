"""Units and currencies by their names in six languages: the base unit of each kind, and how to convert to it."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit, as its base unit and what its values are multiplied by, after `zero` was added.

    >>> named("km"), named("°f").to_base(Fraction(-40)) == named("°c").to_base(Fraction(-40))
    (Unit(base='metre', factor=Fraction(1000, 1), zero=Fraction(0, 1)), True)
    """

    base: str
    factor: Fraction
    zero: Fraction = Fraction(0)

    def to_base(self, value: Fraction) -> Fraction:
        return (value + self.zero) * self.factor

    def from_base(self, value: Fraction) -> Fraction:
        return value / self.factor - self.zero


# Names of one unit are separated by spaces ("_" stands for a space in a name), units of one base by "|". English is
# followed by German, French, Spanish, Italian and Portuguese, where a name cannot be mistaken for an English word.
_MEASURES = {
    "metre": "m metre metres meter meters metern mètre mètres metros metri=1|"
    "km kms kilometre kilometres kilometer kilometers kilometern kilomètre kilomètres kilómetro kilómetros"
    " chilometro chilometri quilômetro quilômetros quilómetro quilómetros=1000|"
    "cm centimetre centimetres centimeter centimeters zentimeter zentimetern centimètre centimètres centímetros"
    " centimetri=1/100|"
    "mm millimetre millimetres millimeter millimeters millimetern millimètres milímetros millimetri=1/1000|"
    "μm micrometre micrometres micrometer micrometers=1/1000000|nm nanometre nanometres nanometer nanometers=1e-9|"
    "mi mile miles meile meilen milla millas miglia milha milhas=1609.344|yd yard yards=0.9144|"
    "ft foot feet fuß=0.3048|in inch inches zoll pulgadas=0.0254|nautical_mile nautical_miles=1852|"
    "light_year light_years light-year light-years lichtjahr lichtjahre=9460730472580800",
    "square metre": "square_metre square_metres square_meter square_meters m^2 m2 sqm sq_m quadratmeter"
    " mètres_carrés metros_cuadrados metri_quadrati metros_quadrados=1|"
    "ha hectare hectares hektar hectáreas ettari=10000|acre acres=4046.8564224|"
    "square_kilometre square_kilometres square_kilometer square_kilometers km^2 km2 sq_km quadratkilometer"
    " kilomètres_carrés kilómetros_cuadrados chilometri_quadrati quilômetros_quadrados quilómetros_quadrados=1000000|"
    "square_mile square_miles sq_mi=2589988.110336|square_foot square_feet sq_ft ft^2=0.09290304",
    "gram": "g gram grams gramme grammes gramm gramos grammi gramas=1|"
    "kg kgs kilogram kilograms kilo kilos kilogramm kilogramme kilogrammes kilogramos chilo chili chilogrammi quilo"
    " quilos quilogramas=1000|mg milligram milligrams milligramm miligramos=1/1000|"
    "μg mcg microgram micrograms mikrogramm microgrammes microgramos=1/1000000|"
    "tonne tonnes tonnen tonnellata tonnellate tonelada toneladas=1000000|"
    "lb lbs pound-weight=453.59237|oz ounce ounces=28.349523125",
    "second": "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondi=1|"
    "ms millisecond milliseconds=1/1000|min mins minute minutes minuten minuto minutos minuti=60|"
    "h hr hrs hour hours stunde stunden std heure heures hora horas ora ore=3600|"
    "day days tag tage tagen jour jours día días giorno giorni dia dias=86400|"
    "week weeks woche wochen semaine semaines semana semanas settimana settimane=604800|"
    "fortnight fortnights=1209600",
    "month": "month months monat monate monaten mois mes meses mese mesi mês=1|"
    "year years yr yrs jahr jahre jahren ans année années año años anno anni ano anos=12|"
    "decade decades=120|century centuries jahrhundert jahrhunderte siècle siècles=1200|"
    "millennium millennia=12000",
    "litre": "l litre litres liter liters litern litro litros litri=1|cl=1/100|dl=1/10|"
    "ml millilitre millilitres milliliter milliliters mililitros=1/1000|m^3 cubic_metre cubic_metres cubic_meters=1000|"
    "gallon gallons gal=3.785411784|pint pints=0.473176473|cup cups=0.2365882365|"
    "tbsp tablespoon tablespoons=0.01478676478125|tsp teaspoon teaspoons=0.00492892159375",
    "percent": "% percent per-cent per_cent pct prozent pour_cent por_ciento per_cento por_cento=1",
    "metre/second": "kmh km/h kph stundenkilometer=1/3.6|mph=0.44704|knot knots knoten=1852/3600",
    "hertz": "hz hertz=1|khz kilohertz=1000|mhz megahertz=1000000|ghz gigahertz=1000000000",
    "watt": "w watt watts=1|kw kilowatt kilowatts=1000|megawatt megawatts=1000000",
    "joule": "j joule joules=1|kj kilojoule kilojoules=1000|"
    "kcal kilocalorie kilocalories calorie calories kalorien=4184|kwh=3600000",
    "volt": "v volt volts=1",
    "ampere": "amp amps ampere amperes=1",
    "pascal": "pa pascal pascals=1|hpa=100|kpa=1000|bar=100000|psi=6894.757293168",
    "byte": "bit bits=1/8|kbit kilobit kilobits=125|mbit megabit megabits=125000|gbit gigabit gigabits=125000000|"
    "byte bytes=1|kb kilobyte kilobytes=1000|mb megabyte megabytes=1000000|gb gigabyte gigabytes=1e9|"
    "tb terabyte terabytes=1e12",
    "byte/second": "kbps=125|mbps=125000|gbps=125000000",
    "degree": "° degree degrees grad degré degrés grados graus gradi=1",
    "kelvin": "k kelvin kelvins=1|°c celsius centigrade=1+273.15|°f fahrenheit=5/9+459.67",
}
_MONEY = {
    "dollar": "$ us$ usd dollar dollars us_dollar us_dollars buck bucks dólar dólares=1|cent cents=1/100",
    "euro": "€ eur euro euros=1",
    "pound": "£ gbp pound pounds pound_sterling pounds_sterling=1|pence=1/100",
    "yen": "¥ jpy yen=1",
    "rupee": "₹ inr rupee rupees=1",
    "won": "₩ krw won=1",
    "rouble": "₽ rub ruble rubles rouble roubles=1",
    "franc": "chf swiss_franc swiss_francs franc francs franken=1",
    "yuan": "cny rmb yuan renminbi=1",
    "peso": "mxn peso pesos=1",
    "real": "r$ brl reais=1",
    "zloty": "zł pln zloty zlotys=1",
    "australian dollar": "a$ aud australian_dollar australian_dollars=1",
    "canadian dollar": "c$ cad canadian_dollar canadian_dollars=1",
}


def _read(table: dict[str, str]) -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for base, members in table.items():
        for member in members.split("|"):
            names, _, size = member.rpartition("=")
            factor, _, zero = size.partition("+")
            top, _, bottom = factor.partition("/")
            unit = Unit(base, Fraction(top) / Fraction(bottom or 1), Fraction(zero or 0))
            units |= {name.replace("_", " "): unit for name in names.split()}
    return units


CURRENCIES = frozenset(_MONEY)
UNITS = _read(_MEASURES) | _read(_MONEY)
BASES = frozenset(unit.base for unit in UNITS.values())
_DEGREES = re.compile(
    rf"(?:{'|'.join(name for name, unit in UNITS.items() if unit.base == 'degree')}) ?(?=[cfk]$|\w{{6}})"
)
_PER = re.compile(r" ?/ ?| (?:per|an?|each|every|pro|im|par|por|al?) ")
_ADVERBS = {
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year"
}  # fmt: skip


@lru_cache(4096)
def named(name: str) -> Unit | None:
    """The unit of a name in lower case, also one of a rate; None for any other word.

    >>> named("kilometres per hour") == named("km/h"), named("dollars a month") == named("$/month")
    (True, True)
    >>> named("degrees celsius") == named("°c"), named("seats"), named("mi/s").base
    (True, None, 'metre/second')
    """
    if name in UNITS:
        return UNITS[name]
    if len(name) > 40:
        return None
    degrees = _DEGREES.match(name)
    if degrees:
        scale = UNITS.get(name[degrees.end() :], UNITS.get("°" + name[degrees.end() :]))
        return scale if scale is not None and scale.base == "kelvin" else None
    parts = _rate(name)
    over, under = (UNITS[part] for part in parts) if parts else (None, None)
    if over is None or under is None or over.zero or under.base not in ("second", "month"):
        return None
    return Unit(f"{over.base}/{under.base}", over.factor / under.factor)


def each_time(name: str) -> str | None:
    """What a rate counts of which people often leave out how often: once a day, week, month or year.

    >>> each_time("dollars a month"), each_time("litres daily"), each_time("km per hour"), each_time("km")
    ('dollars', 'litres', None, None)
    """
    counted, period = _rate(name) or ("", "s")
    return counted if UNITS[period].base == "month" or UNITS[period].factor >= 86400 else None


def _rate(name: str) -> tuple[str, str] | None:
    """The two units of a rate: "dollars" and "month" for "dollars a month" or "dollars monthly"."""
    thing, *period = _PER.split(name)
    if not period:
        thing, _, adverb = name.rpartition(" ")
        period = [_ADVERBS.get(adverb, "")]
    return (thing, period[0]) if len(period) == 1 and thing in UNITS and period[0] in UNITS else None
