"""Words that the rules of `wording` know: titles, function words, nouns for persons, countries and states."""

from __future__ import annotations

__all__ = ["ABOUT", "NOUN_ENDS", "PERSONS", "PLACES", "SMALL_WORDS", "TELLING_WORDS", "TITLES"]

# Titles before a name. "Sir Isaac Newton" is "Isaac Newton"; "King George" is not "Queen George".
TITLES = frozenset({
    "sir", "dr", "doctor", "mr", "mrs", "ms", "miss", "dame", "lord", "lady", "king", "queen", "prince",
    "princess", "emperor", "empress", "president", "professor", "prof", "captain", "colonel", "general",
    "pope", "count", "mount", "mt",
})  # fmt: skip

# Before a number: "about 5 km" and "5 km" are one answer, "about 5 km" and "about 6 km" are two.
ABOUT = frozenset({"about", "approximately", "approx", "around", "roughly", "circa"})

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
