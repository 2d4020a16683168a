"""Judges, estimators, priors and calibrations of a gateway: each loaded once; learned priors kept across restarts."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..calibration import Calibration
from ..claims.relating import judged
from ..errors import InputError, SemtropyError, meant
from ..estimators import LearnedPrior, Prior, load_estimator
from ..files import kept_secret
from ..meaning import load_judge
from ..meaning.cached import hand_on
from ..models import is_endpoint, load_model
from .schemas import OPEN_JUDGES
from .telemetry import log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nouns import Estimator, Floats, Judge, Model
    from .settings import Settings


Tenant = tuple[str | None, ...]
"""Who asks: everything that distinguishes a client from others."""
MOST_MODELS = 64
"""Models with a prior that learns; the checks of any others use the prior that ships."""

JUDGED_CHARACTERS = 1000
"""Longer answers are compared by their beginning and end: the time of a judge grows faster than the text."""
CONTEXT = 40
"""Characters that are kept of a beginning or an end that two answers share."""


class Instruments:
    """Judges, estimators, the prior and the calibration: each is loaded once, whichever threads ask for it."""

    def __init__(self, settings: Settings, judge: Judge | None = None) -> None:
        self.settings, self._judge = settings, judge
        self._judges: dict[str, Judge] = {}
        self._estimators: dict[str, Estimator] = {}
        self._learned: dict[str, Estimator] = {}
        self._salt: bytes | None = None
        self._kept: dict[str, int] = {}  # the questions of each learned prior when it was last written
        self._loading = threading.RLock()
        self._prior: Prior | None = None
        self.calibration: Calibration | None = None
        self.second: Model | None = None

    def load(self) -> None:
        """Load what every check needs, so that a missing part is reported at the start."""
        settings = self.settings
        with self._loading:
            self.load_files()
            if self._judge is None and settings.judge != "llm":
                self._judge = load_judge(settings.judge)
            if settings.second is not None and self.second is None:
                self.second = _second_model(settings)
            self.estimator(settings.estimator)

    def load_files(self) -> None:
        """Read the operator's prior and calibration."""
        settings = self.settings
        if settings.prior not in ("learn", "default") and self._prior is None:
            self._prior = Prior.load(settings.prior)
        if settings.calibration is not None and self.calibration is None:
            self.calibration = Calibration.load(settings.calibration)

    def judge(self, name: str | None, model: Model) -> Judge:
        """The judge of that name, or the operator's.

        The judge "llm" asks `model`, the one that answers the request, with the key of its client.
        """
        if name is None or name == self.settings.judge:
            if self._judge is None and self.settings.judge != "llm":
                self.load()
            return self._judge or load_judge("llm", model=getattr(model, "plain", model))
        if name not in OPEN_JUDGES:
            raise InputError(f"judge is {name!r}: {meant(name, OPEN_JUDGES)}")
        with self._loading:
            if name not in self._judges:
                self._judges[name] = load_judge(name)
            return self._judges[name]

    def estimator(self, name: str, model: str | None = None, tenant: Tenant | None = None) -> Estimator:
        """The estimator of that name; the operator's prior is only for the operator's estimator.

        model   the model that is asked, where the estimator may learn from its checks
        tenant  who asks: where answers are withheld, others could move a prior that all share
        """
        with self._loading:
            learns = self.settings.prior == "learn" and self.calibration is None  # that holds for one prior
            if model is not None and name == "bayes" and learns:
                return self._learning(model, tenant if self.settings.mode in ("block", "trim") else None)
            if name not in self._estimators:
                mine = self._prior is not None and name == self.settings.estimator
                self._estimators[name] = load_estimator(name, **({"prior": self._prior} if mine else {}))
            return self._estimators[name]

    def _learning(self, model: str, tenant: Tenant | None) -> Estimator:
        """The estimator bayes with the prior that learns from the checks of a model, begun where it was kept."""
        key = model if tenant is None else f"{model} {self._digest(tenant)}"
        if key not in self._learned:
            if len(self._learned) >= MOST_MODELS:  # clients choose the names of models, and who they are
                return self.estimator("bayes")
            prior, path = LearnedPrior(self._prior), self._learned_file(key)
            try:
                if path is not None and path.exists():
                    prior = LearnedPrior.load(path)
            except (InputError, OSError) as error:
                log.warning("what was learned cannot be read", extra={"fields": {"reason": str(error)}})
            self._learned[key] = load_estimator("bayes", prior=prior)
        return self._learned[key]

    def _digest(self, tenant: Tenant) -> str:
        """What stands for a tenant in the names of files: salted, so that no key can be guessed from it."""
        if self._salt is None:
            self._salt = secrets.token_bytes(16)
            try:
                if (folder := self._folder()) is not None:
                    folder.mkdir(parents=True, exist_ok=True)
                    self._salt = kept_secret(folder / "salt", self._salt)
            except OSError as error:
                log.warning("what was learned cannot be kept", extra={"fields": {"reason": str(error)}})
        return hashlib.blake2b(repr(tenant).encode(), key=self._salt, digest_size=8).hexdigest()

    def _folder(self) -> Path | None:
        return None if self.settings.learned in (None, "none") else Path(self.settings.learned)

    def keep_learned(self) -> None:
        """Write what was learned since the last time; a folder that cannot be written is logged."""
        for model, estimator in list(self._learned.items()):
            prior: LearnedPrior = cast("Any", estimator).learned
            path, questions = self._learned_file(model), prior.seen
            if path is None or questions == self._kept.get(model, 0):
                continue
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                prior.save(path)
            except (SemtropyError, OSError) as error:
                log.warning("what was learned cannot be kept", extra={"fields": {"reason": str(error)}})
            self._kept[model] = questions

    def _learned_file(self, model: str) -> Path | None:
        folder = self._folder()
        if folder is None:
            return None
        name = hashlib.blake2b(f"{self.settings.upstream} {model}".encode(), digest_size=8).hexdigest()
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", model)[:60].strip(".-")
        return folder / f"{plain}-{name}.json"


