"""The figure of the README: drawn from the stored numbers, which the README quotes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

from tools.headline import COMMAND, LABELS, draw

from semtropy.cli import parser

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = json.loads((ROOT / "docs" / "images" / "headline.json").read_text(encoding="utf-8"))


def test_the_figure_is_drawn_from_the_numbers() -> None:
    assert (ROOT / "docs" / "images" / "headline.svg").read_text(encoding="utf-8") == draw(NUMBERS)
    tree = ElementTree.fromstring(draw(NUMBERS))
    circles = tree.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == sum(map(len, NUMBERS["auroc"].values()))
    assert set(NUMBERS["auroc"]) == set(LABELS)


def test_the_readme_quotes_the_numbers() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (quoted,) = re.findall(
        r"!\[AUROC against samples per question: (.*?)\]\(docs/images/headline.svg\)", text
    )
    auroc = NUMBERS["auroc"]
    wanted = [
        auroc["bayes"]["0"],
        auroc["bayes"]["10"],
        auroc["bayes-paper"]["1"],
        auroc["bayes-paper"]["10"],
    ]
    wanted += [auroc["histogram"]["1"], auroc["histogram"]["10"]]
    assert re.findall(r"\d\.\d\d", quoted) == [f"{value:.2f}" for value in wanted]
    assert auroc["bayes"]["0"] >= auroc["bayes-paper"]["10"]  # "as good as the paper with ten"


def test_the_command_is_one_that_is_taken() -> None:
    assert NUMBERS["command"] == COMMAND
    assert parser().parse_args(COMMAND.split()[1:]).folds == 3
