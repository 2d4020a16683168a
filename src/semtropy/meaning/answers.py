"""What a sentence answers: yes or no, or the words that it adds to those of the question.

"Faust was written by Johann Wolfgang von Goethe." answers "Who wrote Faust?" with what remains once the question's own
words are gone, and "Penguins can't fly." answers "Do penguins fly?" with no. These rules speak only where they are
certain; everything else is None here and left to a network.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from .dates import MONTHS
from .figures import in_figures
from .quantities import Quantity, contradict, quantity, read_figures, settled
from .spelling import ABOUT, SMALL_WORDS, TELLING_WORDS, normalise, plain_signs, without_accents

_LONGEST = 300  # characters of an answer: more is several statements
_QUESTION = 1000  # characters at the end of a prompt in which its question stands
_MARKS = " .,;:!?\"'`*()[]¿¡…"
_SENTENCES = re.compile(r"(?<=\w{4}[.!?])\s+(?=\S)")  # not after "Mrs." or an initial
_IRREGULAR = """write wrote written|win won|beat beaten|make made|find found founded|build built|sing sang sung|
begin began begun|become became|give gave given|take took taken|know knew known|grow grew grown|fly flew flown|
draw drew drawn|speak spoke spoken|break broke broken|choose chose chosen|drive drove driven|ride rode ridden|
rise rose risen|fall fell fallen|lead led|leave left|lose lost|meet met|pay paid|say said|sell sold|send sent|
sink sank sunk|sit sat|stand stood|teach taught|think thought|wear wore worn|bear bore born|run ran|
come came|hold held|keep kept|hide hid hidden|eat ate eaten|drink drank drunk|swim swam swum|shoot shot|bring brought|
buy bought|catch caught|fight fought|feel felt|do does did done|go goes went gone|see saw seen|have has had|
marry marries married|die died dies|play plays played|star starred stars|direct directed directs|live lived lives|
compose composed composes|invent invented invents|discover discovered discovers|locate located|use used uses""".replace(
    "\n", ""
)
_STEMS = {word: group.split()[0] for group in _IRREGULAR.split("|") for word in group.split()}
_ENDINGS = ("ing", "ies", "ed", "es", "s", "e")
# What may stand around an answer in a sentence without adding to it.
_EMPTY = SMALL_WORDS - {"with", "from", "to", "for", "and"} | {
    "be", "been", "there", "he", "she", "they", "his", "her", "their", "these", "those", "which", "who", "what",
    "called", "named", "known", "as", "has", "have", "had", "do", "does", "did", "you", "your", "we", "our",
}  # fmt: skip
_LEAD = re.compile(
    r"(?:(?:sure|well|ok|okay|so|hmm)[,.!:]? )?"
    r"(?:(?:i (?:think|believe|guess|suppose|would say)|i'd say|i'm (?:fairly|pretty|quite) sure|as far as i know"
    r"|if i (?:remember|recall) correctly|if i'm not mistaken|to my knowledge|in my opinion)(?:,| that\b)? )?"
    r"(?:(?:(?:you(?:'d| can| could| should| would| need to| have to| must)? )?(?:use|run|type|enter|press|call)"
    r"|the command|the answer) (?=\S))?"
)
_SENTENCE = re.compile(
    r"\b(?:is|was|are|were|has|have|had)\b|\b(?:(?:it|that|he|she|there|here|what|who)'s|\w+'re) \w"
    r"|\S\s+\S+\s+\S*[\w`)\"'][.!]\W*$"
    r"|^(?:use|call|run|press|type) \S",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"`([^`]+)`|\w[\w.]*\([^()]*\)|(?<!\S)--?[a-zA-Z][\w-]*|(?<!\S)\w*_\w+|(?<!\S)\w+~\w+"
    r"|(?<!\S):\w+!?(?=[\s.,;)]|$)|(?<!\S)(?:[=!<>]==?|[-+*/%:]=|&&|\|\||<<|>>|\*\*|//|\+\+|\?\?)(?=[\s.,;)]|$)"
)
_QUOTED = re.compile(r"`([^`]+)`")
_CODE_ASKED = re.compile(
    r"\bhow (?:do|can|could|should|would|to)\b|\b(?:wie|comment|cómo|come|como)\b"
    r"|\b(?:command|option|flag|code|shortcut|keys?|function|method|operator|keyword|query|statement|expression"
    r"|syntax|befehl|commande|comando)\b"
)
_CODE_AFTER = re.compile(
    r"(?<=[.!])\s*\n```.*\Z", re.DOTALL
)  # it illustrates an answer that is complete without it
_PLACEHOLDER = re.compile(
    r"(?<=\w) (?:<[a-z][\w -]*>"
    r"|(?:/?path/to/)?(?:your[_-]?)?(?:file(?:[_-]?name)?|dir|directory|folder)(?:\.\w{1,4})?)(?=`)"
)
_KEYS = {
    "⌘": "command", "cmd": "command", "command": "command", "ctrl": "control", "control": "control", "strg": "control",
    "opt": "option", "option": "option", "alt": "alt", "shift": "shift", "win": "windows", "windows": "windows",
}  # fmt: skip
_CHORD = re.compile(  # "Command-C", "Ctrl + Shift + T", "⌘C"
    rf"(?<!\w)(?P<held>(?:⌘\s?[-+]?\s?|(?:{'|'.join(_KEYS)})(?: key)?\s?[-+]\s?)+)"
    r"(?P<last>\w|f\d\d?|tab|enter|return|esc|escape|del|delete|space)(?!\w)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d[\d.,]*) ?(?:-|to|and) ?(\d[\d.,]*)")
_OPERAND = r"\(?[$€£]?\d[\d.,]*\)?"
_EQUATION = re.compile(  # "2 * 14 = 28", "\\(19 \\times 4 = 76\\)", "$2 \\times 14 = 28$"
    rf"(?:\\[(\[]|\$)?\s?{_OPERAND}(?:\s?(?:[-+*/×÷·x]|\\times|\\cdot|\\div)\s?{_OPERAND})+\s?=\s?"
    r"(?P<result>-?[$€£]?\d(?:[\d.,]*\d)?)(?:\s?\\[)\]]|\$(?!\d))?"
)
_AMOUNT_ASKED = re.compile(
    r"^what(?:'s| is| was| are| were) .*\b(?:rate|price|cost|fee|fare|salary|revenue|balance|limit|share|fraction|ratio"
    r"|temperature|distance|speed|height|length|width|depth|weight|mass|charge|area|volume|capacity|size|dose|dosage"
    r"|boiling point|melting point|freezing point|population|number|altitude|elevation|duration|lifespan|age|score)\b|"
    r"^what(?:'s| is| are) [\d($€£]|\bwhat (?:does|do|did) .*\b(?:cost|weigh|measure)\b|"
    r"\bhow (?:many|much|long|far|old|tall|high|often|fast|big|large|heavy|deep|wide|hot|cold)\b|^when\b"
    r"|\b(?:what|which) (?:year|time|date|temperature|percentage|share|fraction|age|number|size|port|price)\b"
    r"|\bwie ?(?:viele?|lange|hoch|weit|alt|groß|oft|schnell|schwer|tief|teuer|warm)\b|\bwann\b|^was (?:kostet|wiegt)\b"
    r"|\bcombien\b|\bquand\b|\ben quelle année\b|\bcuánt[oa]s?\b|\bcuándo\b|\bquant[oaie]\b|\bquando\b"
    r"|(?:quelle heure|qué hora|che ora|que horas)\b|\b(?:quel(?:le)?|cuál|qual|welche|was) (?:est|es|è|é|ist)\b.*"
    r"\b(?:vitesse|hauteur|longueur|profondeur|taille|distance|superficie|population|température|taux|prix|poids|durée"
    r"|velocidad|altura|longitud|distancia|superficie|población|temperatura|precio|peso|altitud|velocità|altezza|lunghezza"
    r"|distanza|popolazione|prezzo|velocidade|comprimento|distância|população|preço|\w*geschwindigkeit|höhe|länge"
    r"|entfernung|fläche|\w*temperatur|einwohnerzahl|preis)\b"
)
_LONGEST_AMOUNT = 6  # words: "2.5 million kilometres per hour"
_SPAN = re.compile(r"(\d[\d.,]*) ?(?:-|to|and) ?(\d[\d.,]*) (?:(?:business|working|full|whole) )?(\w+)")
_FIGURE = re.compile(r"\d[\d.,]*")
_NUMERAL = re.compile(
    rf"[-+]?[$€£¥]?-?\d|(?:{'|'.join(MONTHS)}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty)\b"
)
_CLOSING = {"close", "closes", "closed", "closing", "end", "ends", "expire", "expires"}
_BEATS = re.compile(r"\bbpm\b", re.IGNORECASE)
_BE = {"is", "was", "are", "were"}
_COPULAS = _BE | {"be", "been", "became", "become", "called", "named", "as"}
_KIND = re.compile(
    r"\b(?:(?:which|what) (?!is\b|was\b|are\b|were\b|do\b|does\b|did\b)"
    r"|(?:cuál es|quel(?:le)? est|wie heißt|welche[rsmn]?) (?:(?:el|la|le|der|die|das) |l')?)(\w{3,})\b"
)
_ARTICLES = frozenset({"the", "el", "la", "le", "der", "die", "das"})
_ASKED = re.compile(r"\b(?:who|whom|whose|which|what|when|where|why|how)\b")
_OPEN = re.compile(
    r"\b(?:who|whom|whose|which|what|when|where|why|how|name|list|tell|give|or|wer|wen|wem|wessen|was für|welche[rsmn]?"
    r"|wann|wo|woher|wohin|warum|wieso|wie|wieviele?|womit|oder|qui|que|quoi|quel(?:le)?s?|où|quand|pourquoi|comment"
    r"|combien|ou|quién|quiénes|qué|cuál|cuáles|cuándo|dónde|cómo|cuánt[oa]s?|o)\b"
)
_AND_WHY = re.compile(  # "Can dogs eat it, and why?" asks for yes or no, and for a reason
    r",? (?:and|und|et|y|e) (?:why|warum|wieso|pourquoi|por qué|perché)(?: (?:not|or why not|nicht|pas|no|non))?$"
)
_QUE = re.compile(r"\best[- ]ce qu(?:e|')\s?")  # opens a French question for yes or no
_YES = r"yes|yeah|yep|yup|correct|true|right|affirmative|certainly|definitely|absolutely|of course|ja|jawohl|oui|sí|si"
_NO = r"no|nope|nah|incorrect|false|wrong|negative|nein|non|no way|not at all|certainly not|definitely not"
_FIRST = re.compile(rf"(?:(?P<no>{_NO})|(?P<yes>{_YES}))(?=[,.!;:]|\s[-–—]|$)(?P<rest>.*)", re.DOTALL)
_SHORTLY = re.compile(  # "It does: ...", "They can't, ..."
    r"(?:it|that|they|he|she|this|these|those|you|we|i|there)\s(?P<verb>is|are|was|were|does|do|did|can|could|will|would"
    r"|should|must|may|has|have|had)(?P<no>n?'t|not|\snot)?(?=[,.!;:]|\s[-–—]|$)(?P<rest>.*)",
    re.DOTALL,
)
_DOUBT = re.compile(
    r"\b(?:but|however|unless|except|only|depends?|although|though|if|partly|partially|sometimes|maybe|perhaps|and no"
    r"|aber|außer|nur|teilweise|mais|sauf|seulement|pero|salvo|solo|sólo)\b"
)
_CONCESSION = re.compile(  # what follows restricts how or when, and the answer stands
    r"[,.;:] ?(?:but|however|although|though|aber|mais|pero)\b(?!,? (?:not?|never|nicht|nein|non|pas)\b)"
)
_NEGATED = re.compile(
    r"\b(?:not?|never|cannot|none|neither|nor|without|nobody|nothing|unable|nicht|keine?[nmrs]?|nie|ne|pas|jamais"
    r"|aucune?|nunca|ningun[oa]?)\b|n't\b|\bn'"
)
_DENIED_CHOICE = re.compile(r",? (?:and )?(?:not|rather than|instead of) (?:an? |the )?[\w -]+")
_MANNER = re.compile(r",? (?:through|via|using|because|since|thanks to|due to)\b.*", re.DOTALL)
_ENGLISH = frozenset({
    "is", "are", "was", "were", "do", "does", "did", "can", "could", "will", "would", "should", "has", "have", "had",
    "may", "might", "must", "am",
})  # fmt: skip
_AUXILIARY = _ENGLISH | {
    "ist", "sind", "war", "hat", "haben", "kann", "können", "darf", "dürfen", "muss", "soll", "wird", "man", "es",
}  # fmt: skip
_WITHIN = frozenset(
    {"spring", "summer", "autumn", "fall", "winter", "end", "beginning", "middle", "mid", "least"}
)
_BEFORE_CHRIST = re.compile(r"\d ?(?:bc|b\.c)", re.IGNORECASE)
_NOT = frozenset({"not", "nicht", "kein", "keine", "keinen", "keiner", "keinem"})
_EMPHASIS = frozenset(
    {"indeed", "really", "actually", "also", "generally", "usually", "normally", "in", "fact"}
)


class _Said(NamedTuple):
    """A sentence without the question's words: what remains, and the plain words before and after it."""

    answer: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def same_answer(question: str, a: str, b: str) -> bool | None:
    """Whether two texts give one answer to the question; None where that is not certain.

    >>> same_answer("Who wrote Faust?", "Goethe", "Faust was written by Goethe.")
    True
    >>> same_answer("Do penguins fly?", "No, they are too heavy.", "Penguins can't fly.")
    True
    >>> same_answer("Do penguins fly?", "Yes", "Penguins can't fly."), same_answer("Who won?", "Goethe", "Schiller")
    (False, None)
    >>> same_answer("How far is it?", "It is 5 km.", "5,000 m")
    True
    >>> same_answer("When does it close?", "8 pm", "It is open until 20:00.")
    True
    >>> same_answer("How fast does it beat?", "60-100 bpm", "Between 60 and 100 beats per minute.")
    True
    >>> same_answer("Which command lists files?", "ls", "the ls command")
    True
    >>> same_answer("Is a whale shark a fish or a mammal?", "A fish, not a mammal.", "Whale sharks are fish.")
    True
    >>> same_answer("Who beat Rome?", "Gaul", "Rome beat Gaul.")
    """
    if max(len(a), len(b)) > _LONGEST:
        return None
    a, b = (_BEATS.sub("beats per minute", text) for text in (a, b))
    if other_code(a, b):
        return False
    if _exchanged(question, a, b) or _turned_round(a, b):
        return False
    if same_code(question, a, b) or _same_but_agreement(question, a, b):
        return True
    for said in ((_chord(a), _chord(b)), (_choice(question, a), _choice(question, b))):
        if None not in said:
            return said[0] == said[1]
    one, other = polarity(question, a), polarity(question, b)
    if one is not None or other is not None:
        if None not in (one, other):
            return (None if _AND_WHY.search(_asked(question)) else True) if one == other else False
        return False if _denied_abroad(question, a, b) else None
    amounts = _same_amount(question, in_figures(a, question), in_figures(b, question))
    if amounts is not None:
        return amounts
    if _is_phrase(a) and _is_phrase(b):
        if _same_but_kind(question, a, b):
            return True
        return None  # of two phrases, "Law" and "Law of Conservation", the longer may say more
    first, second = bare_answer(question, a), bare_answer(question, b)
    if first is None or second is None:
        return None
    # Never a refutation: without its case, "1.5m" may be metres or millions.
    return True if first == second or _equal(first, second, question) else None


