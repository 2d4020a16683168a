"""Every setting of the gateway, once: flags, environment, TOML file and documentation are made from this table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal, get_args

from ..errors import InputError, meant, unknown
from ..estimators import NAMES as ESTIMATORS
from ..models.endpoint import shown_address
from ..options import FLAGS, KINDS, judge_name, read_values, split_list
from ..stopping import check_threshold, rule_of

PREFIX = "SEMTROPY_"
Mode = Literal["annotate", "block", "trim", "off"]
Place = Literal["body", "headers", "chunk"]
HOLDING = ("block", "trim")
"""Modes in which an answer waits for its verdict, and may be withheld."""
ON_ERROR = ("pass", "block")
WITHHOLD = ("flagged", "undecided")
ROUTES = ("all", "harmless", "none")
CHANGEABLE = ("mode", "threshold", "rule", "budget", "estimator", "judge", "fields")
"""What a request may set; `fields` stands for `choices` and `required`."""
LEVELS = ("debug", "info", "warning", "error")
TRAFFIC = ("none", "verdicts", "texts")


def _set(
    default: Any, about: str, *, secret: bool = False, least: float | None = None, among: Any = None
) -> Any:
    """One setting: a secret has no flag, as flags show in the list of processes."""
    facts = {"help": about, "secret": secret, "least": least, "among": among}
    return field(default=default, metadata=facts, repr=not secret)


def shared(name: str) -> Any:
    """A setting that is an option of a check too: what it says is in `semtropy.options`."""
    flag = FLAGS[name]
    assert flag.setting is not None
    default = flag.default if flag.setting_default is None else flag.setting_default
    return _set(default, flag.setting, least=flag.setting_least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the gateway. Flags override the environment, which overrides the TOML file and the defaults.

    >>> Settings(port=9000).port
    9000
    >>> Settings(mode="quiet")
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: mode is 'quiet': choose one of annotate, block, trim, off
    """

    host: str = _set("127.0.0.1", "address to listen on; the default is reachable from this machine only")
    hosts: tuple[str, ...] = _set(
        (),
        "allowed values of the Host header, separated by commas; * allows all "
        "(default: loopback names when listening on loopback, else all)",
    )
    port: int = _set(8080, "port to listen on; 0 chooses a free one", least=0)
    workers: int = _set(1, "number of processes; each has a separate cache and limits", least=1)
    upstream: str | None = _set(
        None, "base URL of an OpenAI-compatible endpoint, such as http://host/v1 (default: use `model`)"
    )
    upstream_key: str | None = _set(
        None, "key for the upstream (default: the key that the client sends)", secret=True
    )
    upstream_model: str | None = _set(None, "the upstream's model for /v1/check and the page")
    upstream_timeout: float = _set(120.0, "seconds to wait for the upstream to send something", least=0.1)
    upstream_concurrency: int = _set(32, "concurrent sampling requests to the upstream", least=1)
    other_routes: str | None = _set(
        None,
        "which other routes under /v1 pass to the upstream, unchecked: all, harmless (models, embeddings, "
        "moderations, rerank, score, tokenize) or none (default: all; harmless in modes block and trim, or with "
        "upstream_key)",
        among=(None, *ROUTES),
    )
    model: str = shared("model")
    second: str | None = shared("second")
    second_url: str | None = _set(None, "base URL of the second model, for openai:MODEL")
    second_key: str | None = _set(None, "key for the second model", secret=True)
    judge: str | None = shared("judge")
    estimator: str = shared("estimator")
    prior: str = shared("prior")
    learned: str | None = shared("learned")
    calibration: str | None = shared("calibration")
    mode: str = _set(
        "annotate",
        "annotate adds a verdict, block also withholds flagged answers, trim passes only the steady claims of long "
        "ones, off does nothing",
        among=get_args(Mode),
    )
    place: str = _set(
        "body",
        "where to put the verdict: body (and headers), headers only, or in a stream a chunk without choices at its end",
        among=get_args(Place),
    )
    withhold: str = _set(
        "flagged",
        "what modes block and trim withhold: flagged answers, or with `undecided` those as well",
        among=WITHHOLD,
    )
    refusal: str = _set(
        "I am not sure enough of the answer to give it.",
        "what modes block and trim return instead of a flagged answer",
    )
    on_error: str = _set(
        "pass",
        "what to do in modes block and trim with an answer whose check fails or that has no text to check: pass or "
        "block it",
        among=ON_ERROR,
    )
    variance: float | None = shared("variance")
    confidence: float | None = shared("confidence")
    threshold: float = shared("threshold")
    locked: tuple[str, ...] = _set(
        (),
        f"options that no request may set, separated by commas: {', '.join(CHANGEABLE)} "
        "(fields: choices and required)",
    )
    loosen: str | None = _set(
        None,
        "options that a request may make less strict than the settings, separated by commas; all or none "
        "(default: all, but none in modes block and trim)",
    )
    max_threshold: float | None = _set(None, "largest threshold that a request may set", least=0)
    min_confidence: float | None = _set(None, "least confidence that a request may set", least=0)
    min_samples: int = _set(0, "least number of samples that a request may set as its budget", least=0)
    max_samples: int = shared("max_samples")
    max_seconds: float = shared("max_seconds")
    sample_tokens: int = _set(256, "length limit of a sample, in tokens, if the request sets none", least=1)
    keys: tuple[str, ...] = _set(
        (), "keys that clients must send one of, separated by commas (default: no key needed)", secret=True
    )
    operator_keys: tuple[str, ...] = _set(
        (),
        "keys of the operator, separated by commas: they open the latest verdicts of the traffic view, and everything "
        "that `keys` open (default: whoever reaches a gateway on loopback without `keys` sees them)",
        secret=True,
    )
    traffic: str = _set(
        "verdicts",
        "what the traffic view shows the operator of each check: verdicts without texts, texts as well, or none "
        "for no traffic view",
        among=TRAFFIC,
    )
    max_body: int = _set(1_000_000, "largest request body in bytes; larger ones get 413", least=1)
    max_header: int = _set(64_000, "largest request head in bytes; larger ones get 431", least=1000)
    max_prompt: int = _set(20_000, "longest prompt in characters; longer ones get 413", least=1)
    max_reply: int = _set(
        16_000_000, "longest answer that is checked, in bytes; longer ones are not checked", least=1
    )
    max_connections: int = _set(1000, "open connections per process; more get 503", least=1)
    client_timeout: float = _set(
        60.0, "seconds a client may take to send a request, or to read a part of the reply", least=0.1
    )
    concurrency: int = _set(64, "concurrent requests per process", least=1)
    queue: int = _set(64, "requests that may wait for their turn; further ones get 429", least=0)
    cache_size: int = _set(1024, "number of cached checks; 0 disables the cache", least=0)
    cache_seconds: float = _set(300.0, "lifetime of a cached check in seconds", least=0)
    grace_seconds: float = _set(30.0, "seconds that requests have to finish after a signal to stop", least=0)
    log_level: str = _set("info", "debug, info, warning or error", among=LEVELS)

    def __post_init__(self) -> None:
        for each in fields(self):
            value, least, among = getattr(self, each.name), each.metadata["least"], each.metadata["among"]
            if among is not None and value not in among:
                raise InputError(f"{each.name} is {value!r}: {meant(str(value), filter(None, among))}")
            if least is not None and value is not None and not value >= least:
                raise InputError(f"{each.name} is {value}: at least {least}")
        if self.upstream is not None and not self.upstream.startswith(("http://", "https://")):
            shown = shown_address(self.upstream)  # it may hold a password or a token
            raise InputError(f"upstream is {shown!r}: it must start with http:// or https://")
        if self.port > 65535:
            raise InputError(f"port is {self.port}: at most 65535")
        if self.confidence is not None and self.variance is not None:
            raise InputError("variance and confidence are two stopping rules: set only one of them")
        check_threshold(self.threshold)
        rule_of(self.threshold, self.variance, self.confidence)
        if self.traffic == "texts" and not self.operator_keys and not self.is_private:
            raise InputError(
                "traffic = texts shows what all clients ask: set operator_keys for who may see it"
            )
        if self.estimator not in ESTIMATORS:
            raise unknown("estimator", self.estimator, ESTIMATORS)
        if self.judge is not None:
            judge_name(self.judge)
        for name, listed in (("locked", self.locked), ("loosen", split_list(self.loosen or ""))):
            words = CHANGEABLE if name == "locked" else (*CHANGEABLE, "all", "none")
            others = [each for each in listed if each not in words]
            if others:
                raise InputError(f"{name} names {others[0]!r}: {meant(others[0], words)}")

    @property
    def passed_routes(self) -> str:
        """Which other routes pass to the upstream.

        With the operator's key, or where answers are withheld, others would be a way around: a stored answer can be
        fetched again.

        >>> Settings().passed_routes, Settings(mode="block").passed_routes
        ('all', 'harmless')
        """
        guarded = self.mode in HOLDING or self.upstream_key is not None
        return self.other_routes or ("harmless" if guarded else "all")

    @property
    def may_loosen(self) -> frozenset[str]:
        """The options that a request may make less strict.

        >>> sorted(Settings(loosen="threshold,rule").may_loosen), Settings(mode="block").may_loosen
        (['rule', 'threshold'], frozenset())
        """
        named = self.loosen or ("none" if self.mode in HOLDING else "all")
        return frozenset(CHANGEABLE if "all" in split_list(named) else split_list(named)) - {"none"}

    @property
    def is_private(self) -> bool:
        """Whether only this machine reaches the gateway, and its users are not kept apart by keys.

        >>> Settings().is_private, Settings(host="0.0.0.0").is_private, Settings(keys=("k",)).is_private
        (True, False, False)
        """
        names = allowed_hosts(self)
        return not self.keys and names is not None and names <= {*LOOPBACK_NAMES, self.host}

    @property
    def always_holds(self) -> bool:
        """Whether no request can leave mode `block` or `trim`.

        >>> Settings(mode="block").always_holds, Settings(mode="block", loosen="mode").always_holds
        (True, False)
        """
        free = "mode" in self.may_loosen and "mode" not in self.locked
        return self.mode in HOLDING and not free

    @classmethod
    def gather(
        cls,
        flags: Mapping[str, Any] | None = None,
        *,
        file: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Settings:
        """Defaults, then the file, then the environment, then `flags` that are not None."""
        environment = os.environ if environment is None else environment
        found: dict[str, Any] = {}
        file = file or environment.get(f"{PREFIX}CONFIG")
        if file:
            found |= _from_file(file)
        for each in fields(cls):
            name = environment_name(each.name)
            if environment.get(name):
                found[each.name] = _read(each, environment[name], name)
        found |= {name: value for name, value in (flags or {}).items() if value is not None}
        return cls(**found)


def environment_name(name: str) -> str:
    """The environment variable of a setting.

    >>> environment_name("max_samples")
    'SEMTROPY_MAX_SAMPLES'
    """
    return PREFIX + name.upper()


LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def allowed_hosts(settings: Settings) -> frozenset[str] | None:
    """Host names that a request may name in its Host header; None allows all.

    On loopback only loopback's own names: a page of another site could otherwise reach the gateway through a name of
    its own that resolves to 127.0.0.1 (DNS rebinding).
    """
    if "*" in settings.hosts:
        return None
    if settings.hosts:
        return frozenset(name.lower() for name in settings.hosts)
    loopback = settings.host in LOOPBACK_NAMES or settings.host.startswith("127.")
    return frozenset((*LOOPBACK_NAMES, settings.host)) if loopback else None


def flag_fields() -> list[Field[Any]]:
    """The settings that have a flag: all but the secrets."""
    return [each for each in fields(Settings) if not each.metadata["secret"]]


def kind(each: Field[Any]) -> type:
    """The type a setting is read as."""
    known: dict[str, type] = {"int": int, "float": float, "str": str, "tuple[str, ...]": tuple}
    return known[str(each.type).removesuffix(" | None")]


def _read(each: Field[Any], text: str, source: str) -> Any:
    if kind(each) is tuple:
        return split_list(text)
    try:
        return kind(each)(text)
    except ValueError:
        raise InputError(f"{source} is {text!r}: expected {KINDS[kind(each)]}") from None


def _from_file(path: str) -> dict[str, Any]:
    kinds = {each.name: kind(each) for each in fields(Settings)}
    held = read_values(path, kinds, "setting", "`semtropy serve --help` lists them")
    return {name: tuple(value) if kinds[name] is tuple else value for name, value in held.items()}
