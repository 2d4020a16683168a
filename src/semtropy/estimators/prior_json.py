"""The JSON form of a prior. Version 2 is written; version 1, which had one mixture, is still read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..entropy.components import DirichletComponent, PitmanYorComponent, SequencePrior
from ..errors import InputError
from ..numeric_checks import shown
from ..samples import MOST_TOKEN_ENTROPY
from .component_mixture import ComponentMixture
from .ends import DEFAULT_ENDS

if TYPE_CHECKING:
    from ..entropy.components import Component

__all__ = ["PriorFields", "prior_from_json", "prior_to_json"]

VERSION = 2


class PriorFields(NamedTuple):
    """What a prior file holds, in the order of the fields of `Prior`."""

    samples: ComponentMixture
    answered: tuple[ComponentMixture, ...]
    trained_on: int
    token_entropy: float | None
    ends: tuple[float, ...]


def prior_to_json(fields: PriorFields) -> dict[str, Any]:
    """The content of a prior file."""
    return {
        "semtropy_prior": VERSION,
        "trained_on": fields.trained_on,
        "token_entropy": fields.token_entropy,
        "ends": list(fields.ends),
        "samples": _mixture_to_json(fields.samples),
        "answered": [_mixture_to_json(mixture) for mixture in fields.answered],
    }


def prior_from_json(data: Mapping[str, Any]) -> PriorFields:
    """The fields of a prior; an error names what is wrong."""
    version = data.get("semtropy_prior") if isinstance(data, Mapping) else None
    if version == 1:
        mixture = _mixture_from_json(data["kinds"], _from_version_1)
        return PriorFields(mixture, (mixture,), _whole(data["trained_on"]), None, DEFAULT_ENDS)
    if version != VERSION:
        raise InputError(f'not a prior: the key "semtropy_prior" must be {VERSION} or 1')
    entropy, ends = data.get("token_entropy"), tuple(_number(end) for end in data.get("ends", DEFAULT_ENDS))
    if not ends or not all(0 < end <= 1 for end in ends):
        raise InputError('"ends" must be probabilities above 0')
    if entropy is not None and not 0 <= _number(entropy) <= MOST_TOKEN_ENTROPY:
        raise InputError(f'"token_entropy" must be a number from 0 to {MOST_TOKEN_ENTROPY:g}, or null')
    samples, answered = _mixture_from_json(data["samples"]), data["answered"]
    if answered and isinstance(answered[0], Mapping):
        answered = [answered]
    if not answered:
        raise InputError('"answered" must hold at least one mixture')
    return PriorFields(
        samples,
        tuple(_mixture_from_json(mixture) for mixture in answered),
        _whole(data["trained_on"]),
        None if entropy is None else float(entropy),
        ends,
    )


def _mixture_to_json(mixture: ComponentMixture) -> list[dict[str, Any]]:
    return [
        component_to_json(component, weights)
        for component, weights in zip(mixture.components, mixture.weights, strict=True)
    ]


def component_to_json(component: Component, weights: Sequence[float]) -> dict[str, Any]:
    """A component and the weights of its sizes or concentrations, as version 2 has them."""
    sequences = component.sequences
    meanings: dict[str, Any] = (
        {
            "type": "pitman-yor",
            "discount": component.discount,
            "concentrations": list(component.concentrations),
        }
        if isinstance(component, PitmanYorComponent)
        else {"type": "dirichlet", "alpha": component.alpha, "sizes": list(component.sizes)}
    )
    return {
        **meanings,
        "sequences": {
            "theta": sequences.theta,
            "main": sequences.main,
            "evenness": sequences.evenness,
            "discount": sequences.discount,
        },
        "weights": [float(f"{weight:.6g}") for weight in weights],
    }


def component_from_json(data: Mapping[str, Any]) -> Component:
    """A component of version 2."""
    sequences = _sequences(data["sequences"])
    if data["type"] == "pitman-yor":
        concentrations = tuple(_number(c) for c in data["concentrations"])
        return PitmanYorComponent(_number(data["discount"]), sequences, concentrations)
    if data["type"] == "dirichlet":
        return DirichletComponent(
            _number(data["alpha"]), sequences, tuple(_whole(size) for size in data["sizes"])
        )
    raise InputError(f'the type of a component is {data["type"]!r}: it must be "dirichlet" or "pitman-yor"')


def _from_version_1(data: Mapping[str, Any]) -> Component:
    """A component of version 1, which had the sequence prior's fields beside the others."""
    if "endless" in data:
        meanings = {
            "type": "pitman-yor",
            "discount": data["endless"],
            "concentrations": data["concentrations"],
        }
    else:
        meanings = {"type": "dirichlet", "alpha": data["alpha"], "sizes": data["sizes"]}
    return component_from_json({**meanings, "sequences": data})


def _sequences(data: Mapping[str, Any]) -> SequencePrior:
    return SequencePrior(
        _number(data["theta"]), _whole(data["main"]), _number(data["evenness"]), _number(data["discount"])
    )


def _number(value: Any) -> float:
    """A number of a file as a float; whether it is finite and in range is for those who know what it stands for."""
    if isinstance(value, bool | str):
        raise InputError(f"{shown(value)} is not a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _whole(value: Any) -> int:
    number = _number(value)
    if not (math.isfinite(number) and number >= 0 and number == int(number)):
        raise InputError(f"{shown(value)} is not a whole number from 0")
    return int(number)


def _mixture_from_json(
    held: Sequence[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], Component] = component_from_json
) -> ComponentMixture:
    components = tuple(read(each) for each in held)
    weights = [tuple(_number(weight) for weight in each["weights"]) for each in held]
    for component, own in zip(components, weights, strict=True):
        if len(component.points) != len(own) or not all(0 <= weight < math.inf for weight in own):
            raise InputError("each component needs one weight of at least 0 per size or concentration")
    try:
        total = math.fsum(weight for own in weights for weight in own)
    except OverflowError:
        total = math.inf
    if not 0 < total < math.inf:
        raise InputError("the weights of a prior must sum to more than 0, and to a finite number")
    return ComponentMixture(components, tuple(tuple(weight / total for weight in own) for own in weights))