_ALIKE = 0.6  # of the words of two texts, in their order: the rest stands in each other's place
_LONGEST_ALIKE = 400  # characters
_PAIRS = """
more/less most/least more/fewer many/few all/none always/never high/low higher/lower highest/lowest large/small
larger/smaller big/small bigger/smaller fast/slow faster/slower quickly/slowly long/short longer/shorter before/after
above/below inside/outside into/from hot/cold warm/cold warm/cool hotter/colder warmer/colder warmer/cooler
warms/cools heats/cools raises/lowers raise/lower rises/falls rise/fall rising/falling increases/decreases
increase/decrease increasing/decreasing expands/contracts expand/contract expands/shrinks grows/shrinks
absorbs/releases absorb/release absorbs/emits absorb/emit absorbs/reflects attracts/repels attract/repel strong/weak
stronger/weaker strengthens/weakens light/heavy lighter/heavier thick/thin thicker/thinner dense/sparse
positive/negative positively/negatively gains/loses gain/lose excess/lack excess/deficiency adds/removes add/remove
allows/prevents allow/prevent causes/prevents cause/prevent improves/worsens improve/worsen inhibits/activates
inhibit/activate blocks/activates opens/closes open/closed open/close starts/stops start/stop begins/ends
enters/leaves enter/leave buys/sells buy/sell bought/sold won/lost wins/loses win/lose gives/takes brings/takes
upload/download uploads/downloads encrypts/decrypts creates/deletes create/delete created/deleted creating/deleting
shows/hides show/hide public/private local/remote dry/wet soft/hard young/old younger/older northern/southern
north/south eastern/western east/west left/right top/bottom upper/lower upwards/downwards upward/downward up/down
legal/illegal safe/unsafe safe/dangerous healthy/unhealthy good/bad better/worse best/worst possible/impossible
reachable/unreachable minimum/maximum temporary/permanent temporarily/permanently active/inactive enable/disable
enables/disables enabled/disabled connect/disconnect evaporates/condenses melts/freezes melt/freeze inhale/exhale
combines/separates lends/borrows export/import exports/imports exported/imported cheap/expensive cheaper/dearer
early/late earlier/later first/last day/night summer/winter sweet/bitter still/no with/without
"""
OPPOSITES = frozenset(frozenset(pair.split("/")) for pair in _PAIRS.split())


