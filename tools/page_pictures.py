"""`python -m tools.page_pictures`: the pictures of the page in docs/images, taken in a real browser.

The model is the built-in one and the recording the one that ships; `--model scripted:FILE.json` and `--recording`
take others.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["main"]

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
OBSCURE, UNSURE = "Who was the mayor of Timisoara in 1911?", "How many moons does Mars have?"
SHIPPED = IMAGES.parent.parent / "src" / "semtropy" / "data" / "facts--smollm2.jsonl.gz"
MARGIN = 16
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def gateway(model: str) -> Iterator[str]:
    """The address of `semtropy serve` in a process of its own."""
    command = [sys.executable, "-m", "semtropy.cli", "serve", "--port", "0", "--model", model]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                found = re.search(r"http://127\.0\.0\.1:\d+", line)
                if found:
                    yield found[0]
                    break
        finally:
            process.terminate()
            process.stderr.read()


def check(page: Page, question: str, *, samples: bool = False) -> None:
    """Ask, and wait for the verdict and for its samples to have settled; with `samples`, draw those not needed too."""
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Check").click()
    finished = page.locator("#cost:not(:empty)")
    finished.wait_for(timeout=120_000)
    if samples and page.locator("#more").is_visible():
        page.locator("#more").click()
        page.locator("#cost:empty").wait_for(state="attached")
        finished.wait_for(timeout=120_000)
    page.wait_for_timeout(700)


def take(browser: Browser, address: str, recording: Path) -> None:
    """Light and wide, dark, a phone, and a recording."""
    page = browser.new_page(viewport={"width": 1040, "height": 760}, color_scheme="light")
    page.goto(address)
    check(page, UNSURE)
    check(page, OBSCURE, samples=True)
    page.screenshot(path=IMAGES / "page-light.png", full_page=True)
    page.locator("#recording").set_input_files(recording)
    page.locator("#study-chart svg").wait_for(timeout=300_000)
    box = page.locator("#study").bounding_box()
    assert box is not None
    clip = {
        "x": box["x"] - MARGIN,
        "y": box["y"] + page.evaluate("scrollY"),
        "width": box["width"] + 2 * MARGIN,
        "height": box["height"] + MARGIN,
    }
    page.screenshot(path=IMAGES / "page-study.png", full_page=True, clip=clip)  # type: ignore[arg-type]
    page = browser.new_page(viewport={"width": 1040, "height": 1060}, color_scheme="dark")
    page.goto(address)
    check(page, OBSCURE)
    page.screenshot(path=IMAGES / "page-dark.png")
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="light", is_mobile=True)
    page.goto(address)
    check(page, OBSCURE, samples=True)
    page.evaluate("document.getElementById('result').scrollIntoView()")
    page.screenshot(path=IMAGES / "page-phone.png")


def main() -> int:
    """Take them all."""
    parser = argparse.ArgumentParser(description="Take the pictures of the page.")
    parser.add_argument("--model", default="smollm2", help="the model that answers")
    parser.add_argument("--recording", type=Path, default=SHIPPED, help="a graded recording to draw")
    arguments = parser.parse_args()
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with gateway(arguments.model) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
        take(browser, address, arguments.recording)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
