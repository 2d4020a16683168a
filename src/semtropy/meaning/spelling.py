"""The same words written differently, and words so different that no judge is needed to keep them apart."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from .number_words import SCALES, number, ordinal, share

# A form of a text that spelling habits do not change.
#
# Only what cannot change a meaning is dropped: case, width of characters, the script of digits, space, quotation
# marks around the whole, closing full stops, a leading article and a frame without content ("It is ...", "The answer
# is ..."). Signs that carry meaning ("C++", "-5", "50%", "?") stay.


_PLAIN = str.maketrans(
    {
        "‘": "'",
        "’": "'",
        "‛": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
        "−": "-",
        "‐": "-",
        "‑": "-",
        "–": "-",
        "「": '"',
        "」": '"',
        "『": '"',
        "』": '"',
    }
)
POWER = re.compile("[⁺⁻]?[⁰¹²³⁴-⁹]+")  # 10² is not 102
_FRAME = re.compile(
    r"^(?:(?:it|that|this|he|she|they|these|those)(?:'s|'re| is| was| are| were| means| would be)"
    r"|(?:the |my |final )?(?:correct )?answer(?: is:?| was:?|:)"
    r"|(?:das|es|dies) (?:ist|war|sind|waren)|die (?:richtige )?antwort (?:ist|lautet):?"
    r"|c'(?:est|était)|ce (?:sont|fut)|la (?:bonne )?réponse est:?"
    r"|es(?! ist\b| war\b| gibt\b| sind\b| waren\b)|fue|la respuesta (?:correcta )?es:?) (?=\S)"
)
_CLEFT = re.compile(r"^it (?:is|was) (?!not\b)(\S.{0,80}?) (?:who|that) (?=\S)")
_ARTICLE = re.compile(r"^(?:the|an|a) (?=\S)")
_WRAPPING = (('"', '"'), ("'", "'"), ("(", ")"), ("[", "]"), ("`", "`"), ("*", "*"))
_CLOSING = ".!。！,;:।،؛ "


_WORD_LETTERS = re.compile(r"[^\W\d_]+")
_SPELLED_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "æ": "ae", "ø": "oe"}
    | {"Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Å": "Aa", "Æ": "Ae", "Ø": "Oe"}
)


def normalise(text: str) -> str:
    """One form for all spellings of the same words; "" where nothing was said.

    text  an answer, as it was sampled

    >>> normalise("  The  Eiffel Tower. ")
    'eiffel tower'
    >>> normalise('"Paris"') == normalise("paris!")
    True
    >>> normalise("It's Paris."), normalise("The answer is: Paris"), normalise("It is not Paris.")
    ('paris', 'paris', 'not paris')
    >>> normalise("C'est Paris."), normalise("Das ist Paris."), normalise("Es París."), normalise("Es gibt Paris.")
    ('paris', 'paris', 'parís', 'es gibt paris')
    >>> normalise("It was Bell who invented it.")
    'bell invented it'
    >>> normalise("C++") == normalise("C"), normalise("-5") == normalise("5"), normalise("A")
    (False, False, 'a')
    """
    plain = plain_signs(text)
    before = None
    while before != plain:
        before = plain
        plain = _unwrap(plain.rstrip(_CLOSING).lstrip(", "))
        plain = _ARTICLE.sub("", _FRAME.sub("", _CLEFT.sub(r"\1 ", plain)))
    return plain


def plain_signs(text: str) -> str:
    """Case, width, digits, quotation marks, hyphens, powers and space in one form; every word and sign is kept.

    >>> plain_signs("x²  −  Ｙ")
    'x^2 - y'
    """
    plain = western_digits(unicodedata.normalize("NFKC", POWER.sub(r"^\g<0>", text)))
    return " ".join(plain.translate(_PLAIN).casefold().split())


def without_accents(text: str) -> str:
    """The text with bare letters.

    >>> without_accents("río")
    'rio'
    """
    return "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))


def spelled_like(text: str, other: str) -> str:
    """The text with the letters ä, ö, ü, å, æ and ø where it spells words out that have them in the other text.

    >>> spelled_like("It is Zuerich.", "Zürich"), spelled_like("Zuerich", "Bern"), spelled_like("Goethe", "Göthe")
    ('It is Zürich.', 'Zuerich', 'Göthe')
    """
    for word in () if other.isascii() else set(_WORD_LETTERS.findall(other)):
        plain = word.translate(_SPELLED_OUT)
        if plain != word and plain in text:
            text = re.sub(rf"\b{plain}\b", word, text)
    return text


def western_digits(text: str) -> str:
    """The text with the decimal digits of any script as 0 to 9.

    >>> western_digits("١٩١٢"), western_digits("१२"), western_digits("Paris 12")
    ('1912', '12', 'Paris 12')
    """
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


def _unwrap(text: str) -> str:
    """Without the quotation marks or brackets that enclose all of it."""
    for opening, closing in _WRAPPING:
        inner = text[1:-1]
        if (
            len(text) > 2
            and text[0] == opening
            and text[-1] == closing
            and opening not in inner
            and closing not in inner
        ):
            return inner.strip()
    return text


# Words that the rules of `wording` know: titles, function words, nouns for persons, countries and states.


# Titles before a name. "Sir Isaac Newton" is "Isaac Newton"; "King George" is not "Queen George".
TITLES = frozenset({
    "sir", "dr", "doctor", "mr", "mrs", "ms", "miss", "dame", "lord", "lady", "king", "queen", "prince",
    "princess", "emperor", "empress", "president", "professor", "prof", "captain", "colonel", "general",
    "pope", "count", "mount", "mt",
})  # fmt: skip

# Before a number: "about 5 km" and "5 km" are one answer, "about 5 km" and "about 6 km" are two.
ABOUT = frozenset({
    "about", "approximately", "approx", "around", "roughly", "circa", "nearly", "almost", "ca", "etwa", "ungefähr",
    "rund", "knapp", "environ", "presque", "unos", "unas", "aproximadamente", "cerca", "casi", "quasi", "quase",
})  # fmt: skip

# Articles, prepositions and auxiliaries.
SMALL_WORDS = frozenset({
    "the", "a", "an", "of", "in", "on", "at", "by", "is", "was", "are", "were", "it", "its", "to", "and",
    "for", "with", "from", "that", "this", "s",
})  # fmt: skip

# Words that change what is said even where the question has them too.
TELLING_WORDS = frozenset({
    "not", "no", "never", "without", "except", "more", "less", "than", "before", "after", "over", "under",
    "above", "below", "until", "since", "or", "first", "second", "third", "north", "south", "east", "west",
    "northern", "southern", "eastern", "western", "half", "double", "anti", "non", "vice", "ex", "former",
    "new", "old", "only", "least", "most", "none", "other", "another", "both", "neither", "between",
    "against", "all", "upper", "lower", "inner", "outer", "early", "late", "left", "right", "great", "grand",
    "step",
})  # fmt: skip

# What follows the noun of "which river ...": a verb, a preposition, another clause.
NOUN_ENDS = frozenset({
    "is", "was", "are", "were", "did", "does", "do", "has", "have", "had", "can", "could", "would", "will",
    "should", "may", "might", "in", "on", "at", "for", "from", "by", "with", "to", "that", "who", "whose",
    "which", "what", "the", "a", "an", "be", "been", "and", "or", "as", "when", "where", "how",
})  # fmt: skip

# Questions for one of these ask for a person.
PERSONS = (
    "man", "woman", "person", "actor", "actress", "president", "author", "writer", "singer", "artist",
    "painter", "composer", "king", "queen", "explorer", "scientist", "mathematician", "philosopher",
    "statesman", "politician", "poet", "architect", "novelist", "director", "emperor", "pope", "footballer",
    "player", "character", "comedian", "general", "leader", "prime minister",
)  # fmt: skip

# Countries, and states of federations: what follows the name of a town.
PLACES = frozenset({
    "usa", "us", "u.s", "u.s.a", "united states", "uk", "united kingdom", "england", "scotland", "wales",
    "ireland", "northern ireland", "france", "germany", "italy", "spain", "portugal", "greece", "turkey",
    "russia", "ukraine", "poland", "hungary", "romania", "czech republic", "austria", "switzerland",
    "belgium", "netherlands", "denmark", "sweden", "norway", "finland", "iceland", "china", "japan", "korea",
    "south korea", "india", "pakistan", "bangladesh", "thailand", "vietnam", "indonesia", "philippines",
    "iran", "iraq", "israel", "egypt", "morocco", "nigeria", "kenya", "south africa", "canada", "mexico",
    "brazil", "argentina", "chile", "peru", "colombia", "cuba", "australia", "new zealand", "ontario",
    "quebec", "alabama", "alaska", "arizona", "arkansas", "california", "colorado", "connecticut", "delaware",
    "florida", "georgia", "hawaii", "idaho", "illinois", "indiana", "iowa", "kansas", "kentucky", "louisiana",
    "maine", "maryland", "massachusetts", "michigan", "minnesota", "mississippi", "missouri", "montana",
    "nebraska", "nevada", "new hampshire", "new jersey", "new mexico", "north carolina", "north dakota",
    "ohio", "oklahoma", "oregon", "pennsylvania", "rhode island", "south carolina", "south dakota",
    "tennessee", "texas", "utah", "vermont", "virginia", "washington", "west virginia", "wisconsin",
    "wyoming",
})  # fmt: skip


# One answer in two wordings: what needs no judge (spacing, titles, prepositions), and what speaks for one meaning.
#
# A hint is weaker than a rule. It says that the longer of two answers adds only what the question asks for ("Nile"
# and "Nile River" to "Which river ...?"), the given name of a person ("Columbus"), or the country of a place
# ("Lourdes, France"). The judge adds it to its own log-odds.


_LONGEST = 200  # characters: longer answers are sentences, whose wording a judge weighs
_LETTER = r"[^\W\d_]"
_SEPARATOR = re.compile(rf"(?<={_LETTER})(?:[-_'.]\s?|\s+)(?={_LETTER})")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_PREPOSITION = re.compile(r"(?:in|at|on) (?:the |an? )?")
_ASKING = re.compile(
    r"\b(?:which|what)\b(?: is| was| are| were|'s)?,?\s*(?:one )?(?:of )?(?:the |an? |these |those )?([^?.,;:()\"]*)"
)
_WHO = re.compile(
    rf"\b(?:who|whose|whom|wer|wen|wem|wessen|qui|quién|quiénes)\b|\bwhich (?:\w+ ){{0,4}}(?:{'|'.join(PERSONS)})\b",
    re.IGNORECASE,
)


def squash(text: str) -> str:
    """The normal form without spaces, hyphens, apostrophes and full stops between letters.

    >>> squash("Spider-Man"), squash("J. K. Rowling"), squash("3-0"), squash("alpha - beta")
    ('spiderman', 'jkrowling', '3-0', 'alpha - beta')
    """
    return _SEPARATOR.sub("", normalise(text).strip("_-' "))


def same_wording(a: str, b: str) -> bool:
    """Whether two answers differ only in spacing, or in a title, preposition or "about" that one of them has.

    >>> same_wording("Spider-Man", "spiderman"), same_wording("Sir Isaac Newton", "Isaac Newton")
    (True, True)
    >>> same_wording("In the foot", "The foot"), same_wording("King George", "Queen George")
    (True, False)
    """
    if max(len(a), len(b)) > _LONGEST:
        return False
    first, second = squash(a), squash(b)
    if first == second and len(first) >= (4 if " " not in a + b else 5):  # "I ran" is not "Iran"
        return min(_longest_word(a), _longest_word(b)) >= 3
    longer, shorter = sorted((_words(a), _words(b)), key=len, reverse=True)
    if shorter and len(longer) == len(shorter) + 1 and longer[0] in TITLES | ABOUT and longer[1:] == shorter:
        return True
    plain, bare = sorted((normalise(a), normalise(b)), key=len, reverse=True)
    found = _PREPOSITION.match(plain)
    return found is not None and plain[found.end() :] == bare


def wording_hint(question: str, a: str, b: str) -> bool:
    """Whether the longer answer adds only what the question asks for, a given name, or the country of a place.

    >>> wording_hint("Which river is it?", "Nile", "the Nile River"), wording_hint("What is it?", "Nile", "Nile River")
    (True, False)
    >>> wording_hint("Who sailed west?", "Columbus", "Christopher Columbus")
    True
    >>> wording_hint("Where is it?", "Lourdes", "Lourdes, France"), wording_hint("Where?", "Georgia", "Georgia, USA")
    (True, False)
    """
    if max(len(a), len(b)) > _LONGEST:
        return False
    return _adds_asked(question, a, b) or _adds_given_name(question, a, b) or _adds_place(a, b)


def _adds_asked(question: str, a: str, b: str) -> bool:
    """ "Nile" and "Nile River", "Ming" and "the Ming dynasty": the rest is what the question says it asks for."""
    asked = _asked_nouns(question)
    longer, shorter = sorted(
        ([word for word in _words(text) if word not in SMALL_WORDS] for text in (a, b)), key=len, reverse=True
    )
    size = len(shorter)
    if not shorter or len(longer) == size or any(_stem(word) in asked for word in shorter):
        return False
    if longer[:size] == shorter:
        rest = longer[size:]
    elif longer[-size:] == shorter:
        rest = longer[:-size]
    else:
        return False
    return all(_stem(word) in asked and word not in TELLING_WORDS for word in rest)


def _adds_given_name(question: str, a: str, b: str) -> bool:
    longer, shorter = sorted((a.strip(" .").split(), b.strip(" .").split()), key=len, reverse=True)
    if len(shorter) != 1 or not 2 <= len(longer) <= 4 or not _WHO.search(question):
        return False
    return longer[-1].casefold() == shorter[0].casefold() and all(word[:1].isupper() for word in longer)


def _adds_place(a: str, b: str) -> bool:
    longer, shorter = sorted((normalise(a), normalise(b)), key=len, reverse=True)
    if shorter in PLACES or "," in shorter or not longer.startswith(f"{shorter}, "):
        return False
    return longer[len(shorter) + 2 :] in PLACES


@lru_cache(1024)
def _asked_nouns(question: str) -> frozenset[str]:
    """The words after "which" or "what" up to the verb: what the question asks for."""
    found = set()
    for match in _ASKING.finditer(question.casefold()[-2000:]):
        for word in _WORD.findall(match[1])[:6]:
            if word in NOUN_ENDS:
                break
            found.add(_stem(word))
    return frozenset(found - {"of"})


@lru_cache(4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(normalise(text).replace("-", " ")))


def _longest_word(text: str) -> int:
    return max((len(word.replace("'", "")) for word in _words(text)), default=0)


def _stem(word: str) -> str:
    """The singular of most nouns."""
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


# Short answers with no spelling in common, which are two meanings without asking a network.
#
# Most pairs of sampled answers are of this kind ("Mansion" and "Spoonfuls"). The built-in network merges next to none
# of them: of 400 held-out aliases in TriviaQA that `unlike` keeps apart, it recognises 3. Numbers, symbols,
# sentences, yes and no, and refusals have too many wordings and are left to the network.


_CHARACTERS = 100  # at most, and as many words as below: longer answers are sentences
_WORDS = 8
_LETTERS = 4  # at least: shorter answers are symbols, short forms, yes and no
_SHORT_FORM = re.compile(r"\b\w+[A-Z]|\b\w\b\.")  # "NaCl", "UNESCO", "J. S. Bach"
_LETTER_RUN = re.compile(r"[^\W_]+")
# Words of sentences, of agreement and of refusals, and of amounts.
_OPEN = frozenset({
    "is", "was", "are", "were", "be", "been", "it", "its", "he", "she", "they", "we", "you", "i", "his", "her",
    "their", "has", "have", "had", "do", "does", "did", "would", "will", "got", "get", "this", "that", "there",
    "yes", "no", "not", "none", "never", "nobody", "nothing", "nowhere", "neither", "nor", "without", "don",
    "doesn", "didn", "isn", "wasn", "can", "cannot", "couldn", "won", "unable", "unknown", "unsure", "unclear",
    "uncertain", "unspecified", "undefined", "undetermined", "unavailable", "sorry", "idea", "clue", "sure",
    "know", "say", "tell", "information", "available", "answer", "impossible", "empty", "both", "all", "course",
    "true", "false", "correct", "incorrect", "right", "wrong", "indeed", "exactly", "absolutely", "certainly",
    "definitely", "affirmative", "negative", "agree", "disagree", "same", "different", "single", "pair",
    "couple", "double", "twice", "once", "triple", "decade", "century", "millennium", "fortnight", "several",
    "many", *SCALES,
})  # fmt: skip


def unlike(a: str, b: str) -> bool:
    """Whether both answers are a few plain words that share no three letters in a row.

    >>> unlike("Mansion", "Spoonfuls"), unlike("London", "a small hotel")
    (True, True)
    >>> unlike("Londinium", "London"), unlike("ninety", "nine tens"), unlike("Unknown", "No idea"), unlike("Zn", "zinc")
    (False, False, False, False)
    """
    first, second = _trigrams(a), _trigrams(b)
    return first is not None and second is not None and first.isdisjoint(second)


@lru_cache(4096)
def _trigrams(text: str) -> frozenset[str] | None:
    """Three letters in a row of each word, with a space before and after it; None where spelling decides nothing."""
    if len(text) > _CHARACTERS or _SHORT_FORM.search(text):
        return None
    plain = unicodedata.normalize("NFKD", normalise(text))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = [word for word in _LETTER_RUN.findall(letters) if word not in SMALL_WORDS - _OPEN]
    if not 1 <= len(words) <= _WORDS or sum(map(len, words)) < _LETTERS or any(map(_undecided, words)):
        return None
    spelled = [f" {word} " for word in words]
    return frozenset(word[at : at + 3] for word in spelled for at in range(len(word) - 2))


def _undecided(word: str) -> bool:
    if word in _OPEN or any(letter.isdigit() for letter in word):
        return True
    return any(value(word) is not None for value in (number, share, ordinal))


# Names that no network needs to guess: initials, the commonest symbols and alternative names, middle initials.


_SMALL = {"of", "the", "and", "for", "in", "on", "de", "&", "to"}
_INITIALS = re.compile(r"(?:[A-Z]\.?){2,7}")
# Names of one thing, in normal form.
_ALIASES = (
    ("co2", "carbon dioxide"), ("co", "carbon monoxide"), ("h2o", "water"), ("o2", "oxygen"), ("n2", "nitrogen"),
    ("h2", "hydrogen"), ("nacl", "sodium chloride"), ("ch4", "methane"), ("nh3", "ammonia"), ("o3", "ozone"),
    ("h2so4", "sulfuric acid", "sulphuric acid"), ("hcl", "hydrochloric acid"),
    ("world war i", "wwi", "ww1", "world war 1", "world war one", "first world war"),
    ("world war ii", "wwii", "ww2", "world war 2", "world war two", "second world war"),
    ("united kingdom", "uk", "great britain", "britain"),
    ("united states", "us", "usa", "u.s", "u.s.a", "america", "united states of america"),
    ("soviet union", "ussr"), ("new york", "new york city", "nyc"),
    ("washington dc", "washington, d.c", "washington d.c"),
)  # fmt: skip
_NUMBER = {squash(name): place for place, names in enumerate(_ALIASES) for name in names}
_INITIAL = re.compile(r"[A-Z]\.?")


def same_name(a: str, b: str) -> bool:
    """Whether one answer is a short form or a common alternative name of the other.

    >>> same_name("UN", "the United Nations"), same_name("CO2", "carbon dioxide"), same_name("U.S.", "America")
    (True, True, True)
    >>> same_name("CIA", "National Security Agency"), same_name("FBI", "Paris")
    (False, False)
    """
    if max(len(a), len(b)) > 80:
        return False
    first, second = _NUMBER.get(squash(a)), _NUMBER.get(squash(b))
    if first is not None or second is not None:
        return first == second
    return _initials(a, b) or _initials(b, a)


def other_name(a: str, b: str) -> bool:
    """Whether the two are different names: two names of the table, or one name with other middle initials.

    >>> other_name("World War I", "World War II"), other_name("George W. Bush", "George H. W. Bush")
    (True, True)
    >>> other_name("George W. Bush", "George Bush"), other_name("World War I", "the Great War")
    (False, False)
    """
    if max(len(a), len(b)) > 80:
        return False
    first, second = _NUMBER.get(squash(a)), _NUMBER.get(squash(b))
    if first is not None and second is not None:
        return first != second
    one, other = _middle_initials(a), _middle_initials(b)
    return bool(one and other and one[0] == other[0] and one[1] != other[1])


def _middle_initials(name: str) -> tuple[tuple[str, str], str] | None:
    """First and last name, and the initials between them; None where there are none, or more than initials."""
    words = re.sub(r"\.(?=[A-Z])", ". ", name.strip(" .!")).split()
    middle = words[1:-1]
    if not middle or not all(_INITIAL.fullmatch(part) for part in middle):
        return None
    return (words[0].casefold(), words[-1].casefold()), "".join(part[0] for part in middle)


def _initials(short: str, name: str) -> bool:
    """Whether `short` has the initials of the capitalised words of `name`, in order and all of them."""
    short = re.sub(r"^[Tt]he ", "", short.strip(" .!"))
    if not _INITIALS.fullmatch(short):
        return False
    words = re.findall(r"[^\W\d_]+", name)
    initials = [word[0] for word in words if word.lower() not in _SMALL]
    return (
        len(initials) > 1
        and all(letter.isupper() for letter in initials)
        and "".join(initials) == short.replace(".", "")
    )
