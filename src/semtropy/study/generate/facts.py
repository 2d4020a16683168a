"""The set `facts`: questions written for this project, so that recordings of them can be shared.

Capitals and their countries, chemical elements, and sums: from what every model knows to what a small one makes up.
"""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

from ...nouns import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["questions"]

SUMS = 120

_CAPITALS = """
Afghanistan:Kabul Albania:Tirana Algeria:Algiers Andorra:Andorra_la_Vella Angola:Luanda
Argentina:Buenos_Aires Armenia:Yerevan Australia:Canberra Austria:Vienna Azerbaijan:Baku Bahrain:Manama
Bangladesh:Dhaka Barbados:Bridgetown Belarus:Minsk Belgium:Brussels Belize:Belmopan Benin:Porto-Novo
Bhutan:Thimphu Bosnia_and_Herzegovina:Sarajevo Botswana:Gaborone Brazil:Brasilia
Brunei:Bandar_Seri_Begawan Bulgaria:Sofia Burkina_Faso:Ouagadougou Burundi:Gitega Cambodia:Phnom_Penh
Cameroon:Yaounde Canada:Ottawa Cape_Verde:Praia Central_African_Republic:Bangui Chad:N'Djamena
Chile:Santiago China:Beijing Colombia:Bogota Comoros:Moroni Costa_Rica:San_Jose Croatia:Zagreb Cuba:Havana
Cyprus:Nicosia Denmark:Copenhagen Djibouti:Djibouti_City Dominica:Roseau Dominican_Republic:Santo_Domingo
East_Timor:Dili Ecuador:Quito Egypt:Cairo El_Salvador:San_Salvador Eritrea:Asmara Estonia:Tallinn
Ethiopia:Addis_Ababa Fiji:Suva Finland:Helsinki France:Paris Gabon:Libreville Georgia:Tbilisi
Germany:Berlin Ghana:Accra Greece:Athens Guatemala:Guatemala_City Guinea:Conakry Guinea-Bissau:Bissau
Guyana:Georgetown Haiti:Port-au-Prince Honduras:Tegucigalpa Hungary:Budapest Iceland:Reykjavik
India:New_Delhi Indonesia:Jakarta Iran:Tehran Iraq:Baghdad Ireland:Dublin Italy:Rome Jamaica:Kingston
Japan:Tokyo Jordan:Amman Kazakhstan:Astana Kenya:Nairobi Kiribati:Tarawa Kuwait:Kuwait_City
Kyrgyzstan:Bishkek Laos:Vientiane Latvia:Riga Lebanon:Beirut Lesotho:Maseru Liberia:Monrovia Libya:Tripoli
Liechtenstein:Vaduz Lithuania:Vilnius Luxembourg:Luxembourg_City Madagascar:Antananarivo Malawi:Lilongwe
Malaysia:Kuala_Lumpur Maldives:Male Mali:Bamako Malta:Valletta Mauritania:Nouakchott Mauritius:Port_Louis
Mexico:Mexico_City Micronesia:Palikir Moldova:Chisinau Mongolia:Ulaanbaatar Montenegro:Podgorica
Morocco:Rabat Mozambique:Maputo Myanmar:Naypyidaw Namibia:Windhoek Nepal:Kathmandu Netherlands:Amsterdam
New_Zealand:Wellington Nicaragua:Managua Niger:Niamey Nigeria:Abuja North_Korea:Pyongyang
North_Macedonia:Skopje Norway:Oslo Oman:Muscat Pakistan:Islamabad Palau:Ngerulmud Panama:Panama_City
Papua_New_Guinea:Port_Moresby Paraguay:Asuncion Peru:Lima Philippines:Manila Poland:Warsaw Portugal:Lisbon
Qatar:Doha Romania:Bucharest Russia:Moscow Rwanda:Kigali Saint_Lucia:Castries Samoa:Apia
Saudi_Arabia:Riyadh Senegal:Dakar Serbia:Belgrade Seychelles:Victoria Sierra_Leone:Freetown
Singapore:Singapore Slovakia:Bratislava Slovenia:Ljubljana Solomon_Islands:Honiara Somalia:Mogadishu
South_Korea:Seoul South_Sudan:Juba Spain:Madrid Sudan:Khartoum Suriname:Paramaribo Sweden:Stockholm
Switzerland:Bern Syria:Damascus Taiwan:Taipei Tajikistan:Dushanbe Tanzania:Dodoma Thailand:Bangkok
Togo:Lome Tonga:Nuku'alofa Trinidad_and_Tobago:Port_of_Spain Tunisia:Tunis Turkey:Ankara
Turkmenistan:Ashgabat Tuvalu:Funafuti Uganda:Kampala Ukraine:Kyiv United_Arab_Emirates:Abu_Dhabi
United_Kingdom:London United_States:Washington,_D.C. Uruguay:Montevideo Uzbekistan:Tashkent
Vanuatu:Port_Vila Venezuela:Caracas Vietnam:Hanoi Yemen:Sanaa Zambia:Lusaka Zimbabwe:Harare
"""

