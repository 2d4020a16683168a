"""Priors as JSON: version 2 is written, versions 1 and 2 are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..entropy import DirichletComponent, PitmanYorComponent, SequencePrior
from ..errors import InputError

if TYPE_CHECKING:
    from ..entropy.components import Component

__all__ = ["component_from_json", "component_to_json", "components_from_json"]

VERSIONS = (1, 2)


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
        "weights": [round(weight, 8) for weight in weights],
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


def components_from_json(
    data: Mapping[str, Any],
) -> tuple[tuple[Component, ...], tuple[tuple[float, ...], ...]]:
    """The components of a prior file and their weights, which are scaled to sum to 1."""
    version = data.get("semtropy_prior")
    if version not in VERSIONS:
        raise InputError('not a prior: the key "semtropy_prior" must be 1 or 2')
    entries = data["kinds"] if version == 1 else data["components"]
    components = [_from_version_1(own) if version == 1 else component_from_json(own) for own in entries]
    weights = [[float(weight) for weight in own["weights"]] for own in entries]
    for component, own in zip(components, weights, strict=True):
        if len(component.points) != len(own) or not all(0 <= weight < math.inf for weight in own):
            raise InputError("each component needs one weight of at least 0 per size or concentration")
    total = math.fsum(weight for own in weights for weight in own)
    if not 0 < total < math.inf:
        raise InputError("the weights of a prior must sum to more than 0")
    return tuple(components), tuple(tuple(weight / total for weight in own) for own in weights)
