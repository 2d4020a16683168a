"""`semtropy calibrate`: from a graded recording to the probability of a hallucination."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, MissingExtra
from ._text import say

if TYPE_CHECKING:
    import argparse

    from ..study.calibrate import FittedCalibration


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "calibrate",
        help="fit a curve from entropy to the probability of a hallucination",
        description="Fit the probability of a hallucination given the entropy, on a graded recording with meanings.",
    )
    add = parser.add_argument
    add("recording", metavar="RECORDING", help="a recording with meanings and grades")
    add("--out", type=Path, required=True, metavar="FILE", help="the file to write (JSON)")
    add("--estimator", default="bayes", metavar="E", help="the estimator to calibrate (default: bayes)")
    add(
        "--claims",
        action="store_true",
        help="calibrate claims of long answers instead: the recording has `claims` with their labels",
    )
    add(
        "--prior",
        type=Path,
        metavar="FILE",
        help="a fitted prior, if checks will use one; with --claims, of claims",
    )
    add(
        "--budgets",
        default="1-10",
        metavar="N",
        help="numbers of samples at which a check may stop (default: 1-10; with --claims at most 5)",
    )
    add(
        "--target-error",
        type=float,
        default=0.1,
        metavar="P",
        help="largest share of wrong answers among those not flagged (default: 0.1)",
    )
    _add_second(parser)
    add("--seed", type=int, default=0, metavar="N", help="seed for all draws (default: 0)")
    add(
        "--figure",
        type=Path,
        metavar="FILE",
        help="the reliability diagram, .png or .pdf (default: next to --out, .png)",
    )
    parser.set_defaults(run=run)


def _add_second(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--second",
        metavar="RECORDING",
        help="answers of another model to the same questions: also fit how much its word counts in check(second=...)",
    )
    add(
        "--judge",
        metavar="J",
        default="builtin",
        help="with --second, the judge that compares answers of both models; with --claims, the one that relates "
        "claims to samples where the recording has no votes (default: builtin)",
    )
    add(
        "--at-most",
        type=float,
        metavar="P",
        help="guarantee that at most this share of the answers that pass, or of the claims that are kept, is wrong: "
        "the largest threshold for which the grades show that (default: no guarantee, --target-error decides)",
    )
    add(
        "--confidence",
        type=float,
        default=0.95,
        metavar="P",
        help="the confidence of the guarantee (default: 0.95)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Fit, save the file and its figure, print what was found."""
    from ..files import check_output_file, explained
    from ..second import OpinionWeights
    from ..study.calibrate import fit_calibration
    from .evaluate import parse_budgets

    figure = arguments.figure or arguments.out.with_suffix(".png")
    inputs = [path for path in (arguments.recording, arguments.prior) if path is not None]
    check_output_file(arguments.out, *inputs)
    check_output_file(figure, arguments.out, *inputs)
    options: dict[str, Any] = {}
    if arguments.claims and arguments.second is not None:
        raise InputError("--claims and --second do not go together: leave out one")
    if arguments.prior is not None:
        from ..claims import ClaimPrior
        from ..estimators import Prior

        options["prior"] = (ClaimPrior if arguments.claims else Prior).load(arguments.prior)
    fitted = fit_calibration(
        arguments.recording,
        estimator="claims" if arguments.claims else arguments.estimator,
        judge=arguments.judge,
        budgets=parse_budgets(arguments.budgets),
        target_error=arguments.target_error,
        at_most=arguments.at_most,
        confidence=arguments.confidence,
        seed=arguments.seed,
        options=options,
    )
    weights = None
    if arguments.second is not None:
        from ..study.second import fit_weights, join

        joined = join(arguments.recording, arguments.second, arguments.judge, seed=arguments.seed)
        weights = fit_weights(joined, seed=arguments.seed, about={"second": Path(arguments.second).name})
        fitted = replace(fitted, calibration=replace(fitted.calibration, second=weights))
    with explained(arguments.out):
        fitted.calibration.save(arguments.out)
    _draw(fitted, figure)
    say(_summary(fitted), end="")
    if weights is not None:
        usual = OpinionWeights.default()
        say(
            f"a second opinion counts {weights.other:.2f}, the model's agreement with itself {weights.own:.2f} "
            f"(by default {usual.other:.2f} and {usual.own:.2f})"
        )
    return 0


def _draw(fitted: FittedCalibration, path: Path) -> None:
    from ..files import write_file
    from ..study.calibrate import draw_reliability
    from ..study.evaluate.figures import figure_bytes

    try:
        figure = draw_reliability(fitted)
    except MissingExtra as error:
        print(f"semtropy: no reliability figure: {error}", file=sys.stderr)
        return
    write_file(path, figure_bytes(figure, "pdf" if path.suffix == ".pdf" else "png"))


def _summary(fitted: FittedCalibration) -> str:
    calibration = fitted.calibration
    kind = type(calibration.curve).__name__.lower()
    losses = ", ".join(f"{name} {loss:.4f}" for name, loss in fitted.losses.items())
    lines = [f"{kind} curve (held-out log loss: {losses}); held-out calibration error {fitted.ece:.3f}"]
    if calibration.threshold is None:
        lines.append(f"no threshold keeps the error of answers that pass at {calibration.target_error:g}")
    else:
        limit, kept, error = calibration.entropy_threshold, f"{fitted.kept:.0%}", f"{fitted.error:.1%}"
        if calibration.estimator == "claims":
            at = "" if limit is None else f" (agreement {1 - limit:.2f})"
            which = f"keep up to probability {calibration.threshold:.3f}{at}: {kept} of claims are kept"
        else:
            at = "" if limit is None else f" (entropy {limit:.3f} nats)"
            which = f"flag above probability {calibration.threshold:.3f}{at}: {kept} of answers pass"
        lines.append(f"{which}, {error} of those are wrong")
    if calibration.guarantee is not None:
        lines.append(calibration.guarantee.sentence())
    return "\n".join(lines) + "\n"
