"""Names that no network needs to guess: initials, the commonest symbols and alternative names, middle initials."""

from __future__ import annotations

import re

from .wording import squash

__all__ = ["other_name", "same_name"]

_SMALL = {"of", "the", "and", "for", "in", "on", "de", "&", "to"}
_INITIALS = re.compile(r"(?:[A-Z]\.?){2,7}")
# Names of one thing, in normal form.
_NAMES = (
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
_NUMBER = {squash(name): place for place, names in enumerate(_NAMES) for name in names}
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
