"""What is shown of the timeline: steps, a selection that is added up, an address, a file."""

import json
from pathlib import Path

import pytest

from benchmarks.browser import Browser
from perfscope.report.build import write_report
from perfscope.schema.read import read_known
from tests.report.test_timeline_in_browser import (
    drawn,
    focus,
    mouse,
    opened,
    press,
    sample,
    span,
    status,
    text,
)

STEPS = [[number, 1.2 + 0.269 * number] for number in range(100)]
KEPT = """new Promise(done => setTimeout(() => done(location.hash), 400))"""
CAUGHT = """(async () => {
  let blob = null;
  const make = URL.createObjectURL;
  URL.createObjectURL = found => { blob = found; return make.call(URL, found); };
  HTMLAnchorElement.prototype.click = () => {};
  document.querySelector('[data-save]').click();
  return blob.text();
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks, a hundred steps; rank 0 evaluates from half of the time on."""
    found = sample()
    found["timeline"]["steps"] = STEPS
    path = tmp_path_factory.mktemp("window") / "report.html"
    write_report(read_known(found), path)
    return path


def told(window: Browser, expression: str) -> str:
    """What a promise of the page comes to."""
    answer = window.page(
        "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
    )
    return str(answer["result"]["value"])


def test_the_pointer_tells_the_step(window: Browser, page: Path) -> None:
    opened(window, page)
    mouse(window, "mouseMoved", 0.6, 0.4)
    moment = float(status(window).split(" at ")[1].split(" s")[0])
    assert f", step {int((moment - 1.2) / 0.269)}:" in status(window)


def test_a_selection_is_added_up_for_each_rank(window: Browser, page: Path) -> None:
    focus(opened(window, page))
    mouse(window, "mousePressed", 0.6, 0.4, button="left", clickCount=1, modifiers=8)
    mouse(window, "mouseMoved", 0.62, 0.4, button="left", modifiers=8)
    mouse(window, "mouseReleased", 0.62, 0.4, button="left", clickCount=1, modifiers=8)
    sums = text(window, "timeline-sums")
    assert "rank 0 on node00: 100 % evaluation" in sums
    assert "rank 1 on node01: 100 % communication: waiting" in sums
    assert "all ranks: 50 % evaluation, 50 % communication: waiting" in sums
    press(window, "Escape")
    assert window.run("document.getElementById('timeline-sums').checkVisibility()") is False


def test_the_address_keeps_what_is_shown(window: Browser, page: Path) -> None:
    focus(opened(window, page))
    press(window, "+", 2)
    low, high = span(window)
    kept = told(window, KEPT)
    first, last = map(float, kept.removeprefix("#t=").split("-"))
    assert (first, last) == pytest.approx((low, high), abs=0.02)
    press(window, "Home")
    window.run("location.hash = '#t=9.5-11.5'")
    drawn(window)
    assert span(window) == pytest.approx((9.5, 11.5), abs=0.02)
    window.run("location.hash = '#t=11-banana'")
    drawn(window)
    assert span(window) == pytest.approx((9.5, 11.5), abs=0.02)


def test_what_is_shown_is_saved_for_perfetto(window: Browser, page: Path) -> None:
    opened(window, page)
    window.run("location.hash = '#t=15-16'")
    drawn(window)
    events = json.loads(told(window, CAUGHT))["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {(event["pid"], event["name"]) for event in slices} == {
        (0, "Evaluation"),
        (1, "Communication: waiting"),
    }
    assert sum(event["dur"] for event in slices) == pytest.approx(2e6, rel=0.01)
    marks = [event["name"] for event in events if event["ph"] == "i"]
    assert marks == [f"step {number}" for number, start in STEPS if 15 <= start <= 16]
    assert "ui.perfetto.dev" in status(window)
