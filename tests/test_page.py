"""The page in real Chromium: the main path, errors, a narrow screen, a hostile answer, no other host."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from browser import chromium
from openai_upstream import served
from semtropy.models.scripted import ScriptedModel
from semtropy.server.app import PAGE, create_app
from semtropy.server.settings import Settings

UNSURE, STEADY, HOSTILE, SLOW = (
    "Who was the mayor in 1911?",
    "What is the capital of France?",
    "Say something nasty.",
    "Who was it, after all?",
)
SCRIPT = "<script>window.bad = 1</script><img src=x onerror='window.bad = 2'>"
SPREADS = {
    STEADY: {"Paris": 0.98, "Lyon": 0.02},
    UNSURE: {f"Dr {name}": 0.125 for name in "ABCDEFGH"},
    HOSTILE: {SCRIPT: 0.5, f"{SCRIPT} again": 0.5},
    SLOW: {f"Dr {name}": 0.125 for name in "ABCDEFGH"},
}
SLOWLY = 0.8
"""Seconds a sample takes where a test needs time to interfere."""


class Paced(ScriptedModel):
    """Takes its time over one question."""

    async def asample(self, prompt: str, n: int, **options: Any) -> Any:
        await asyncio.sleep(SLOWLY if prompt == SLOW else 0.02)
        return self.sample(prompt, n, **options)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = create_app(Settings(judge="exact"), model=Paced(SPREADS))
    with served(app) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    yield page
    context.close()
    assert all(address.startswith((url, "data:", "blob:")) for address in asked), asked
    # A refusal the test provoked is noted by the browser too; anything else is a fault of the page.
    assert not [text for text in complaints if "the server responded with a status of 4" not in text], (
        complaints
    )


def check(page: Any, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Check").click()
    page.get_by_role("heading", name="What if?").wait_for()


def test_the_main_path(page: Any) -> None:
    check(page, UNSURE)
    assert "made up" in page.locator("#sentence").inner_text()
    samples = page.locator(".sample").count()
    assert 2 <= samples <= 10
    assert page.locator(".meaning").count() >= 2
    assert page.locator("#curve svg path.density").count() == 1
    assert page.locator("#curve svg path.ghost").count() >= 1
    assert re.search(
        r"Semantic entropy \d\.\d\d nats, with 90% between", page.locator("#curve-text").inner_text()
    )
    cost = page.locator("#cost").inner_text()
    assert f"Cost: {samples} samples, {samples + 1} tokens" in cost
    ten = (
        "as much as a fixed ten" if samples == 10 else "A fixed ten would have cost about 11 tokens and about"
    )
    assert ten in cost
    assert "variance" in page.locator("#rule-text").inner_text()
    assert page.locator("#curve svg line.interval").count() == 1
    assert "flagged above 0.69" in page.locator("#curve svg").text_content()
    assert "stops at a variance of 0.1" in page.locator("#progress svg").text_content()
    assert page.locator("#progress svg circle").count() == samples, "one sample a round"


@pytest.mark.parametrize(
    ("rule", "value", "drawn"),
    [("confidence", "0.8", "stops when 80% sure"), ("samples", "3", "stops at 3 samples")],
)
def test_each_rule_is_drawn(page: Any, rule: str, value: str, drawn: str) -> None:
    page.get_by_text("When to stop, and when to flag").click()
    page.locator("#rule").select_option(rule)
    page.locator("#rule-value").fill(value)
    page.locator("#threshold").fill("1.5")
    check(page, UNSURE)
    assert drawn in page.locator("#progress svg").text_content()
    assert "flagged above 1.50" in page.locator("#curve svg").text_content()
    if rule == "samples":
        assert page.locator(".sample").count() == 3


def test_an_example_is_a_first_question(page: Any) -> None:
    page.get_by_role("button", name=STEADY).click()
    page.get_by_role("heading", name="What if?").wait_for()
    assert "Looks steady" in page.locator("#sentence").inner_text()
    assert page.locator("#examples").is_hidden(), "from now on there is the history"


def ask_slowly(page: Any) -> None:
    """Ask for ten samples that take long, and return with the first."""
    page.get_by_text("When to stop, and when to flag").click()
    page.locator("#rule").select_option("samples")
    page.locator("#rule-value").fill("10")
    page.get_by_label("Your question").fill(SLOW)
    page.get_by_role("button", name="Check").click()
    page.locator(".sample").first.wait_for(state="attached")


def test_stop_leaves_what_was_found(page: Any) -> None:
    ask_slowly(page)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped.").wait_for()
    assert 1 <= page.locator(".sample").count() < 10
    assert page.locator("#check").evaluate("node => node === document.activeElement")
    assert page.locator("#past").is_hidden()


def test_a_gateway_that_goes_away_is_told(browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    with served(create_app(Settings(judge="exact"), model=Paced(SPREADS))) as address:
        page.goto(address)
        ask_slowly(page)
    page.get_by_text("That did not work: the gateway broke off before the verdict.").wait_for()
    page.get_by_role("button", name="Check").click()
    page.get_by_text("That did not work: the gateway cannot be reached.").wait_for()
    context.close()


def test_the_operators_calibration_holds_until_a_threshold_is_set(browser: Any, tmp_path: Path) -> None:
    from semtropy.calibration import Calibration, Logistic

    Calibration(Logistic(2.0, -1.0), estimator="bayes").save(tmp_path / "curve.json")
    settings = Settings(judge="exact", calibration=str(tmp_path / "curve.json"))
    with served(create_app(settings, model=ScriptedModel(SPREADS))) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        check(page, UNSURE)
        assert "Probably made up (" in page.locator("#sentence").inner_text()
        page.get_by_text("When to stop, and when to flag").click()
        page.locator("#threshold").fill("0.5")
        check(page, UNSURE)
        assert "Likely made up:" in page.locator("#sentence").inner_text()
        context.close()


def test_what_if_replays_the_same_samples(page: Any) -> None:
    check(page, STEADY)
    assert page.get_by_role("slider").is_disabled(), "one sample: nothing to leave out"
    check(page, UNSURE)
    before = page.locator(".sample").all_text_contents()
    slider = page.get_by_role("slider")
    assert int(slider.input_value()) == len(before)
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_text("It would have stopped after 1 sample:").wait_for()
    assert page.locator("#curve svg path.if").count() == 1
    page.keyboard.press("End")
    page.locator("#if-rule").select_option("samples")
    page.locator("#if-value").fill("2")
    page.get_by_text("It would have stopped after 2 samples:").wait_for()
    assert page.locator(".sample").all_text_contents() == before


def test_the_history_brings_a_check_back(page: Any, url: str) -> None:
    check(page, STEADY)
    assert "Looks steady" in page.locator("#sentence").inner_text()
    check(page, UNSURE)
    page.reload()
    page.get_by_role("button", name=STEADY).click()
    assert "Looks steady" in page.locator("#sentence").inner_text()
    assert page.locator("#sentence").evaluate("node => node === document.activeElement")
    page.get_by_role("button", name="Forget them").click()
    assert page.locator("#past").is_hidden()


def test_an_error_is_told(page: Any) -> None:
    page.get_by_label("Your question").fill("A question the script does not know")
    page.get_by_role("button", name="Check").click()
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert "the script has no answers for this prompt" in alert.inner_text()
    check(page, STEADY)
    assert alert.is_hidden()


def test_a_script_in_an_answer_is_text(page: Any) -> None:
    check(page, HOSTILE)
    assert page.evaluate("window.bad") is None
    assert SCRIPT in page.locator("#meanings").inner_text()
    assert page.locator("#result img, #result script").count() == 0


def test_keyboard_alone(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    page.keyboard.type(STEADY)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="What if?").wait_for()


def test_tab_visits_every_control_in_order_and_shows_where_it_is(page: Any) -> None:
    check(page, UNSURE)
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('a, input, select, textarea, button, summary')]
            .filter(each => each.checkVisibility() && !each.disabled && each.className !== 'skip')
            .map(each => each.id || each.textContent)"""
    )
    page.locator(".skip").focus()
    visited = []
    for _ in wanted:
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            """() => { const at = document.activeElement;
                return [at.id || at.textContent, getComputedStyle(at).outlineStyle]; }"""
        )
        visited.append(name)
        assert outline != "none", name
    assert visited == wanted
    assert len(wanted) >= 12