def _turned_round(a: str, b: str) -> bool:
    """Whether two texts run alike but for a word in the place of its opposite; two such places cancel each other.

    >>> _turned_round("Salt lowers the freezing point.", "Salt raises the freezing point.")
    True
    >>> _turned_round("It falls as more is sold.", "It rises as less is sold.")
    False
    >>> _turned_round("It is less dense than water.", "It is denser than water.")
    True
    """
    turned = [
        pair
        for one, other in _replaced(a, b) or ()
        if not (one | other) & _NOT
        for pair in product(one, other)
        if frozenset(pair) in OPPOSITES or ("less" in one ^ other and _compares(*pair))
    ]
    return len(turned) % 2 == 1


def _compares(one: str, other: str) -> bool:
    """Whether one word is the comparative of the other: "dense" and "denser"."""
    return f"{one.removesuffix('e')}er" == other or f"{other.removesuffix('e')}er" == one


@lru_cache(4096)
def _replaced(a: str, b: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...] | None:
    """The words of two texts that stand in each other's place; None where the texts do not otherwise run alike."""
    if max(len(a), len(b)) > _LONGEST_ALIKE:
        return None
    first, second = (_words(plain_signs(text)) for text in (a, b))
    runs = SequenceMatcher(None, first, second, autojunk=False)
    if runs.real_quick_ratio() < _ALIKE or runs.ratio() < _ALIKE:
        return None
    return tuple(
        (frozenset(first[i:j]), frozenset(second[k:end]))
        for kind, i, j, k, end in runs.get_opcodes()
        if kind == "replace"
    )


