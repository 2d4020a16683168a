"""What a judge may have beside `entails`, and a judge around another one hands on."""

from __future__ import annotations

__all__ = ["hand_on"]


def hand_on(judge: object, wrapper: object) -> None:
    """Give a wrapper the judge's own `explain`, `unlike` and `warnings`, as far as it has them.

    They look at texts and need no judgement, so that there is nothing to cache, bound or time.

    >>> from semtropy.meaning.exact import Exact
    >>> wrapper = type("Wrapper", (), {})()
    >>> hand_on(Exact(), wrapper)
    >>> hasattr(wrapper, "unlike")
    False
    """
    for name in ("explain", "unlike", "warnings"):
        if hasattr(judge, name):
            setattr(wrapper, name, getattr(judge, name))