STATES = ["before", "flagged", "steady", "wrong", "recording"]


@pytest.mark.parametrize("state", STATES)
def test_every_control_has_a_name_and_text_has_contrast(
    browser: Any, url: str, tmp_path: Path, state: str
) -> None:
    """What Chromium would tell a screen reader, and WCAG's AA ratio of every text in both schemes."""
    from recordings_made import graded_recording

    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(url)
    page.get_by_text("Model:").wait_for()
    if state in ("flagged", "steady"):
        check(page, UNSURE if state == "flagged" else STEADY)
    if state == "flagged":
        page.locator("#if-rule").select_option("samples")
        page.get_by_text("It would have stopped after").wait_for()
    if state == "wrong":
        page.get_by_label("Your question").fill("A question the script does not know")
        page.get_by_role("button", name="Check").click()
        page.get_by_role("alert").wait_for()
    if state == "recording":
        page.locator("#recording").set_input_files(graded_recording(tmp_path / "run.jsonl"))
        page.locator("#study-chart svg path.line").first.wait_for(timeout=60_000)
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    named = names_told(context, page)
    assert not [role for role, name in named if not name.strip()]
    assert {"textbox", "button", "combobox", "spinbutton"} <= {role for role, _ in named}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        checked, poor = page.evaluate(CONTRAST)
        assert not poor, scheme
        assert checked > 10
    context.close()


