"""`semtropy calibrate`: from a graded recording to the probability of a hallucination."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MissingExtra
from ._text import say

if TYPE_CHECKING:
    import argparse

    from ..study.calibrate import FittedCalibration

__all__ = ["register"]


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
    add("--prior", type=Path, metavar="FILE", help="a fitted prior, if checks will use one")
    add(
        "--budgets",
        default="1-10",
        metavar="N",
        help="numbers of samples at which a check may stop (default: 1-10)",
    )
    add(
        "--target-error",
        type=float,
        default=0.1,
        metavar="P",
        help="largest share of wrong answers among those not flagged (default: 0.1)",
    )
    add("--seed", type=int, default=0, metavar="N", help="seed for all draws (default: 0)")
    add(
        "--figure",
        type=Path,
        metavar="FILE",
        help="the reliability diagram, .png or .pdf (default: next to --out, .png)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit, save the file and its figure, print what was found."""
    from ..study.calibrate import fit_calibration
    from ..study.output import check_output_file, explained
    from .evaluate import parse_budgets

    figure = arguments.figure or arguments.out.with_suffix(".png")
    inputs = [path for path in (arguments.recording, arguments.prior) if path is not None]
    check_output_file(arguments.out, *inputs)
    check_output_file(figure, arguments.out, *inputs)
    options = {}
    if arguments.prior is not None:
        from ..estimators import Prior

        options["prior"] = Prior.load(arguments.prior)
    fitted = fit_calibration(
        arguments.recording,
        estimator=arguments.estimator,
        budgets=parse_budgets(arguments.budgets),
        target_error=arguments.target_error,
        seed=arguments.seed,
        options=options,
    )
    with explained(arguments.out):
        fitted.calibration.save(arguments.out)
    _draw(fitted, figure)
    say(_summary(fitted), end="")
    return 0


def _draw(fitted: FittedCalibration, path: Path) -> None:
    from ..study.calibrate.reliability import draw_reliability
    from ..study.evaluate.report.figures import figure_bytes
    from ..study.output import write_file

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
        entropy = calibration.entropy_threshold
        nats = "" if entropy is None else f" (entropy {entropy:.3f} nats)"
        lines.append(
            f"flag above probability {calibration.threshold:.3f}{nats}: "
            f"{fitted.kept:.0%} of answers pass, {fitted.error:.1%} of those are wrong"
        )
    return "\n".join(lines) + "\n"
