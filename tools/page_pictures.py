"""`python -m tools.page_pictures`: the pictures of the page in docs/images, taken in a real browser.

A paragraph needs a model that writes one: `--model gguf:FILE` names it, else the built-in model answers. It is also the
second model in the picture of a second opinion, which is taken only with it.
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
BUILTIN = "smollm2"
PARAGRAPH = (
    "In three short sentences: in which country is Timisoara, which river runs through it, and who was its mayor "
    "in 1911?"
)
OBSCURE = "Who was the mayor of Timisoara in 1911?"
REPEATED_ERROR = "What is the capital of Australia?"
TRAFFIC = (
    "What is the capital of France?",
    "What is the chemical symbol for gold?",
    "How many moons does Mars have?",
    "Who wrote Don Quixote?",
    "What is the capital of Turkey?",
    "What is the largest planet?",
)
WIDTH, PHONE = {"width": 940, "height": 600}, {"width": 390, "height": 800}
PATIENCE = 600
"""Seconds that a check may take: a paragraph on a busy machine."""
TRIES = 8
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def gateway(*flags: str) -> Iterator[str]:
    """The address of `semtropy serve` with these flags, as a separate process, once it is ready."""
    command = [sys.executable, "-m", "semtropy", "serve", "--port", "0", "--max-seconds", str(PATIENCE)]
    command += ["--sample-tokens", "80", "--prior", "default", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        try:
            address, ready = "", False
            for line in process.stderr:  # both are said, in either order
                found = re.search(r"http://127\.0\.0\.1:\d+", line)
                address, ready = found[0] if found else address, ready or '"ready"' in line
                if address and ready:
                    yield address
                    break
        finally:
            process.terminate()
            process.stderr.read()


def check(page: Page, question: str) -> None:
    """Ask, and wait for the verdict and for everything to have settled."""
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator("#cost:empty").wait_for(state="attached")
    page.locator("#cost:not(:empty)").wait_for(state="attached", timeout=1000 * PATIENCE)
    page.wait_for_timeout(700)


def paragraph(browser: Browser, address: str) -> None:
    """A long answer with its claims marked; the same on a phone."""
    context = browser.new_context(viewport=WIDTH, color_scheme="light")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    check(page, PARAGRAPH)
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=IMAGES / "page-claims.png", full_page=True)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.evaluate("document.getElementById('question').scrollIntoView()")
    page.screenshot(path=IMAGES / "page-phone.png")
    context.close()


def short(browser: Browser, address: str, *, second: bool) -> None:
    """A made-up name with its reasons, in the dark; a second opinion; and what passed."""
    context = browser.new_context(viewport=WIDTH, color_scheme="dark")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    check(page, OBSCURE)
    page.get_by_text("Why", exact=True).click()
    page.get_by_role("button", name="anyway").click()
    page.locator("#cost:empty").wait_for(state="attached")
    page.locator("#cost:not(:empty)").wait_for(state="attached", timeout=1000 * PATIENCE)
    page.wait_for_timeout(700)
    page.screenshot(path=IMAGES / "page-why.png", full_page=True)
    page.emulate_media(color_scheme="light")
    for question in TRAFFIC:
        check(page, question)
    if second:
        opinion(page)
    page.get_by_role("link", name="Traffic").click()
    page.locator("#latest td").first.wait_for()
    page.wait_for_timeout(700)
    page.screenshot(path=IMAGES / "page-traffic.png", full_page=True)
    context.close()


def opinion(page: Page) -> None:
    """A second opinion. The other model is asked only where its word can change the verdict: the first such check."""
    page.locator("#why").evaluate("each => { each.open = false; }")
    for _ in range(TRIES):
        check(page, REPEATED_ERROR)
        if page.locator("#second").is_visible():
            page.screenshot(path=IMAGES / "page-second.png", full_page=True)
            return


def shrink() -> None:
    """Store each picture with a palette, which takes a third of the space."""
    from PIL import Image

    for path in IMAGES.glob("page-*.png"):
        with Image.open(path) as picture:
            small = picture.convert("RGB").quantize(192)
        small.save(path, optimize=True)


def main() -> int:
    """Take them all."""
    parser = argparse.ArgumentParser(description="Take the pictures of the page.")
    parser.add_argument("--model", default=BUILTIN, help="the model that writes the paragraph")
    model = parser.parse_args().model
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
        with gateway("--model", BUILTIN, *(() if model == BUILTIN else ("--second", model))) as address:
            short(browser, address, second=model != BUILTIN)
        with gateway("--model", model) as address:
            paragraph(browser, address)
        browser.close()
    shrink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
