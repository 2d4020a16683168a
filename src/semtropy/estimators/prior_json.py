"""The JSON form of a prior. Version 2 is written; version 1, which had one mixture, is still read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..entropy.components import DirichletComponent, PitmanYorComponent, SequencePrior
from ..errors import InputError
from .component_mixture import ComponentMixture

if TYPE_CHECKING:
    from ..entropy.components import Component

__all__ = ["prior_from_json", "prior_to_json"]

VERSION = 2


def prior_to_json(
    samples: ComponentMixture, answered: ComponentMixture, trained_on: int, token_entropy: float | None
) -> dict[str, Any]:
    """The content of a prior file."""
    return {
        "semtropy_prior": VERSION,
        "trained_on": trained_on,
        "token_entropy": token_entropy,
        "samples": _mixture_to_json(samples),
        "answered": _mixture_to_json(answered),
    }


def prior_from_json(
    data: Mapping[str, Any],
) -> tuple[ComponentMixture, ComponentMixture, int, float | None]:
    """Both mixtures, the number of training questions and their mean token entropy; an error names what is wrong."""
    version = data.get("semtropy_prior") if isinstance(data, Mapping) else None
    if version == 1:
        mixture = _mixture_from_json(data["kinds"], _from_version_1)
        return mixture, mixture, int(data["trained_on"]), None
    if version != VERSION:
        raise InputError(f'not a prior: the key "semtropy_prior" must be {VERSION} or 1')
    samples, answered = (_mixture_from_json(data[name]) for name in ("samples", "answered"))
    entropy = data.get("token_entropy")
    return samples, answered, int(data["trained_on"]), None if entropy is None else float(entropy)


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
        concentrations = tuple(float(c) for c in data["concentrations"])
        return PitmanYorComponent(float(data["discount"]), sequences, concentrations)
    if data["type"] == "dirichlet":
        return DirichletComponent(float(data["alpha"]), sequences, tuple(int(size) for size in data["sizes"]))
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
        float(data["theta"]), int(data["main"]), float(data["evenness"]), float(data["discount"])
    )


def _mixture_from_json(
    held: Sequence[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], Component] = component_from_json
) -> ComponentMixture:
    components = tuple(read(each) for each in held)
    weights = [tuple(float(weight) for weight in each["weights"]) for each in held]
    for component, own in zip(components, weights, strict=True):
        if len(component.points) != len(own) or not all(0 <= weight < math.inf for weight in own):
            raise InputError("each component needs one weight of at least 0 per size or concentration")
    total = math.fsum(weight for own in weights for weight in own)
    if not 0 < total < math.inf:
        raise InputError("the weights of a prior must sum to more than 0")
    return ComponentMixture(components, tuple(tuple(weight / total for weight in own) for own in weights))
