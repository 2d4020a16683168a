"""Prior files with numbers that are none, out of range or given twice: one line, or the right belief."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semtropy import Evidence, Prior, load_estimator
from semtropy.errors import InputError
from semtropy.estimators import PaperPrior
from semtropy.evidence import JudgedAnswer

EVIDENCES = (
    Evidence((2, 1), (0.3, 0.1)),
    Evidence((2, 1)),
    Evidence((1,), answer=JudgedAnswer(0, -1.0, token_entropy=1.0)),
    Evidence((1,), prefix_logprobs=((-0.5,),)),
)
PLACES = [
    *(("trained_on",), ("token_entropy",), ("ends", 0), ("samples", 0, "alpha"), ("samples", 0, "sizes", 0)),
    *(("samples", 0, "sequences", name) for name in ("theta", "main", "evenness", "discount")),
    *(("samples", 0, "weights", 0), ("samples", 1, "discount"), ("samples", 1, "concentrations", 0)),
    *(("answered", 0, 0, "alpha"), ("answered", 0, 0, "weights", 0), ("answered", 0, 0, "sequences", "main")),
]
ODD = [
    *(math.nan, math.inf, -math.inf, 10**400, -(10**400), None, "x", [], {}, True, -1, 0, 2, 0.5),
    *(1e308, 1e-308, 5e-324, 1e13),
]


def changed(place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The prior that ships, with a few components left and one value put into it."""
    data: Any = copy.deepcopy(Prior.default().as_dict())
    data["samples"], data["answered"] = data["samples"][:2], [own[:2] for own in data["answered"]]
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return dict(data)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_prior_is_refused_or_gives_beliefs(place: tuple[str | int, ...], tmp_path: Path) -> None:
    path, used = tmp_path / "prior.json", 0
    for value in ODD:
        path.write_text(json.dumps(changed(place, value)))
        try:
            prior = Prior.load(path)
        except InputError:
            continue
        used += 1
        for evidence in EVIDENCES:
            belief = load_estimator("bayes", prior=prior)(evidence)
            assert math.isfinite(belief.mean), value
            assert belief.mean >= 0, value
            assert belief.variance is not None, value
            assert 0 <= belief.variance < math.inf, value
        prior.save(path)
        assert "NaN" not in path.read_text()
    assert used < len(ODD)


def test_a_prior_nested_too_deep_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "prior.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"prior\.json"):
        Prior.load(tmp_path / "prior.json")


@pytest.mark.parametrize(("place", "value"), [(("samples", 0, "sizes", 0), 1.5), (("trained_on",), 3.9)])
def test_a_whole_number_is_not_cut_to_one(place: tuple[str | int, ...], value: float) -> None:
    with pytest.raises(InputError, match="whole number"):
        Prior.from_dict(changed(place, value))


def test_a_component_that_stands_twice_has_both_weights() -> None:
    plain: Any = changed(("trained_on",), 0)
    twice = copy.deepcopy(plain)
    for mixture in (twice["samples"], *twice["answered"]):
        half = copy.deepcopy(mixture[0])
        mixture[0]["weights"] = [weight * 0.75 for weight in mixture[0]["weights"]]
        half["weights"] = [weight * 0.25 for weight in half["weights"]]
        mixture.append(half)
    one, other = (load_estimator("bayes", prior=Prior.from_dict(data)) for data in (plain, twice))
    for evidence in EVIDENCES:
        assert one(evidence).mean == pytest.approx(other(evidence).mean, abs=1e-6)
        assert one(evidence).variance == pytest.approx(other(evidence).variance, abs=1e-6)


def test_priors_with_other_numbers_of_ends_are_not_combined() -> None:
    default = Prior.default()
    with pytest.raises(InputError, match="ends"):
        Prior.combine([default, Prior(default.samples, default.answered, ends=(0.5,))])


@pytest.mark.parametrize(
    "weights", [(), (0.0,) * 7, (math.nan,) * 7, (-1.0, *(1.0,) * 6), (math.inf,) * 7, ("a",), "x"]
)
def test_weights_of_sizes_are_weights(weights: Any) -> None:
    with pytest.raises(InputError, match="weights"):
        PaperPrior(weights)


@pytest.mark.parametrize("sizes", [[0], [-1], [math.nan], [1.5], [10**30], ["x"]])
def test_sizes_of_training_questions_are_whole_numbers(sizes: Any) -> None:
    with pytest.raises(InputError, match="sizes"):
        PaperPrior.from_sizes(sizes)


def test_large_weights_do_not_overflow() -> None:
    large, plain = (
        load_estimator("bayes-paper", prior=PaperPrior((each,) * 7))(Evidence((1,))).mean
        for each in (1e308, 1.0)
    )
    assert np.isfinite(large)
    assert large == pytest.approx(plain)