def _exchanged(question: str, a: str, b: str) -> bool:
    """Whether two sentences have the same words but for two that have changed places, so that roles are exchanged.

    Both stand in the question, apart from each other in the sentences, or one of them is denied.

    >>> asked = "Who won, Spain or Ghana?"
    >>> _exchanged(asked, "Spain beat Ghana.", "Ghana beat Spain."), _exchanged(asked, "A beat B.", "B beat A.")
    (True, False)
    >>> _exchanged("What is the capital?", "The capital is Bern, not Basel.", "The capital is Basel, not Bern.")
    True
    """
    one, other = (
        [
            _stem(word)
            for word in _words(plain_signs(text))
            if word in _NOT or word not in _EMPTY | SMALL_WORDS
        ]
        for text in (a, b)
    )
    moved = [place for place, (first, second) in enumerate(zip(one, other, strict=False)) if first != second]
    if len(one) != len(other) or len(moved) != 2:
        return False
    start, end = moved
    if (one[start], one[end]) != (other[end], other[start]) or any(map(str.isdigit, one[start] + one[end])):
        return False
    between = one[start + 1 : end]
    asked = _content(question)
    return not _NOT.isdisjoint(between) or (bool(between) and {one[start], one[end]} <= asked)


def _equal(first: str, second: str, question: str) -> bool:
    """Whether two amounts are one: "May 2004" says 2004, and "2004" does not say May."""
    return bool(settled(first, second, question) and settled(second, first, question))


def _same_amount(question: str, a: str, b: str) -> bool | None:
    """Whether both give one amount, and the same, where an amount is asked for; None where that is not certain."""
    if (
        not _AMOUNT_ASKED.search(_asked(question))
        or len(set(map(bool, map(_BEFORE_CHRIST.search, (a, b))))) > 1
    ):
        return None
    spans = [_RANGE.findall(_EQUATION.sub(r" \g<result> ", plain_signs(text))) for text in (a, b)]
    if any(spans):
        alone = all(len(_FIGURE.findall(text)) == 2 for text in (a, b) if _is_phrase(text))
        same = len(spans[0]) == 1 and spans[0] == spans[1] and alone and not contradict(a, b, question)
        same = same or _same_range(question, a, b)
    else:
        same = _same_one(question, a, b)
    return True if same else False if _apart(question, a, b) else None


def _same_range(question: str, a: str, b: str) -> bool:
    """Whether each gives one range and no other number, and their ends are the same.

    >>> _same_range("How often?", "Every 5,000 to 7,500 miles.", "Every 8,000-12,000 km.")
    True
    """
    ranges = [_SPAN.findall(plain_signs(text)) for text in (a, b)]
    if any(len(found) != 1 for found in ranges) or any(len(_FIGURE.findall(text)) != 2 for text in (a, b)):
        return False
    ends = [[f"{end} {unit}" for end in (low, high)] for ((low, high, unit),) in ranges]
    return all(_equal(one, other, question) for one, other in zip(*ends, strict=True))


def _same_one(question: str, a: str, b: str) -> bool:
    """Whether each gives one amount, and the same. Of two phrases, each must begin with it, and one say no more.

    >>> asked = "How long is the bridge?"
    >>> _same_one(asked, "5 km", "5,000 m from bank to bank"), _same_one(asked, "5 km", "unknown, like 5 km")
    (True, False)
    >>> _same_one("How many of the 5 teams won?", "12", "12 of 5")
    False
    """
    first, second = amount_said(question, a), amount_said(question, b)
    if first is None or second is None or not _equal(first, second, question):
        return False
    if not (_is_phrase(a) and _is_phrase(b)):
        return True
    asked, only = _content(question), []
    for text, amount in ((a, _content(first)), (b, _content(second))):
        said = [_stem(word) for word in _words(plain_signs(text)) if word not in _EMPTY | ABOUT]
        added = [word for word in said if word not in asked]
        given = any(word in asked and any(map(str.isdigit, word)) for word in said)
        if given or (added and added[0] not in amount):
            return False
        only.append(set(added) <= amount)
    return any(only)


def _is_phrase(text: str) -> bool:
    return not (is_sentence(text) or _EQUATION.search(text))


def _apart(question: str, a: str, b: str) -> bool:
    """Whether both give an amount or a range in units of one kind, and they have nothing in common."""
    one, other = _span(question, a), _span(question, b)
    if one is None or other is None or one[0].unit != other[0].unit or one[0].thing or not one[0].unit:
        return False
    return one[1].value * 20 < other[0].value * 19 or other[1].value * 20 < one[0].value * 19


def _span(question: str, text: str) -> tuple[Quantity, Quantity] | None:
    """The least and the largest amount that a text gives: "3 to 5 business days"."""
    ranges = _SPAN.findall(plain_signs(text))
    if ranges:
        alone = len(_FIGURE.findall(plain_signs(text))) == 2
        ends = [quantity(f"{end} {ranges[0][2]}") for end in ranges[0][:2]] if alone else []
    else:
        said = amount_said(question, text)
        ends = [None if said is None else quantity(said)] * 2
    low, high = ends if len(ends) == 2 else (None, None)
    return None if low is None or high is None or low.date or high.date else (low, high)


@lru_cache(4096)
def amount_said(question: str, text: str) -> str | None:
    """The one amount in a text that the prompt does not have; None where there are more, or words that change it.

    Of a calculation only the result counts, and of several the last.

    >>> amount_said("How much memory does it need?", "You need a minimum of four gigabytes.")
    'four gigabytes'
    >>> amount_said("Ann has 2 boxes of 14 pens. How many pens?", "In 2 boxes of 14 there are 2 * 14 = 28 pens.")
    '28'
    >>> amount_said("How many?", "More than 5."), amount_said("How many?", "5 or 6"), amount_said("How many?", "Many")
    (None, None, None)
    """
    if quantity(text) is not None:
        return text
    results = [match["result"] for match in _EQUATION.finditer(text)]
    words = [word.strip(_MARKS) for word in _EQUATION.sub(r" \g<result> ", text).split()]
    words = [word for word in words if word]
    asked = set(_words(_asked(question)))
    telling = (TELLING_WORDS | _WITHIN) - asked
    if not asked.isdisjoint(_CLOSING):
        telling -= {"until", "till"}  # what is open until eight closes at eight
    if any(word.casefold() in telling or _NEGATED.search(word.casefold()) for word in words):
        return None
    found, place = [], 0
    given = set(_words(plain_signs(question[-_QUESTION:])))
    while place < len(words):
        part = _leading_amount(words[place : place + _LONGEST_AMOUNT], asked)
        if part is not None:
            marked = place > 0 and words[place - 1].casefold().removeprefix("~") in ABOUT
            found.append(f"about {part}" if marked else part)
        elif any(map(str.isdigit, words[place])) and words[place].casefold() not in given:
            return None  # a number that is not read: "60-100", "v2"
        place += 1 if part is None else len(part.split(" "))
    new = [part for part in found if not set(part.removeprefix("about ").casefold().split()) <= given]
    if results and new and new[-1].split()[0] == results[-1].strip(_MARKS):
        return new[-1]
    converted = all(_equal(new[0], each, question) for each in new[1:])  # "324 m (1,063 ft)"
    return new[0] if new and converted else None


