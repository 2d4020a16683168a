"""The page in real Chromium: the main path, every view, errors, a narrow screen, a hostile answer, no other host."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from browser import chromium
from openai_upstream import served
from semtropy import Evidence, load_estimator
from semtropy.models.scripted import ScriptedModel
from semtropy.server.app import PAGE, create_app
from semtropy.server.routes.check import density_curve
from semtropy.server.settings import Settings
from semtropy.stopping import Reason, Spent
from semtropy.verdict import ClaimVerdict, Entropy, Meaning, Outcome, Verdict, VerdictAgreement

UNSURE, STEADY, HOSTILE, SLOW, SPLIT, SILENT, FIELDS = (
    "Who was the mayor in 1911?",
    "What is the capital of France?",
    "Say something nasty.",
    "Who was it, after all?",
    "Which of the two?",
    "Say nothing.",
    "Tell me about France.",
)
SCRIPT = "<script>window.bad = 1</script><img src=x onerror='window.bad = 2'>"
COUNTRY = {
    "type": "object",
    "properties": {
        "capital": {"type": "string"},
        "founded": {"type": "integer"},
        "motto": {"type": "string"},
    },
    "required": ["capital", "founded"],
}
SPREADS = {
    STEADY: {"Paris": 0.98, "Lyon": 0.02},
    UNSURE: {f"Dr {name}": 0.125 for name in "ABCDEFGH"},
    HOSTILE: {SCRIPT: 0.5, f"{SCRIPT} again": 0.5},
    SLOW: {f"Dr {name}": 0.125 for name in "ABCDEFGH"},
    SPLIT: {"the left": 0.6, "The left.": 0.2, "the right": 0.2},
    SILENT: {"": 1.0},
    FIELDS: {json.dumps({"capital": "Paris", "founded": 1780 + k, "motto": SCRIPT}): 0.125 for k in range(8)},
}
SLOWLY = 0.8
"""Seconds a sample takes where a test needs time to interfere."""


class Paced(ScriptedModel):
    """Takes its time over one question, and gives the samples of another in turn, so that none is missed by luck."""

    turns = itertools.cycle(["the left", "The left.", "the left", "the right", "the left"])

    def sample(self, prompt: str, n: int, **options: Any) -> Any:
        if prompt != SPLIT or options.get("temperature", 1.0) != 1.0:
            return super().sample(prompt, n, **options)
        drawn = {sample.text: sample for sample in super().sample(prompt, 1000, **options)}
        return [drawn[text] for text in itertools.islice(self.turns, n)]

    async def asample(self, prompt: str, n: int, **options: Any) -> Any:
        await asyncio.sleep(SLOWLY if prompt == SLOW else 0.02)
        return self.sample(prompt, n, **options)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = create_app(Settings(judge="normalised"), model=Paced(SPREADS))
    with served(app) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def only_tab(browser: Any) -> Iterator[Any]:
    """A tab for all tests: to open one of its own would take longer than most of them."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def tab(only_tab: Any) -> Iterator[Any]:
    """The tab as if it were new: nothing shown, nothing stored, its usual size."""
    only_tab.set_viewport_size({"width": 1280, "height": 720})
    only_tab.emulate_media(color_scheme="light", reduced_motion="no-preference")
    yield only_tab
    leave(only_tab)


def leave(page: Any) -> None:
    """Forget what the page has stored, and go away from it."""
    if page.url != "about:blank":
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        page.goto("about:blank")


