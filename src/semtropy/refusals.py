"""Whether a reply is an answer at all: it may be empty, a refusal, or cut off before its end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .nouns import Sample


# Anchored at the start, and long enough that no title or name reads like one ("Sorry" is a song).
_REFUSALS = re.compile(
    r"""\W*(
      (i['’]?m|i\ am)\ (sorry|afraid|unable|not\ (sure|able|certain|aware|familiar))\b
    | (sorry|apologies|unfortunately),?\ (but\ )?(i|there|we|it)\b
    | i\ (really\ )?(do\ not|don['’]?t|cannot|can['’]?t|can\ not|could\ not|couldn['’]?t)
      \ (know(?=\W*$|[.,;!]|\ (the|who|what|which|when|where|that|about|enough|any|if|whether)\b)
        |answer|help|provide|assist|determine|say|tell|find|comply|recall|have)\b
    | i\ have\ no\ (idea|information|knowledge|record)\b
    | as\ an\ (ai|artificial)\b
    | (there\ is|i\ have)\ (no|not\ enough|insufficient)\ (information|data|evidence|context)\b
    | (not\ enough|insufficient)\ information\b
    | it\ is\ (not\ known|unknown|unclear|impossible\ to\ (say|tell|know))\b
    | (the\ answer\ )?(cannot|can['’]?t)\ be\ (determined|answered|known)\b
    | (unknown|n/a|no\ answer|not\ (known|available|applicable)|unanswerable)\W*$
    | (das\ )?(ich\ )?wei(ß|ss)\ (ich|es)\ (leider\ )?nicht\b | ich\ wei(ß|ss)\ (es\ )?(leider\ )?nicht\b
    | je\ ne\ (sais|peux)\ pas\b | no\ (lo\ )?s(é|e)\W*$ | n(ã|a)o\ sei\b | non\ (lo\ )?so\W*$
    | я\ не\ знаю\b | 我不知道 | 不知道 | わかりません | 分かりません | 모르겠
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def missing_answer(answer: Sample) -> str | None:
    """Say why there is no answer to judge, or return None where there is one.

    >>> from semtropy.nouns import Sample
    >>> missing_answer(Sample("I'm sorry, but I can't help with that."))
    'the model declined to answer'
    >>> missing_answer(Sample("Sorry (Justin Bieber)")) is None
    True
    """
    if not answer.text.strip():
        cut = ": it reached its token limit first (--max-tokens raises it)" if not answer.complete else ""
        return f"the reply was empty{cut}"
    if not answer.complete:
        return "it was cut off at its token limit (--max-tokens raises it)"
    return "the model declined to answer" if declined(answer.text) else None


def declined(text: str) -> bool:
    """Whether a text is a refusal to answer."""
    return _REFUSALS.match(text) is not None