def _leading_amount(words: list[str], asked: set[str]) -> str | None:
    """The amount that some words begin with, without the noun where it is the one that is asked for."""
    for size in range(len(words), 0, -1):
        part = " ".join(words[:size])
        amount = read_figures(part) if _NUMERAL.match(part.casefold()) else None
        if amount is None:
            continue
        if not amount.thing or (size == 2 and _stem(amount.thing) not in map(_stem, asked)):
            return part
    return None


def other_code(a: str, b: str) -> bool:
    """Whether each of two texts has code or a command with a word that the other text does not have.

    >>> other_code("Use `ls -a`.", "ls -l"), other_code("O(log n)", "It is O(n)."), other_code("Run ls -a", "`ls -a`")
    (True, True, False)
    >>> other_code("Use `==`.", "===")
    True
    """
    first, second = _code(a), _code(b)
    return bool(first and second and first - _code_words(b) and second - _code_words(a))


def same_code(question: str, a: str, b: str) -> bool:
    """Whether both texts quote the same code where code is asked for, word for word, and neither denies anything.

    Code of the question is what they speak of, not what they say. One word of code, where that is all of a text, need
    not be quoted.

    >>> asked = "How do I list them?"
    >>> same_code(asked, "Use `ls -a`.", "Use the `ls` command with the `-a` flag."), same_code(asked, "`a b`", "`b a`")
    (True, False)
    >>> same_code(asked, "Use `ls -a`.", "Do not use `ls -a`."), same_code(asked, "Paris", "Rome")
    (False, False)
    >>> same_code(asked, ":q!", "Press Esc, then type :q! and Enter."), same_code(asked, "Run ls -r.", "Run rm -r.")
    (True, False)
    >>> same_code("How can `git` help me?", "`git` saves changes.", "`git` deletes changes.")
    False
    """
    if not _CODE_ASKED.search(_asked(question)) or _denies(a) or _denies(b):
        return False
    asked = _code_words(question)
    parts = [[part.split() for part in _QUOTED.findall(text)] for text in (a, b)]
    quoted = [[word for part in each if not asked.issuperset(part) for word in part] for each in parts]
    if all(quoted):
        return quoted[0] == quoted[1]
    one, other = _code(a) - asked, _code(b) - asked
    return len(one) == 1 and one == other and one in (_code_words(a), _code_words(b))


def without_code_after(text: str) -> str:
    """An answer without the block of code that follows it: it illustrates an answer that is complete without it.

    >>> without_code_after("4 strings.\\n\\n```python\\nprint(4)\\n```"), without_code_after("Run:\\n```\\nls\\n```")
    ('4 strings.', 'Run:\\n```\\nls\\n```')
    """
    return _CODE_AFTER.sub("", text)


def without_placeholder(text: str) -> str:
    """A quoted command without the word at its end that stands for a file or a folder of the reader's.

    >>> without_placeholder("Use `git blame <file>`."), without_placeholder("`cat path/to/file.txt`")
    ('Use `git blame`.', '`cat`')
    >>> without_placeholder("`cat notes.txt`"), without_placeholder("The tag is `<b>`.")
    ('`cat notes.txt`', 'The tag is `<b>`.')
    """
    return _PLACEHOLDER.sub("", text) if "`" in text else text


def _code(text: str) -> set[str]:
    """The words of a text that are code: in backticks, calls, options and names with an underscore."""
    return {word for match in _CODE.finditer(text) for word in _code_words(match[1] or match[0])}


def _code_words(text: str) -> set[str]:
    return {word.strip("`'\"").rstrip(".,;:!?").strip("`'\"") for word in text.split()}


def _chord(text: str) -> frozenset[str] | None:
    """The keys that a text says to press together; None where it names no shortcut, several, or denies one.

    >>> sorted(_chord("You copy with Cmd+C.")), _chord("Ctrl+C, or Cmd+C on a Mac")
    (['c', 'command'], None)
    >>> _chord("Press Windows key + L.") == _chord("Win+L")
    True
    """
    found = {
        frozenset(
            [_KEYS[key] for key in re.findall(r"⌘|\w+", match["held"].lower()) if key != "key"]
            + [match["last"].lower()]
        )
        for match in _CHORD.finditer(text)
    }
    return found.pop() if len(found) == 1 and not _denies(text) else None


def is_sentence(text: str) -> bool:
    """Whether a text is a sentence rather than a phrase: it has a common verb, or three words and a full stop.

    >>> is_sentence("It's Paris"), is_sentence("Bell invented the telephone."), is_sentence("Yes, he did.")
    (True, True, True)
    >>> is_sentence("Paris, France."), is_sentence("Washington, D.C."), is_sentence("Sancho's horse")
    (False, False, False)
    """
    return _SENTENCE.search(text) is not None


@lru_cache(4096)
def polarity(question: str, text: str) -> bool | None:
    """Whether a text says yes (True) or no (False) to a question for that; None for any other question or text.

    >>> polarity("Do penguins fly?", "No, they swim."), polarity("Do penguins fly?", "Penguins fly.")
    (False, True)
    >>> polarity("Do penguins fly?", "Only on holiday."), polarity("Why do penguins fly?", "No.")
    (None, None)
    >>> polarity("Do whales breathe air?", "Whales breathe air through their lungs.")
    True
    >>> polarity("Can I take both?", "Yes, you can, but do not take more than six a day.")
    True
    >>> polarity("Do penguins fly, and why?", "They do not fly because they are too heavy.")
    False
    >>> polarity("Do penguins fly?", "They don't: they swim."), polarity("Does it work?", "It does, even offline.")
    (False, True)
    >>> polarity("Is the Nile longer than the Rhine?", "The Rhine is longer than the Nile.")
    """
    asked = _AND_WHY.sub("", _asked(question))
    if _OPEN.search(_QUE.sub(" ", asked)) or _NEGATED.search(asked.replace(" without ", " ")) or not asked:
        return None
    said = plain_signs(text).strip(" \"'`*")
    first = _FIRST.match(said)
    if first:
        rest, *conceded = _CONCESSION.split(first["rest"])
        if _DOUBT.search(" ".join([rest, *conceded])):
            return None
        if first["yes"] and _NEGATED.search(rest) and _stem(_words(asked)[-1]) in map(_stem, _words(rest)):
            return None  # "Yes, they don't fly."
        return None if first["yes"] and _says_other(asked, rest) else first["no"] is None
    shortly = _SHORTLY.match(said)
    if shortly and shortly["verb"] == _words(asked)[0]:
        return None if _DOUBT.search(shortly["rest"]) else not shortly["no"]
    return None if _NEGATED.search(asked) else _restated(asked, said)