@pytest.fixture
def page(tab: Any, url: str) -> Iterator[Any]:
    asked: list[str] = []
    complaints: list[str] = []
    listeners = {
        "request": lambda request: asked.append(request.url),
        "console": lambda message: complaints.append(message.text) if message.type == "error" else None,
        "pageerror": lambda error: complaints.append(str(error)),
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    tab.goto(url)
    tab.get_by_text("Model:").wait_for()  # set with all that a test then chooses
    yield tab
    leave(tab)
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert asked
    assert all(address.startswith((url, "data:", "blob:")) for address in asked), asked
    # A refusal the test provoked is noted by the browser too; anything else is a fault of the page.
    assert not [text for text in complaints if "the server responded with a status of 4" not in text], (
        complaints
    )


def check(page: Any, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Check", exact=True).click()
    wait_for_verdict(page)


def wait_for_verdict(page: Any) -> None:
    page.locator("#cost:not(:empty)").wait_for(state="attached")


def why(page: Any) -> None:
    """Unfold the reasons."""
    page.locator("#why").evaluate("each => { each.open = true; }")
    page.locator("#why[open]").wait_for()


def go(page: Any, name: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()


def samples_shown(page: Any) -> int:
    """How many samples the cards account for."""
    counts = page.locator(".meaning .count").all_text_contents()
    return sum(int(text.split(" of ")[0]) for text in counts)


def options(page: Any) -> None:
    page.locator("#options").evaluate("each => { each.open = true; }")


def choose_rule(page: Any, rule: str, value: str) -> None:
    options(page)
    page.locator("#rule").select_option(rule)
    page.locator("#rule-value").fill(value)


@pytest.mark.parametrize("counts", [(1, 1), (6, 4), (4, 3, 2, 1), (1,) * 8])
def test_the_curve_is_no_row_of_spikes(counts: tuple[int, ...]) -> None:
    """The density of an entropy has an edge at the logarithm of every whole number; the curve shows one hill."""
    curve = density_curve(load_estimator("bayes")(Evidence(counts=counts)))
    assert curve is not None
    assert sum(curve["density"]) * curve["reach"] / len(curve["x"]) == pytest.approx(1.0, abs=1e-3)
    height = [math.sqrt(density) for density in curve["density"]]
    tops = [k for k in range(1, len(height) - 1) if height[k - 1] < height[k] >= height[k + 1]]
    above = [height[k] - max(min(height[max(0, k - 12) : k]), min(height[k : k + 13])) for k in tops]
    assert sum(rise > 0.05 * max(height) for rise in above) <= 1


def test_the_main_path(page: Any) -> None:
    choose_rule(page, "variance", "0.01")
    check(page, UNSURE)
    assert not page.locator("#why").get_attribute("open"), "the reasons are folded"
    why(page)
    assert "made up" in page.locator("#sentence").inner_text()
    samples = samples_shown(page)
    assert 2 <= samples <= 10
    assert page.locator(".meaning").count() >= 2
    assert page.locator("#curve svg path.density").count() == 1
    assert page.locator("#curve svg path.ghost").count() >= 1
    belief = page.locator("#curve-text").inner_text()
    assert re.search(
        r"Semantic entropy \d\.\d\d nats \(90% interval: .*\), above 0\.69: as unsure as with", belief
    )
    cost = page.locator("#cost").inner_text()
    assert f"Cost: {samples} samples, {samples + 1} tokens" in cost
    assert ("Always drawing ten would cost about 11 tokens and" in cost) == (samples < 10)
    assert "variance" in page.locator("#rule-text").inner_text()
    assert page.locator("#curve svg line.interval").count() == 1
    assert "flagged above 0.69" in page.locator("#curve svg").text_content()
    assert "stops at 0.01" in page.locator("#progress svg").text_content()
    assert "variance in nats²" in page.locator("#progress svg").text_content()
    axis, points = page.locator("#progress svg line.axis"), page.locator("#progress svg circle")
    assert axis.last.bounding_box()["y"] <= points.first.bounding_box()["y"] + 4, "named up to its end"
    assert page.locator("#progress svg circle").count() == samples + 1, "the answer alone, then every sample"
    boxes = [page.locator(f"{place} svg").bounding_box() for place in ("#curve", "#progress")]
    assert boxes[0]["height"] == pytest.approx(boxes[1]["height"], abs=1), (
        "side by side, and letters of one size"
    )


def test_one_draw_does_not_say_how_long_ten_would_take(page: Any) -> None:
    check(page, STEADY)  # the first draw also loads the model
    why(page)
    assert samples_shown(page) == 0
    assert (
        page.locator("#cost").inner_text().endswith("\u00a0s. Always drawing ten would cost about 11 tokens.")
    )


def test_agreement_comes_first_then_what_the_run_found(page: Any) -> None:
    choose_rule(page, "samples", "8")
    check(page, SPLIT)
    why(page)
    said = page.locator("#agreement").inner_text()
    assert said == "Asked again, it would give this answer 80 times in 100.", (
        "both meanings weighed: no interval"
    )
    assert page.locator("#agreement-scale").is_visible()
    found = page.locator("#found").inner_text()
    assert re.match(r"2 meanings in 8 samples; \d means? what the answer means\.", found), found
    top = [page.locator(each).bounding_box()["y"] for each in ("#sentence", "#agreement", "#found", "#curve")]
    assert top == sorted(top)
    check(page, STEADY)
    number = r"(?:more than |less than )?\d+"
    assert re.fullmatch(
        rf"Asked again, it would give this answer {number} times in 100(?: \(90% interval: {number} to {number}\))?\.",
        page.locator("#agreement").inner_text(),
    )


def test_meanings_are_sorted_and_show_every_wording_and_the_answers_place(page: Any) -> None:
    choose_rule(page, "samples", "8")
    check(page, SPLIT)
    why(page)
    counts = [int(text.split(" of ")[0]) for text in page.locator(".meaning .count").all_text_contents()]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 8
    assert page.locator(".meaning.answer").count() == page.locator(".badge").count() == 1
    assert page.locator(".badge").inner_text() == "the answer"
    merged = page.locator(".meaning", has_text="left")
    assert merged.count() == 1
    wordings = merged.locator(".wording").all_inner_texts()
    assert any("the left" in text for text in wordings)
    assert any("The left." in text for text in wordings)


def test_an_answer_that_no_sample_has_is_shown_apart(tab: Any) -> None:
    """The answer is drawn at a low temperature, where this model always says something else."""

    class Wayward(ScriptedModel):
        def sample(self, prompt: str, n: int, **options: Any) -> Any:
            return super().sample(prompt if options["temperature"] == 1.0 else f"{prompt}!", n, **options)

    model = Wayward({"Who?": {"Paris": 1.0}, "Who?!": {"Berlin": 1.0}})
    with served(create_app(Settings(judge="exact"), model=model)) as address:
        page = tab
        page.goto(address)
        choose_rule(page, "samples", "5")
        check(page, "Who?")
        why(page)
        assert page.locator("#verdict").get_attribute("class") == "card flagged"
        assert (
            "1 meaning in 5 samples; none means what the answer means." in page.locator("#found").inner_text()
        )
        own = page.locator(".meaning.answer")
        assert "Berlin" in own.inner_text()
        assert "0 of 5" in own.inner_text()
        leave(page)


def test_a_verdict_without_samples(page: Any) -> None:
    options(page)
    page.locator("#budget").fill("0")
    check(page, STEADY)
    why(page)
    assert "No sample was drawn" in page.locator("#found").inner_text()
    assert page.locator("#curve svg path.density").count() == 1, "the belief from the answer alone"
    assert page.locator("#progress svg").count() == 0
    assert page.locator("#to-what-if").is_hidden()
    assert "Cost: 0 samples" in page.locator("#cost").inner_text()
    assert "NaN" not in page.locator("#result").inner_text()
    assert "Infinity" not in page.locator("#result").inner_text()
    assert page.locator(".meaning.answer").inner_text().startswith("Paris")
    page.get_by_role("button", name="Draw more samples anyway").click()
    page.get_by_text("10 samples", exact=False).first.wait_for()
    wait_for_verdict(page)
    assert samples_shown(page) == 10
    assert page.locator("#more").is_hidden()


def test_each_outcome_has_its_colour_and_sentence(page: Any) -> None:
    options(page)
    seen = {}
    for question, budget, outcome, word in (
        (STEADY, "10", "steady", "Looks steady"),
        (UNSURE, "10", "flagged", "Likely made up"),
        (SPLIT, "1", "undecided", "Undecided"),
        (SILENT, "1", "missing", "No answer"),
    ):
        page.locator("#budget").fill(budget)
        check(page, question)
        assert page.locator("#verdict").get_attribute("class") == f"card {outcome}"
        assert word in page.locator("#label").inner_text()
        seen[outcome] = page.locator("#label").evaluate("node => getComputedStyle(node).color")
        assert page.locator("#agreement").is_visible() == (outcome != "missing")
        assert page.locator("#missing").inner_text() == (
            "The reply was empty." if outcome == "missing" else ""
        )
    assert len(set(seen.values())) == 4
    go(page, "Checks")
    history = page.locator("#history").inner_text()
    assert all(word in history for word in ("steady", "flagged", "undecided", "no answer"))


@pytest.mark.parametrize(
    ("rule", "value", "told"),
    [
        ("confidence", "0.999", "once it is more than 99% certain"),
        ("variance", "0.02", "at most 0.02"),
        ("samples", "3", "3 samples are drawn"),
    ],
)
def test_each_rule_is_told(page: Any, rule: str, value: str, told: str) -> None:
    choose_rule(page, rule, value)
    page.locator("#threshold").fill("1.5")
    check(page, UNSURE)
    why(page)
    assert told in page.locator("#rule-text").inner_text()
    assert "flagged above 1.50" in page.locator("#curve svg").text_content()
    assert page.locator("#progress svg").count() == (rule != "samples")
    if rule == "samples":
        assert samples_shown(page) == 3


def test_labels_of_an_axis_keep_apart(page: Any) -> None:
    page.set_viewport_size({"width": 340, "height": 700})
    choose_rule(page, "variance", "0.001")
    check(page, UNSURE)
    why(page)
    page.wait_for_timeout(100)
    for chart in ("#curve", "#progress"):
        boxes = page.locator(f"{chart} svg text").evaluate_all(
            "all => all.map(each => each.getBoundingClientRect().toJSON())"
        )
        assert len(boxes) > 5
        for k, one in enumerate(boxes):
            for other in boxes[k + 1 :]:
                apart = one["right"] <= other["left"] or other["right"] <= one["left"]
                assert apart or one["bottom"] <= other["top"] + 3 or other["bottom"] <= one["top"] + 3


def test_an_example_is_a_first_question(page: Any) -> None:
    assert page.locator("#legend").is_visible()
    page.get_by_role("button", name=STEADY).click()
    wait_for_verdict(page)
    assert page.locator("#legend").is_hidden(), "the verdict takes its place"
    assert "Looks steady" in page.locator("#sentence").inner_text()
    assert page.locator("#examples").is_visible(), "the examples stay"


def ask_slowly(page: Any) -> None:
    """Ask for ten samples that take long, and return with the first."""
    choose_rule(page, "samples", "10")
    page.get_by_label("Your question").fill(SLOW)
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator(".meaning .count").first.wait_for(state="attached")


def test_stop_leaves_what_was_found(page: Any) -> None:
    ask_slowly(page)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped.").wait_for()
    assert 1 <= samples_shown(page) < 10
    assert page.locator("#check").evaluate("node => node === document.activeElement")
    go(page, "Checks")
    assert page.locator("#past-buttons").is_hidden()


def test_a_gateway_that_goes_away_is_told(tab: Any) -> None:
    page = tab
    with served(create_app(Settings(judge="exact"), model=Paced(SPREADS))) as address:
        page.goto(address)
        ask_slowly(page)
    page.get_by_text("That did not work: the gateway broke off before the verdict.").wait_for()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("That did not work: the gateway cannot be reached.").wait_for()
    leave(page)


def test_the_operators_calibration_holds_until_a_threshold_is_set(tab: Any, tmp_path: Path) -> None:
    from semtropy.calibration import Calibration, Logistic

    Calibration(Logistic(2.0, -1.0), estimator="bayes").save(tmp_path / "curve.json")
    settings = Settings(judge="exact", calibration=str(tmp_path / "curve.json"))
    with served(create_app(settings, model=ScriptedModel(SPREADS))) as address:
        page = tab
        page.goto(address)
        check(page, UNSURE)
        assert "Probably made up (" in page.locator("#sentence").inner_text()
        options(page)
        page.locator("#threshold").fill("0.5")
        check(page, UNSURE)
        assert "Likely made up" in page.locator("#sentence").inner_text()
        leave(page)


def test_what_if_replays_the_same_samples(page: Any) -> None:
    choose_rule(page, "samples", "6")
    check(page, SPLIT)
    before = page.locator("#meanings").text_content()
    why(page)
    page.get_by_role("link", name="What if it had stopped elsewhere?").click()
    assert page.url.endswith("/what-if")
    assert page.locator("#if-question").inner_text() == SPLIT
    assert page.locator("#if-outcome").inner_text().startswith("Choose another rule or fewer samples")
    slider = page.get_by_role("slider")
    assert int(slider.input_value()) == samples_shown(page) == 6
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_text("It would have stopped after 0 samples:").wait_for()
    assert page.locator("#if-curve svg path.if").count() == 1
    page.keyboard.press("End")
    page.locator("#if-rule").select_option("samples")
    page.locator("#if-value").fill("2")
    page.get_by_text("It would have stopped after 2 samples:").wait_for()
    assert "Asked again, it would give this answer" in page.locator("#if-outcome").inner_text()
    assert page.locator("#meanings").text_content() == before
    page.go_back()
    assert page.locator("#sentence").is_visible(), "the check is still there"


def test_the_history_brings_a_check_back(page: Any, url: str) -> None:
    check(page, STEADY)
    assert "Looks steady" in page.locator("#sentence").inner_text()
    check(page, UNSURE)
    page.goto(f"{url}/checks")
    page.locator("#history").get_by_role("button", name=STEADY).click()
    assert "Looks steady" in page.locator("#sentence").inner_text()
    assert page.locator("#sentence").evaluate("node => node === document.activeElement")
    go(page, "Checks")
    page.get_by_role("button", name="Forget them").click()
    assert page.locator("#past-buttons").is_hidden()
    assert page.locator("#no-past").is_visible()


def test_an_error_is_told(page: Any) -> None:
    page.get_by_label("Your question").fill("A question the script does not know")
    page.get_by_role("button", name="Check", exact=True).click()
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert "the script has no answers for this prompt" in alert.inner_text()
    check(page, STEADY)
    assert alert.is_hidden()


def test_a_script_in_an_answer_is_text(page: Any) -> None:
    check(page, HOSTILE)
    assert page.evaluate("window.bad") is None
    assert SCRIPT in page.locator("#meanings").text_content()
    assert page.locator("#result img, #result script").count() == 0


def give_schema(page: Any, schema: Any) -> None:
    options(page)
    page.get_by_label("JSON schema").fill(schema if isinstance(schema, str) else json.dumps(schema))


def field_rows(page: Any) -> dict[str, list[str]]:
    rows = page.locator("#fields tbody tr")
    return {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts()
        for row in (rows.nth(place) for place in range(rows.count()))
    }


def test_fields_are_shown_with_the_ones_not_to_trust(page: Any) -> None:
    give_schema(page, COUNTRY)
    check(page, FIELDS)
    assert page.locator("#sentence").inner_text().strip() == "! Do not trust: founded"
    rows = field_rows(page)
    assert list(rows) == ["capital", "founded", "motto (not required)"]
    assert rows["capital"][0] == "Paris"
    assert (rows["capital"][1], rows["founded"][1]) == ("steady", "do not trust")
    own, drawn = map(int, re.findall(r"\d+", rows["capital"][2]))
    assert own == drawn > 0
    assert re.search(r"in 100$", rows["founded"][3])
    assert "17" in rows["founded"][4], "what other samples said"
    assert rows["motto (not required)"][0] == SCRIPT
    assert page.evaluate("window.bad") is None
    why(page)
    for hidden in ("#meanings", "#curve", "#to-what-if"):
        assert page.locator(hidden).is_hidden()


def test_claims_are_shown_with_the_ones_not_to_trust(tab: Any) -> None:
    known, also = "Springfield is the capital of Illinois.", "Lincoln lived there for many years."
    names = ("Ann", "Ben", "Cay", "Dan", "Eve", "Fay", "Gus", "Hal")
    written = [f"{known} Its mayor in 1911 was {name} Miller. {also}" for name in names]

    class Turning(ScriptedModel):
        """Gives another name each time, so that none is repeated by luck."""

        turns = itertools.cycle(written)

        def sample(self, prompt: str, n: int, **options: Any) -> Any:
            (one,) = super().sample(prompt, 1, **options)
            return [replace(one, text=next(self.turns)) for _ in range(n)]

    model = Turning(default=dict.fromkeys(written, 0.125))
    with served(create_app(Settings(judge="exact"), model=model)) as address:
        page = tab
        page.goto(address)
        check(page, "Tell me about Springfield.")
        passage = page.locator("#passage")
        assert passage.inner_text().startswith(known)
        marked = passage.locator("a.claim")
        assert marked.count() == 1
        assert "Miller." in marked.text_content()
        assert re.search(r"\((do not trust|undecided)\)", marked.text_content()), "for those who listen"
        assert page.locator("#sentence").evaluate("node => getComputedStyle(node).color") == page.evaluate(
            "getComputedStyle(document.body).color"
        ), "no headline in red"
        marked.focus()
        page.keyboard.press("Enter")
        doubt = page.locator("#doubts li")
        assert doubt.count() == 1
        assert "asked again" in doubt.inner_text()
        assert page.url.endswith(doubt.get_attribute("id"))
        assert page.locator("#view-ask").is_visible()
        why(page)
        rows = page.locator("#claims tbody tr")
        assert rows.count() == 3
        assert rows.nth(0).locator("th").inner_text() == known
        assert rows.nth(0).locator(".outcome").inner_text() == "steady"
        assert rows.nth(1).locator(".outcome").inner_text() != "steady"
        assert not page.locator("#to-what-if").is_visible()
        leave(page)


def test_the_page_says_of_claims_what_python_says(page: Any) -> None:
    """The sentence on a claim is written twice: here and there it must say the same."""
    claims = [
        ClaimVerdict(f"Claim {n}.", 0, 8, outcome, VerdictAgreement(mean, (0.0, 1.0)), *counts)
        for n, (outcome, mean, counts) in enumerate(
            itertools.product(
                (Outcome.FLAGGED, Outcome.UNDECIDED),
                (0.01, 0.15, 0.4, 0.9),
                ((0, 0, 3), (3, 0, 2), (1, 0, 4), (1, 2, 2), (0, 2, 0), (4, 0, 1), (0, 0, 1), (3, 0, 0)),
            )
        )
    ]
    backed = [
        ClaimVerdict(f"Other {n}.", 0, 8, Outcome.STEADY, VerdictAgreement(0.9), 5, 0, 0) for n in range(3)
    ]
    open_ = [replace(each, supported=0, silent=5) for each in backed]
    answers = [
        [claim, *others]
        for claim in claims
        for others in ([], backed[:1], backed[:2], backed, open_[:1], open_[:2], open_, [*open_, backed[0]])
    ]
    shown = page.evaluate(
        """async (answers) => {
          const { drawDoubts } = await import("/page/claims.js");
          return answers.map((claims) => {
            const list = document.createElement("ul");
            drawDoubts(list, claims);
            return list.querySelector("li .quiet").textContent;
          });
        }""",
        [[claim.to_dict() for claim in answer] for answer in answers],
    )
    told = [answer[0].sentence(answer).partition('." ')[2] for answer in answers]
    assert shown == told
    assert len({sentence.partition(";")[0] for sentence in told}) > 40


def test_the_page_says_of_probabilities_what_python_says(page: Any) -> None:
    verdicts = [
        Verdict(
            "Who?", "Ann", Outcome.FLAGGED, Entropy(1.0),
            (Meaning("Ann", own, floor, has_answer=True), Meaning("Bob", 5 - own)),
            Spent(samples=5), Reason.SAMPLES, VerdictAgreement(mean, interval),
        )
        for own in range(6)
        for floor in (0.0, 0.1)
        for mean in (0.1, 0.2, 0.3, 0.5, 0.9)
        for interval in (None, (max(mean - 0.15, 0.0), min(mean + 0.15, 1.0)))
    ]  # fmt: skip
    shown = page.evaluate(
        """async (verdicts) => {
          const { weighedText } = await import("/page/words.js");
          return verdicts.map(({ samples, meanings, agreement }) => weighedText(samples, meanings, agreement));
        }""",
        [verdict.to_dict() for verdict in verdicts],
    )
    told = [" The model also reports" in verdict.explain() for verdict in verdicts]
    assert [text.startswith(" The model also reports") for text in shown] == told
    assert 0 < sum(told) < len(told)


def test_a_check_with_fields_comes_back_from_the_history_and_can_be_drawn_on(page: Any) -> None:
    give_schema(page, COUNTRY)
    check(page, FIELDS)
    page.reload()
    go(page, "Checks")
    page.locator("#history").get_by_role("button", name=FIELDS).click()
    assert next(iter(field_rows(page))) == "capital"
    why(page)
    page.get_by_role("button", name="anyway").click()
    wait_for_verdict(page)
    assert field_rows(page)["capital"][2] == "10 of 10"
    page.get_by_label("JSON schema").fill("")
    check(page, STEADY)
    assert page.locator("#by-field").is_hidden()
    assert page.locator("#meanings-part").is_visible()


def test_choices_are_meanings(page: Any) -> None:
    options(page)
    page.get_by_label("Choices").fill("left, right")
    choose_rule(page, "samples", "5")
    check(page, SPLIT)
    texts = {text.lower() for text in page.locator(".meaning .name").all_text_contents()}
    assert texts == {"the left", "the right"}


@pytest.mark.parametrize(("schema", "told"), [("{", "the schema is not JSON"), ("[]", "schema")])
def test_a_schema_that_cannot_be_read_is_told(page: Any, schema: Any, told: str) -> None:
    give_schema(page, schema)
    page.get_by_label("Your question").fill(FIELDS)
    page.get_by_role("button", name="Check", exact=True).click()
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert told in alert.inner_text()


def test_keyboard_alone(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.type(STEADY)
    page.keyboard.press("Enter")
    wait_for_verdict(page)
    page.locator("#why summary").focus()
    page.keyboard.press("Enter")
    page.locator("#cost").wait_for()
    page.get_by_role("link", name="Traffic").focus()
    page.keyboard.press("Enter")
    page.locator(".tile").first.wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Traffic", "a screen reader begins there"
    assert page.title() == "semtropy: traffic"


def test_tab_visits_every_control_in_order_and_shows_where_it_is(page: Any) -> None:
    choose_rule(page, "samples", "4")
    check(page, UNSURE)
    page.locator(".skip").focus()
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


VIEWS = {"checks": "Checks", "what-if": "What if?", "traffic": "Traffic"}
QUESTIONS = {"flagged": UNSURE, "steady": STEADY, "undecided": SPLIT, "missing": SILENT, "fields": FIELDS}
STATES = ["before", *QUESTIONS, *VIEWS, "wrong"]


@pytest.mark.parametrize("state", STATES)
def test_every_control_has_a_name_and_text_has_contrast(tab: Any, url: str, state: str) -> None:
    """What Chromium would tell a screen reader, and WCAG's AA ratio of every text in both schemes."""
    page = tab
    page.emulate_media(reduced_motion="reduce")
    page.goto(url)
    page.get_by_text("Model:").wait_for()
    if state in QUESTIONS:
        options(page)
        page.locator("#budget").fill("2")
        if state == "fields":
            give_schema(page, COUNTRY)
        check(page, QUESTIONS[state])
    if state in VIEWS:
        check(page, SPLIT)
        page.evaluate("window.scrollTo(0, 0)")
        go(page, VIEWS[state])
        page.locator(f"#view-{state}").wait_for()
    if state == "traffic":
        page.locator("#latest td").first.wait_for()
    if state == "what-if" and page.locator("#if-part").is_visible():
        page.locator("#if-rule").select_option("samples")
        page.get_by_text("It would have stopped after").wait_for()
    if state == "wrong":
        page.get_by_label("Your question").fill("A question the script does not know")
        page.get_by_role("button", name="Check", exact=True).click()
        page.get_by_role("alert").wait_for()
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    named = names_told(page)
    assert not [role for role, name in named if not name.strip()]
    roles = {role for role, _ in named}
    assert (
        {"link", "navigation"} if state in VIEWS else {"textbox", "button", "combobox", "spinbutton"}
    ) <= roles
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        checked, poor = page.evaluate(CONTRAST)
        assert not poor, scheme
        assert checked > 10


TOLD = {
    "textbox",
    "button",
    "combobox",
    "spinbutton",
    "slider",
    "link",
    "image",
    "region",
    "form",
    "navigation",
}


def names_told(page: Any) -> list[tuple[str, str]]:
    """The role and name of everything in the accessibility tree that must have a name."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
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
    why(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    above, below = page.locator("#meanings").bounding_box(), page.locator("#curve").bounding_box()
    assert below["y"] >= above["y"] + above["height"], "one below the other"
    assert page.get_by_role("button", name="Check", exact=True).bounding_box()["height"] >= 40
    for name in VIEWS.values():
        go(page, name)
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
    context.close()


def test_a_key_is_asked_for_where_one_is_needed(tab: Any) -> None:
    app = create_app(Settings(judge="exact", keys=("open sesame",)), model=ScriptedModel(SPREADS))
    with served(app) as address:
        page = tab
        page.goto(address)
        page.get_by_label("Key for this gateway").fill("open sesame")
        check(page, STEADY)
        assert "Looks steady" in page.locator("#sentence").inner_text()
        leave(page)


def test_one_sample_is_no_full_bar_and_a_paragraph_no_headline(tab: Any) -> None:
    passage = "Yes, " + "and so on and so forth, as everybody knows by now, " * 4
    model = ScriptedModel(default={passage: 1.0})
    with served(create_app(Settings(judge="exact"), model=model)) as address:
        page = tab
        page.goto(address)
        choose_rule(page, "samples", "1")
        check(page, "Go on?")
        assert samples_shown(page) == 1
        assert page.locator(".meaning .bar").count() == 0
        assert passage.strip() not in page.locator("#sentence").inner_text()
        assert passage.strip() in page.locator("#passage").inner_text()
        leave(page)


def test_a_second_model_has_a_column(tab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from semtropy.server import instruments

    other = ScriptedModel(default={"Canberra": 1.0})
    other.name = "other-model"
    monkeypatch.setattr(instruments, "_second_model", lambda settings: other)
    settings = Settings(judge="exact", second="openai:other-model")
    with served(create_app(settings, model=ScriptedModel(default={"Sydney": 1.0}))) as address:
        page = tab
        page.goto(address)
        check(page, "What is the capital of Australia?")
        assert "another model disagrees" in page.locator("#label").inner_text()
        assert page.locator("#second-text").inner_text().startswith('other-model says otherwise: "Canberra"')
        own, second = (page.locator("#second-columns > section").nth(k) for k in range(2))
        assert "Sydney" in own.inner_text()
        assert "the answer" in own.inner_text()
        assert "Canberra" in second.inner_text()
        assert "other-model" in second.inner_text()
        left, right = own.bounding_box(), second.bounding_box()
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] <= right["x"]
        page.set_viewport_size({"width": 360, "height": 740})
        assert own.bounding_box()["y"] < second.bounding_box()["y"], "one below the other on a phone"
        check(page, "What is the capital of Australia?")
        assert page.locator("#second-columns > section").count() == 2, (
            "once more, after the columns were cleared"
        )
        leave(page)


def test_the_upstreams_models_can_be_chosen(tab: Any) -> None:
    from openai_upstream import Upstream

    upstream = Upstream(lambda prompt: {"Paris": 1.0})
    with (
        served(upstream) as behind,
        served(create_app(Settings(judge="exact", upstream=f"{behind}/v1"))) as address,
    ):
        page = tab
        page.goto(address)
        chooser = page.get_by_label("Model", exact=True)
        chooser.wait_for()
        assert chooser.locator("option").all_inner_texts() == ["m"]
        check(page, STEADY)
        assert "Looks steady" in page.locator("#label").inner_text()
        assert {request["model"] for request in upstream.requests} == {"m"}
        leave(page)


def test_traffic_is_shown_as_it_comes_and_without_texts(page: Any, url: str) -> None:
    import httpx

    page.goto(f"{url}/traffic")
    page.locator(".tile").first.wait_for()
    assert page.get_by_role("link", name="Traffic").get_attribute("aria-current") == "page"
    before = page.locator("#latest tbody tr").count()
    httpx.post(f"{url}/v1/check", json={"prompt": UNSURE, "cache": False})
    page.locator("#latest tbody tr").nth(before).wait_for(timeout=15_000)
    row = page.locator("#latest tbody tr").first.inner_text()
    assert "flagged" in row
    assert "scripted" in row
    assert "Dr " not in page.locator("main").inner_text()
    assert UNSURE not in page.locator("main").inner_text()
    assert "flagged" in page.locator("#hour-text").inner_text()
    shares = page.locator(".tile", has_text="Flagged").inner_text()
    assert re.search(r"\d+%", shares)


def test_the_operators_key_opens_the_latest_verdicts(tab: Any) -> None:
    settings = Settings(judge="exact", operator_keys=("mine",), traffic="texts")
    with served(create_app(settings, model=ScriptedModel(SPREADS))) as address:
        page = tab
        page.goto(address)
        check(page, STEADY)
        go(page, "Traffic")
        page.get_by_text("shown to the operator").wait_for()
        assert STEADY not in page.locator("#view-traffic").inner_text()
        page.get_by_label("Key for this gateway").fill("mine")
        page.keyboard.press("Tab")
        said = page.locator("#latest tr.texts", has_text=STEADY)
        said.wait_for()
        assert "Paris" in said.inner_text()
        table, cell = (
            page.locator(f"#latest {each}").first.bounding_box() for each in ("table", "tr.texts td")
        )
        assert cell["width"] > 0.9 * table["width"], "question and answer have the whole width"
        leave(page)


def test_checks_are_saved_as_a_recording(page: Any, tmp_path: Path) -> None:
    from semtropy import read_recording

    choose_rule(page, "samples", "3")
    check(page, SPLIT)
    check(page, UNSURE)
    go(page, "Checks")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as a recording").click()
    waiting.value.save_as(tmp_path / "checks.jsonl")
    rows = list(read_recording(tmp_path / "checks.jsonl"))
    assert [row.question for row in rows] == [SPLIT, UNSURE]
    assert [len(row.samples) for row in rows] == [3, 3]


def test_the_page_names_no_other_host() -> None:
    """The files themselves, whatever a browser would do with them."""
    for file in PAGE.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.[a-z]", text), file.name
        assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\b", text), file.name