TOLD = {"textbox", "button", "combobox", "spinbutton", "slider", "link", "image", "region", "form"}


def names_told(context: Any, page: Any) -> list[tuple[str, str]]:
    """The role and name of everything in the accessibility tree that must have a name."""
    session = context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    told = [
        (node["role"]["value"], str(node.get("name", {}).get("value", "")))
        for node in nodes
        if not node["ignored"]
    ]
    return [(role, name) for role, name in told if role in TOLD]


CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const faint = (node) => {
    for (let at = node; at; at = at.parentElement) if (getComputedStyle(at).opacity !== '1') return true;
    return false;
  };
  const poor = [];
  let checked = 0;
  const judge = (node, colour, text) => {
    checked += 1;
    const ink = light(parse(colour)), paper = light(behind(node));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < 4.5 || faint(node)) poor.push(`${node.tagName} ${text.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  };
  for (const node of document.querySelectorAll('body *')) {
    if (!node.getClientRects().length || node.disabled) continue;
    const style = getComputedStyle(node);
    if (node.placeholder) judge(node, getComputedStyle(node, '::placeholder').color, node.placeholder);
    if (node.value && node.type !== 'range' && node.type !== 'file') judge(node, style.color, String(node.value));
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (own) judge(node, node instanceof SVGElement ? style.fill : style.color, node.textContent);
  }
  return [checked, poor];
}"""


def test_a_narrow_screen(browser: Any, url: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(url)
    check(page, HOSTILE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    left, right = page.locator("#meanings").bounding_box(), page.locator("#curve").bounding_box()
    assert right["y"] > left["y"] + left["height"], "one below the other"
    assert page.get_by_role("button", name="Check").bounding_box()["height"] >= 40
    context.close()


def test_a_key_is_asked_for_where_one_is_needed(browser: Any) -> None:
    app = create_app(Settings(judge="exact", keys=("open sesame",)), model=ScriptedModel(SPREADS))
    with served(app) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        page.get_by_label("Key for this gateway").fill("open sesame")
        check(page, STEADY)
        assert "Looks steady" in page.locator("#sentence").inner_text()
        context.close()


def test_a_recording_is_drawn(page: Any, tmp_path: Path) -> None:
    from recordings_made import graded_recording

    page.locator("#recording").set_input_files(graded_recording(tmp_path / "run.jsonl"))
    page.locator("#study-chart svg path.line").first.wait_for(timeout=60_000)
    assert "a-model on a-set" in page.locator("#study-text").inner_text()
    page.get_by_text("The numbers").click()
    assert page.locator("#study-table tbody tr").count() >= 2
    (tmp_path / "bad.jsonl").write_text("nonsense\n")
    page.locator("#recording").set_input_files(tmp_path / "bad.jsonl")
    page.get_by_text("That did not work: the recording, line 1").wait_for()


def test_the_page_names_no_other_host() -> None:
    """The files themselves, whatever a browser would do with them."""
    for file in PAGE.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.[a-z]", text), file.name
        assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\b", text), file.name