def _denied_abroad(question: str, a: str, b: str) -> bool:
    """Whether one of two answers in another language than English denies, the other does not, and they share no words.

    The network, which has learned from English, takes them for the same.

    >>> _denied_abroad("Kann man es trinken?", "Man kann es bedenkenlos tun.", "Nein, das ist nicht zu empfehlen.")
    True
    """
    known = _content(question)
    words = [_content(text) - known for text in (a, b)]
    return (
        _words(_asked(question))[0] not in _ENGLISH
        and _denies(a) != _denies(b)
        and words[0].isdisjoint(words[1])
    )


def _same_but_agreement(question: str, a: str, b: str) -> bool:
    """Whether one text is the other after a "yes" or a "no", and the other does not say the opposite.

    >>> asked = "Is Pluto a planet?"
    >>> _same_but_agreement(asked, "No, it is a dwarf planet.", "It is a dwarf planet.")
    True
    >>> _same_but_agreement(asked, "No, it is a planet.", "It is a planet."), _same_but_agreement("", "No.", "No")
    (False, False)
    """
    first, second = (_FIRST.match(plain_signs(text).strip(" \"'`*")) for text in (a, b))
    if (first is None) == (second is None):
        return False
    rest, other = (second["rest"], a) if first is None else (first["rest"], b)  # type: ignore[index]
    statement = normalise(rest.lstrip(" ,.;:!-"))
    opposed = {polarity(question, a), polarity(question, b)} == {True, False}
    return len(statement.split()) > 1 and statement == normalise(other) and not opposed


def _says_other(asked: str, rest: str) -> bool:
    """Whether what follows a "yes" says that the subject is something that the question does not mention.

    >>> _says_other("is the earth flat", ", the earth is round."), _says_other("is the earth flat", ", it is.")
    (True, False)
    """
    words = _words(re.split(r"[.;:!?,](?:\s|$)", rest.strip(_MARKS))[0])
    place = next((n for n, word in enumerate(words) if word in _BE), None)
    known = _content(asked)
    if place is None or _words(asked)[0] not in _BE or not _content(" ".join(words[:place])) <= known:
        return False
    said = _content(" ".join(words[place + 1 :])) - {_stem(word) for word in _EMPHASIS}
    return bool(said) and said.isdisjoint(known)


def _restated(asked: str, said: str) -> bool | None:
    """Yes or no where a text says the question as a statement, its words in the question's order."""
    question = [word for word in _words(asked) if word not in _AUXILIARY and word not in SMALL_WORDS]
    if not question or _words(asked)[0] not in _AUXILIARY or _DOUBT.search(said):
        return None
    if not _MANNER.search(asked):
        said = _MANNER.sub("", said)
    words = _words(re.sub(r"n't\b", " not", said).replace("cannot", "can not"))
    denials = [word for word in words if _NEGATED.fullmatch(word)]
    if len(denials) > 1 or set(denials) - _NOT:
        return None
    content = [
        word for word in words if word not in _AUXILIARY | SMALL_WORDS | _EMPHASIS | _NOT | {"ca", "wo"}
    ]
    pronoun = content[:1] and content[0] in ("they", "it", "he", "she", "you", "i", "we")
    stems, own = [_stem(word) for word in question], [_stem(word) for word in content]
    if pronoun:  # stands for the subject, so that the rest must be the end of the question
        own = own[1:]
        if not own or stems[len(stems) - len(own) :] != own or len(own) == len(stems):
            return None
    elif own != stems:
        return None
    return not denials


@lru_cache(4096)
def bare_answer(question: str, text: str) -> str | None:
    """What a text adds to the question's words, in one piece; None where that is not certain to be the answer.

    >>> bare_answer("Who wrote Faust?", "Faust was written by Goethe."), bare_answer("Who wrote Faust?", "Goethe")
    ('goethe', 'goethe')
    >>> bare_answer("Who wrote Faust?", "Goethe wrote Faust in Weimar.")
    >>> bare_answer("Who beat Brazil?", "Brazil beat Germany.")
    """
    asked = _asked(question)
    if not _ASKED.search(asked):
        return None
    said = _said(asked, text)
    return said.answer if said is not None and _in_role(asked, said) else None


def _said(asked: str, text: str) -> _Said | None:
    plain = plain_signs(text).strip(_MARKS)
    if len(_SENTENCES.split(plain)) > 1:
        return None
    plain = normalise(plain[_LEAD.match(plain).end() :])  # type: ignore[union-attr]  # may match nothing
    words = [word.strip(_MARKS).removesuffix("'s") or word for word in plain.split()]
    known = {_stem(word) for word in _words(asked)} - {_stem(word) for word in _EMPTY}
    taken = [_stem(word) in known and not _NEGATED.search(word) for word in words]
    empty = [word in _EMPTY for word in words]
    added = [place for place in range(len(words)) if not (taken[place] or empty[place])]
    if not added:
        return None
    first, last = added[0], added[-1]
    own = words[first : last + 1]
    if f" {own[-1]}'s " in f" {plain}":
        return None  # "Sancho's horse", asked for a horse
    if any(taken[first:last]) or any(word in TELLING_WORDS or _NEGATED.search(word) for word in own):
        return None
    if sum(taken) < 3 and any(
        gone and any(map(str.isdigit, word)) for word, gone in zip(words, taken, strict=True)
    ):
        return None  # "5 of 12" to a question that has a 5
    if not sum(taken) and (first or last + 1 < len(words)) and not set(words[:first]) <= _EMPTY:
        return None
    return _Said(" ".join(own), tuple(words[:first]), tuple(words[last + 1 :]))


