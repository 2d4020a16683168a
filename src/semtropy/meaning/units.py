"""Units and currencies: the base unit each name belongs to, and its exact factor."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["CURRENCIES", "UNITS"]

# Names of one unit are separated by spaces ("_" stands for a space in a name), units of one base by "|".
_TABLE = {
    "metre": "m metre metres meter meters=1|km kilometre kilometres kilometer kilometers kms=1000|"
    "cm centimetre centimetres centimeter centimeters=1/100|"
    "mm millimetre millimetres millimeter millimeters=1/1000|"
    "mi mile miles=1609.344|yd yard yards=0.9144|ft foot feet=0.3048|in inch inches=0.0254|"
    "nautical_mile nautical_miles=1852|light_year light_years light-year light-years=9460730472580800",
    "square metre": "square_metre square_metres square_meter square_meters m^2 sqm=1|"
    "ha hectare hectares=10000|acre acres=4046.8564224|"
    "square_kilometre square_kilometres square_kilometer square_kilometers km^2=1000000|"
    "square_mile square_miles=2589988.110336|square_foot square_feet sq_ft=0.09290304",
    "gram": "g gram grams gramme grammes=1|kg kilogram kilograms kilo kilos kgs=1000|"
    "mg milligram milligrams=1/1000|"
    "tonne tonnes=1000000|lb lbs pound-weight=453.59237|oz ounce ounces=28.349523125",
    "second": "s sec secs second seconds=1|ms millisecond milliseconds=1/1000|min mins minute minutes=60|"
    "h hr hrs hour hours=3600|day days=86400|week weeks=604800|fortnight fortnights=1209600",
    "month": "month months=1|year years yr yrs=12|decade decades=120|century centuries=1200|"
    "millennium millennia=12000",
    "litre": "l litre litres liter liters=1|ml millilitre millilitres milliliter milliliters=1/1000|"
    "gallon gallons gal=3.785411784|pint pints=0.473176473",
    "percent": "% percent per-cent pct=1",
    "kmh": "km/h kph kmh=1|mph=1.609344|m/s=3.6|knot knots=1.852",
    "hertz": "hz hertz=1|khz kilohertz=1000|mhz megahertz=1000000|ghz gigahertz=1000000000",
    "watt": "w watt watts=1|kw kilowatt kilowatts=1000|megawatt megawatts=1000000",
    "joule": "j joule joules=1|kj kilojoule kilojoules=1000|kcal kilocalorie kilocalories=4184|kwh=3600000",
    "volt": "v volt volts=1",
    "ampere": "amp amps ampere amperes=1",
    "byte": "byte bytes=1|kb kilobyte kilobytes=1000|mb megabyte megabytes=1000000|"
    "gb gigabyte gigabytes=1000000000|tb terabyte terabytes=1000000000000",
}
_CURRENCY_TABLE = {
    "dollar": "$ us$ usd dollar dollars us_dollar us_dollars buck bucks=1|cent cents=1/100",
    "euro": "€ eur euro euros=1",
    "pound": "£ gbp pound pounds pound_sterling pounds_sterling=1|pence=1/100",
    "yen": "¥ jpy yen=1",
    "rupee": "₹ inr rupee rupees=1",
    "won": "₩ krw won=1",
    "rouble": "₽ rub ruble rubles rouble roubles=1",
    "franc": "chf swiss_franc swiss_francs franc francs=1",
    "yuan": "cny rmb yuan renminbi=1",
    "peso": "mxn peso pesos=1",
    "australian dollar": "a$ aud australian_dollar australian_dollars=1",
    "canadian dollar": "c$ cad canadian_dollar canadian_dollars=1",
}


def _read(table: dict[str, str]) -> dict[str, tuple[str, Fraction]]:
    units: dict[str, tuple[str, Fraction]] = {}
    for base, members in table.items():
        for member in members.split("|"):
            names, _, factor = member.rpartition("=")
            units |= {name.replace("_", " "): (base, Fraction(factor)) for name in names.split()}
    return units


CURRENCIES = frozenset(_CURRENCY_TABLE)
UNITS = _read(_TABLE) | _read(_CURRENCY_TABLE)