class BoundedJudge:
    """A judge that is given little of what two answers share at their beginning and end, and none in full.

    Long words in common would outweigh the difference: after a hundred times "yes", any two names are alike. Of what is
    still above `limit` characters, the beginning and the end are compared.
    """

    def __init__(self, judge: Judge, limit: int = JUDGED_CHARACTERS) -> None:
        self._judge, self._limit = judge, limit
        hand_on(judge, self)

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        return self._judge.entails(self._bounded(batch))

    def relation(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        return judged(self._judge, self._bounded(batch))

    def _bounded(self, batch: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
        pairs = [(question, differing(a, b)) for question, a, b in batch]
        return [(self._cut(question), self._cut(a), self._cut(b)) for question, (a, b) in pairs]

    def _cut(self, text: str) -> str:
        half = self._limit // 2
        return text if len(text) <= self._limit else f"{text[:half]} ... {text[-half:]}"


def differing(a: str, b: str) -> tuple[str, str]:
    """Two texts with at most about `CONTEXT` characters of what they share at either end.

    >>> differing("Ann" + " yes" * 99, "Bob" + " yes" * 100)
    ('Ann yes yes yes yes yes yes yes yes yes ...', 'Bob yes yes yes yes yes yes yes yes yes yes ...')
    >>> differing("Paris, France", "Lyon, France")
    ('Paris, France', 'Lyon, France')
    """
    if a == b:
        return a, b
    shared = _common(a, b)
    end = _common(a[shared:][::-1], b[shared:][::-1])
    if shared > 2 * CONTEXT:
        start = a.find(" ", shared - CONTEXT, shared) + 1 or shared - CONTEXT  # at a word, where there is one
        a, b = f"... {a[start:]}", f"... {b[start:]}"
    if end > 2 * CONTEXT:
        left = end - CONTEXT
        cut = a.rfind(" ", len(a) - end, len(a) - left)
        left = len(a) - cut if cut >= 0 else left
        a, b = f"{a[:-left]} ...", f"{b[:-left]} ..."
    return a, b


def _common(a: str, b: str) -> int:
    """How many characters two texts share from their first on."""
    return bisect_left(range(min(len(a), len(b))), True, key=lambda place: a[: place + 1] != b[: place + 1])


def _second_model(settings: Settings) -> Model:
    """The operator's second model: with its own key, never the upstream's or a client's."""
    name = settings.second or ""
    if not is_endpoint(name):
        return load_model(name)
    address = {} if settings.second_url is None else {"base_url": settings.second_url}
    key = settings.second_key or (None if settings.second_url is None else "none")
    return load_model(name, max_tokens=settings.sample_tokens, api_key=key, **address)