def _in_role(asked: str, said: _Said) -> bool:
    """Whether what is added stands where the answer does: "Germany beat Brazil" is no answer to "Who did Germany beat?"
    with the roles turned round, and nor is "Brazil beat Germany" to "Who beat Brazil?".
    """
    before = [word for word in said.before if word not in ("the", "a", "an")]
    after = said.after
    if not (set(before) | set(after)) - _EMPTY:  # the answer alone, perhaps with "it is"
        return True
    question = _words(asked)
    if {"by", "than", "or"} & set(question):
        return False
    place = next((n for n, word in enumerate(question) if _ASKED.fullmatch(word)), None)
    if place is None:  # a part of a longer word: "what-if"
        return False
    wh, verb = question[place], set(question[place + 1 : place + 5])
    if before and before[-1] in _COPULAS and "by" not in after:
        return True  # "the capital of France is Paris"
    if wh in ("where", "when") or question[place - 1 : place] in (["in"], ["at"], ["on"]):
        return bool(before) and before[-1] in ("in", "at", "on")
    if wh == "how":
        return quantity(said.answer) is not None
    if {"do", "does", "did"} & verb:  # "Who did she marry?": the answer is what it is done to
        return bool(before) and "by" not in before and not after
    if verb & _COPULAS:
        return not before and bool(after) and after[0] in _COPULAS and "by" not in after
    # "Who wrote ...?": the answer is who does it.
    passive = before[-1:] == ["by"] and bool(set(before) & _COPULAS)
    return passive or (not before and "by" not in after)


@lru_cache(512)
def _asked(question: str) -> str:
    """What a prompt asks, in plain signs: its last question, or else its last sentence.

    >>> _asked("Ann has 5 pens. How many has she? Answer in one sentence.")
    'how many has she'
    """
    parts = re.split(rf"{_SENTENCES.pattern}|(?<=\?)\s+(?=\S)", plain_signs(question[-_QUESTION:]).strip())
    asked = [part for part in parts if part.endswith("?")] or parts
    return asked[-1].strip(_MARKS)


_IN_FORM = (
    r"(?:(?:in|with|using|en|avec|con|com|mit) )?(?:(?:just|only|nur|at most|no more than|exactly) )?"
    r"(?:an?|one|two|three|\d+|eine[mnr]?|zwei|drei|une?|deux|trois|una|dos|tres|uma|due)(?: or two| to three)?"
    r"(?: (?:single|short|brief|complete|full|simple|plain|kurzen|ganzen|seule|courte|sola|corta))*"
    r" (?:sentences?|words?|lines?|phrases?|paragraphs?|satz|sätzen|wort(?:en)?|mots?|fras(?:es?|i)|palabras?"
    r"|parol[ae])"
    r"(?: or (?:less|fewer))?(?: of code)?"
)
_FORM_AFTER = re.compile(
    r"(?<=[.?!:;。？！'\"”»)\n])\s*(?:(?:please|bitte) )?"
    r"(?:answer|reply|respond|explain|antworten?(?: sie)?|répond(?:s|ez|re)|respond[ea]|contesta|rispondi)"
    r"(?: (?:me|it|this|bitte))?,? "
    rf"(?:{_IN_FORM}|briefly|concisely|shortly|kurz|brièvement|brevemente)"
    r"(?:,? (?:only|please|bitte|por favor|s'il (?:te|vous) plaît))?\s*[.!。]?\s*$",
    re.IGNORECASE,
)
_FORM_BEFORE = re.compile(rf"^\s*(?:{_IN_FORM}|briefly)\s*[,:]\s*(?=[\w¿¡])", re.IGNORECASE)
_FRAME_AFTER = re.compile(  # "Be brief.", "Keep it under 20 words.", "Thanks!", "Answer:"
    r"(?<=[.?!;。？！'\"”»)\n])\s*\(?(?:(?:please|kindly) )?(?:(?:be|keep|make|limit|use)\b (?:[\w']+ ){0,4}?"
    r"(?:brief|short|concise|succinct|words?|sentences?)\b[^.?!]{0,40}|thank(?:s| you)[^.?!]{0,30}"
    r"|(?:do not|don't) explain[^.?!]{0,30}|no explanations?|short answer|briefly|answer:)\)?[.!]?\s*$",
    re.IGNORECASE,
)
_FRAME_BEFORE = re.compile(  # "Hi!", "Question:", "You are a helpful assistant.", "Answer this question briefly:"
    r"^\s*(?:(?:hi|hello|hey)(?: there)?[!,.]|(?:(?:i have|here is) (?:a|my) |my )?question:|q:"
    r"|you are an? [^.?!\n]{0,80}[.!]|(?:please )?be (?:brief|concise)[.!]"
    rf"|(?:please )?(?:answer|reply)(?: (?:the following|this) question)?(?: (?:{_IN_FORM}|briefly|concisely))?[.:])"
    r"\s+(?=\S)",
    re.IGNORECASE,
)
_FRAME = 300  # characters at the end of a prompt in which it says how to answer
_FRAMES = 3  # of them, one after the other


@lru_cache(512)
def without_form(question: str) -> str:
    """A prompt without what says how its answer is to be worded, and without greetings: they say nothing of meaning.

    >>> without_form("Why is the sky blue? Answer in one sentence."), without_form("In one word, who won?")
    ('Why is the sky blue?', 'who won?')
    >>> without_form("Wer malte es? Antworte in einem Satz."), without_form("Answer in one sentence.")
    ('Wer malte es?', 'Answer in one sentence.')
    >>> without_form("Hi! Who won? Be brief. Thanks!"), without_form("Question: Who won?\\nAnswer:")
    ('Who won?', 'Who won?')
    """
    kept = question.strip()
    for _ in range(_FRAMES):
        for frame in (_FORM_AFTER, _FRAME_AFTER):
            kept = kept[:-_FRAME] + frame.sub("", kept[-_FRAME:])
        for frame in (_FORM_BEFORE, _FRAME_BEFORE):
            kept = frame.sub("", kept)
    return kept or question


@lru_cache(4096)
def _choice(question: str, text: str) -> str | None:
    """Which of the two that a question offers a text names; None where it names both or neither, or none is offered.

    What it denies and why it is so do not count.

    >>> asked = "Which is better, the MacBook Air or the ThinkPad X1?"
    >>> _choice(asked, "The MacBook Air, because it is cheaper."), _choice(asked, "ThinkPad X1, not MacBook.")
    ('first', 'second')
    >>> _choice(asked, "The MacBook Air is better than the ThinkPad X1."), _choice("Is it red?", "Red")
    (None, None)
    """
    first, *second = re.split(r",? or ", _AND_WHY.sub("", _asked(question)))
    if len(second) != 1:
        return None
    words = [_stem(word) for word in _words(second[0]) if word not in _EMPTY | SMALL_WORDS]
    before = [
        _stem(word) for word in _words(re.split(r"[,:]", first)[-1]) if word not in _EMPTY | SMALL_WORDS
    ]
    offered = set(before[-len(words) :]) - set(words), set(words) - set(before[-len(words) :])
    said = _content(_MANNER.sub("", _DENIED_CHOICE.sub("", plain_signs(text))))
    named = [bool(own) and own <= said for own in offered]
    touched = [not own.isdisjoint(said) for own in offered]
    if sum(touched) != 1 or named != touched or _NEGATED.search(_DENIED_CHOICE.sub("", plain_signs(text))):
        return None
    return "first" if named[0] else "second"