_ELEMENTS = """
H:hydrogen He:helium Li:lithium Be:beryllium B:boron C:carbon N:nitrogen O:oxygen F:fluorine Ne:neon
Na:sodium Mg:magnesium Al:aluminium Si:silicon P:phosphorus S:sulfur Cl:chlorine Ar:argon K:potassium
Ca:calcium Sc:scandium Ti:titanium V:vanadium Cr:chromium Mn:manganese Fe:iron Co:cobalt Ni:nickel
Cu:copper Zn:zinc Ga:gallium Ge:germanium As:arsenic Se:selenium Br:bromine Kr:krypton Rb:rubidium
Sr:strontium Y:yttrium Zr:zirconium Nb:niobium Mo:molybdenum Tc:technetium Ru:ruthenium Rh:rhodium
Pd:palladium Ag:silver Cd:cadmium In:indium Sn:tin Sb:antimony Te:tellurium I:iodine Xe:xenon Cs:caesium
Ba:barium La:lanthanum Ce:cerium Pr:praseodymium Nd:neodymium Pm:promethium Sm:samarium Eu:europium
Gd:gadolinium Tb:terbium Dy:dysprosium Ho:holmium Er:erbium Tm:thulium Yb:ytterbium Lu:lutetium Hf:hafnium
Ta:tantalum W:tungsten Re:rhenium Os:osmium Ir:iridium Pt:platinum Au:gold Hg:mercury Tl:thallium Pb:lead
Bi:bismuth
"""


def questions() -> Iterator[Question]:
    """All questions of the set, always the same.

    >>> sum(1 for _ in questions())
    715
    """
    capitals = [pair.replace("_", " ").split(":") for pair in _CAPITALS.split()]
    for country, capital in capitals:
        yield Question(f"capital/{country}", f"What is the capital of {country}?", None, (capital,))
        yield Question(f"country/{capital}", f"Of which country is {capital} the capital?", None, (country,))
    for number, pair in enumerate(_ELEMENTS.split(), start=1):
        symbol, element = pair.split(":")
        yield Question(f"symbol/{element}", f"What is the chemical symbol of {element}?", None, (symbol,))
        yield Question(f"number/{element}", f"What is the atomic number of {element}?", None, (str(number),))
        yield Question(f"element/{symbol}", f"Which element has the symbol {symbol}?", None, (element,))
    yield from _sums()


def _sums() -> Iterator[Question]:
    """Sums, products and differences of one to three digits.

    A few draws repeat an earlier sum. These are drawn again from a second generator and get a new number, so that all
    other sums keep the ids they have in existing recordings.
    """
    rng, spare, numbers = random.Random(0), random.Random(1), itertools.count(SUMS)
    asked: set[str] = set()
    for index in range(SUMS):
        text, result = _sum(index, rng)
        number = next(numbers) if text in asked else index
        while text in asked:
            text, result = _sum(index, spare)
        asked.add(text)
        yield Question(f"sum/{number}", text, None, (str(result),))


def _sum(index: int, rng: random.Random) -> tuple[str, int]:
    largest = 9 * 10 ** (index % 3)
    a, b = rng.randint(2, largest), rng.randint(2, largest)
    sign, result = [("plus", a + b), ("minus", a - b), ("times", a * b)][index // 3 % 3]
    return f"What is {a} {sign} {b}?", result
