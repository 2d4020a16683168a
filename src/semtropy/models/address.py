"""The address of an endpoint, and what must not be shown of it or of the keys sent there."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from ..errors import InputError

__all__ = ["authorization", "checked_address", "checked_key", "masked", "passwords"]

SHORTEST = 6  # characters of a secret; shorter ones would mask parts of words


def checked_address(base_url: str) -> tuple[str, str]:
    """The address without user name and password, and these as they stand in it ("" without).

    >>> checked_address("https://me:secret@localhost:8000/v1/")
    ('https://localhost:8000/v1', 'me:secret')
    """
    shown = re.sub(r"[^/@]*@", "", base_url)
    scheme, _, rest = base_url.partition("://")
    if scheme not in ("http", "https"):
        raise InputError(f"base_url is {shown!r}: it must start with http:// or https://")
    if "?" in rest or "#" in rest:
        shown = re.split("[?#]", shown)[0]
        raise InputError(
            f"base_url is {shown!r} and more: leave out what begins with ? or #; api_key= carries a key"
        )
    try:
        parts = urlsplit(base_url)
        known = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # a port out of range, or half an IPv6 address
        known = False
    if not known:
        raise InputError(f"base_url is {shown!r}: expected http://HOST:PORT/PATH")
    user, _, place = parts.netloc.rpartition("@")
    return f"{scheme}://{place}{parts.path}".rstrip("/"), user


def authorization(user: str) -> str:
    """The header for a user name and password as they stand in an address.

    >>> authorization("me:p%40ss")
    'Basic bWU6cEBzcw=='
    """
    return "Basic " + base64.b64encode(unquote(user).encode()).decode()


def passwords(user: str) -> list[str]:
    """What must not be shown of the user name and password in an address."""
    password = user.partition(":")[2]
    return [password, unquote(password), user, unquote(user)] if password else []


def checked_key(api_key: str | None) -> str | None:
    """The key without the white space around it, if a header can carry it; otherwise the error would show it."""
    key = api_key.strip() if api_key else None
    if key and not (key.isascii() and key.isprintable()):
        raise InputError("the API key holds characters that a header cannot carry: was it copied whole?")
    return key or None


def masked(message: str, secrets: Iterable[str]) -> str:
    """The message on one line, shortened, without the secrets.

    >>> masked("bad key abc-123\\nfor you", ["abc-123"])
    'bad key *** for you'
    """
    known = sorted({each for each in secrets if len(each) >= SHORTEST}, key=len, reverse=True)
    line = " ".join("".join(c if c.isprintable() else " " for c in message[:5000]).split())
    for secret in known:
        line = line.replace(secret, "***")
    bare = line.replace(" ", "")
    if any(secret.replace(" ", "") in bare for secret in known):  # in pieces
        return "(not shown: the message contains the key)"
    return line[:500]