def _same_but_kind(question: str, a: str, b: str) -> bool:
    """Whether two short answers differ only by what the question asks for, "which command", at their beginning or end.

    >>> _same_but_kind("Which river is it?", "the river Seine", "Seine"), _same_but_kind("Who?", "Seine river", "Seine")
    (True, False)
    >>> _same_but_kind("Which place was it?", "3rd", "third place")
    True
    >>> _same_but_kind("¿Cuál es el río más largo?", "Rio Amazonas", "Amazonas")
    True
    """
    kind = _KIND.search(_asked(question))
    if kind is None:
        return False
    named = [_words(without_accents(plain_signs(text))) for text in (a, b, kind[1])]
    first, second, asked = (" ".join(word for word in words if word not in _ARTICLES) for words in named)
    shorter, longer = sorted((first, second), key=len)
    rests = {longer.removesuffix(f" {asked}"), longer.removeprefix(f"{asked} ")} - {longer}
    return bool(shorter) and any(rest == shorter or _equal(rest, shorter, question) for rest in rests)


def _words(text: str) -> list[str]:
    return [word for part in text.split() if (word := part.strip(_MARKS).removesuffix("'s"))]


@lru_cache(8192)
def _stem(word: str) -> str:
    if word in _STEMS:
        return _STEMS[word]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


# Explanations: numbers in them are details.

_EXPLAINED = re.compile(
    r"\b(?:why|how|what|explain|describe|warum|wieso|weshalb|wie|was|pourquoi|comment|qu'|que|quoi|por qué|cómo|qué"
    r"|perché|come|cosa)\b"
    r"|^(?:who|wer|qui|quién|chi) (?:is|was|are|were|ist|war|est|était|es|fue|era|è) (?!the\b|your\b|my\b)[^,]+$"
)
_WHO = re.compile(r"\b(?:who|wer|qui|quién|chi|quem)\b")
_NAMED = re.compile(
    r"\b(?:whom|whose|where|when|which|wen|wem|wessen|wo|wann|welche[rsmn]?|où|quand|quel(?:le)?s?|dónde|cuándo|cuál"
    r"|dove|quando|quale)\b"
    r"|\b(?:who|wer|qui|quién|chi)\b(?:.* (?:of|in|at|for|von|der|des|de|del|di)\b|(?! (?:is|was|are|were|ist|war|est"
    r"|était|es|fue|era|è)\b))"
)
_TELLS = re.compile(r"(?:to|because|by|for|an?|when|if|um|weil|pour|parce|para|porque|per)\b", re.IGNORECASE)
_FEWEST_EXPLAINING = 3  # words of an explanation, its question's aside


def numbers_are_details(question: str, a: str, b: str) -> bool:
    """Whether the numbers of two texts are details of explanations, so that other ones do not make another answer.

    They are not where the texts run alike, or where the question asks who somebody is.

    >>> asked = "Why is it cold on Everest?"
    >>> a, b = "At 8,800 metres the air holds little heat.", "Air loses 6.5 degrees a kilometre as it expands."
    >>> numbers_are_details(asked, a, b), numbers_are_details(asked, a, a.replace("8,800", "7,700"))
    (True, False)
    """
    asked = _asked(question)
    return not _WHO.search(asked) and _explaining(question, a, b) and _replaced(a, b) is None


def _explaining(question: str, a: str, b: str) -> bool:
    """Whether both answer neither with a name, a place or an amount nor with yes or no."""
    asked = _asked(question)
    if _AND_WHY.search(asked):  # whether comes before why: "Yes, ..." and "No, ..." share most of their words
        return False
    if not _EXPLAINED.search(asked) or _NAMED.search(asked) or _AMOUNT_ASKED.search(asked):
        return False
    one, other = (_content(text) - _content(asked) for text in (a, b))
    if max(len(a), len(b)) > _LONGEST or min(len(one), len(other)) < _FEWEST_EXPLAINING or one == other:
        return False
    return any(is_sentence(text) or _TELLS.match(text) for text in (a, b))


# Contradiction and silence: a passage contradicts a claim only where it says something else in the claim's place.

_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w'’-]{2,}")
_SUBJECT = re.compile(r"(?:[A-ZÀ-ÖØ-Þ][\w'’.-]*\s?)+")


def competes(question: str, passage: str, claim: str) -> bool:
    """Whether a sentence of a passage speaks of what a claim speaks of, and says something else.

    It does where it has another number, another name or a denial beside words of the claim, or half of its words.

    >>> claim = "Curie was born in Warsaw in 1867."
    >>> competes("", "She was born in Paris.", claim), competes("", "Curie was born in 1870.", claim)
    (True, True)
    >>> competes("", "Curie was a physicist from Poland.", claim), competes("", "She died in 1934.", claim)
    (False, False)
    >>> competes("", "Curie died in 1934 in Passy.", "Curie died on 4 July 1934 in Passy.")
    False
    >>> competes("Which river runs through Ulm?", "The Danube runs through it.", "The river Iller runs through it.")
    True
    """
    subject = _SUBJECT.match(claim)
    known = _content(" ".join(_NAME.findall(question)) + " " + (subject[0] if subject else ""))
    return any(_rivals(sentence, claim, known, question) for sentence in _SENTENCES.split(passage))


def _rivals(sentence: str, claim: str, known: frozenset[str], question: str) -> bool:
    said, own = _content(sentence), _content(claim) - known
    shared = own & said
    if not shared or own <= said:
        return bool(shared) and _denies(sentence) != _denies(claim)
    if not any(map(_of_a_day, said)) and all(map(_of_a_day, own - shared)):
        return False  # "in 1934", where the claim says "on 4 July 1934"
    if 2 * len(shared) >= len(own):
        return True
    names = [{_stem(name.casefold()) for name in _NAME.findall(text)} - known for text in (sentence, claim)]
    spoken = {word for word in shared - names[0] - names[1] if not any(map(str.isdigit, word))}
    if not spoken:
        return False
    return bool(names[0] - own and names[1] - said) or contradict(sentence, claim, question)


def _of_a_day(word: str) -> bool:
    """Whether a word is a month or the number of a day."""
    return word in MONTHS or (word.isdigit() and 1 <= int(word) <= 31)


def _denies(text: str) -> bool:
    return _NEGATED.search(plain_signs(text)) is not None


@lru_cache(8192)
def _content(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _words(plain_signs(text)) if word not in _EMPTY | SMALL_WORDS)
