"""The timeline as a browser shows it: drawn, zoomed and moved by pointer, wheel and keys."""

import re
import time
from pathlib import Path

import pytest

from benchmarks.browser import Browser
from perfscope.report.build import write_report
from perfscope.schema.read import read_known
from tests.report.sample_document import Json, two_ranks_evaluation, with_ranks
from tests.report.sample_hostile import HOSTILE_TEXTS
from tests.report.sample_timeline import LENGTH_S, START_S

WINDOW = re.compile(r"Shown: ([\d.,]+) s to ([\d.,]+) s, in parts of (.+)")
END_S = START_S + LENGTH_S
COLORS = """(() => {
  const canvas = document.querySelector('.timeline canvas');
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
})()"""
BOX = """(() => { const box = document.querySelector('.timeline canvas').getBoundingClientRect();
  return [box.left, box.top, box.width, box.height]; })()"""
FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hosts with a rank each; rank 0 evaluates in the middle."""
    path = tmp_path_factory.mktemp("timeline") / "report.html"
    write_report(read_known(sample()), path)
    return path


def sample() -> Json:
    return with_ranks(two_ranks_evaluation(), 2, hosts=2)


def opened(window: Browser, page: Path, *, width: int = 1280, dark: bool = False) -> Browser:
    """The page with the timeline in sight and drawn."""
    window.open(page, width=width, dark=dark)
    window.run("document.querySelector('.timeline').scrollIntoView({behavior: 'instant'})")
    drawn(window)
    return window


def drawn(window: Browser) -> None:
    """Waits until what was asked for is drawn."""
    window.page("Runtime.evaluate", expression=FRAMES, awaitPromise=True)


def span(window: Browser) -> tuple[float, float]:
    """The seconds at the left and the right end."""
    found = WINDOW.match(text(window, "timeline-window"))
    assert found is not None
    return float(found[1].replace(",", "")), float(found[2].replace(",", ""))


def status(window: Browser) -> str:
    return text(window, "timeline-status")


def text(window: Browser, identity: str) -> str:
    """What an element says, with plain spaces."""
    found = window.run(f"document.getElementById('{identity}').textContent")
    return str(found).replace("\xa0", " ")


def press(window: Browser, key: str, times: int = 1) -> None:
    for _ in range(times):
        for kind in ("keyDown", "keyUp"):
            window.page("Input.dispatchKeyEvent", type=kind, key=key)
    drawn(window)


def mouse(window: Browser, kind: str, x: float, y: float, **more: object) -> None:
    """A mouse event at a share of the canvas from its left and its top."""
    left, top, width, height = window.run(BOX)
    window.page(
        "Input.dispatchMouseEvent", type=kind, x=left + x * width, y=top + y * height, **more
    )
    drawn(window)


def click(window: Browser, x: float, y: float, count: int = 1) -> None:
    for kind in ("mousePressed", "mouseReleased"):
        mouse(window, kind, x, y, button="left", clickCount=count)


def focus(window: Browser) -> None:
    window.run("document.querySelector('.timeline canvas').focus({preventScroll: true})")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_draws_without_any_error(window: Browser, page: Path, width: int, dark: bool) -> None:
    opened(window, page, width=width, dark=dark)
    for kind in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
        assert window.seen(kind) == []
    assert window.seen("Audits.issueAdded") == []
    assert window.run(COLORS) > 8  # the plain colors of four accounts, their patterns, ink
    assert span(window) == pytest.approx((START_S, END_S), abs=0.1)
    assert window.run("document.documentElement.scrollWidth <= innerWidth") is True


def test_accounts_have_as_much_of_a_bar_as_of_the_finest_bins(window: Browser, page: Path) -> None:
    line = """(() => {
      const canvas = document.querySelector('.timeline canvas');
      const {data} = canvas.getContext('2d').getImageData(0, 6, canvas.width, 56), found = {};
      for (let n = 0; n < data.length; n += 4) {
        const color = [...data.slice(n, n + 3)].join();
        found[color] = (found[color] || 0) + 1;
      }
      return found;
    })()"""  # all of rank 0's bar
    found = opened(window, page).run(line)
    cells = sample()["timeline"]["levels"][-1]["rows"][0]
    training, transfer = found["31,102,176"], found["7,94,86"]  # the two that have no pattern
    # a transfer is about seven pixels high in a column: rounding counts for a tenth
    assert training / transfer == pytest.approx(cells.count("a") / cells.count("f"), rel=0.1)


def test_dark_is_drawn_in_other_colors(window: Browser, page: Path) -> None:
    corner = """(() => { const [r, g, b] = document.querySelector('.timeline canvas')
      .getContext('2d').getImageData(0, 0, 1, 1).data; return [r, g, b]; })()"""
    assert opened(window, page).run(corner) == [255, 255, 255]
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    window.page("Emulation.setEmulatedMedia", features=[dark])  # while the page is open
    drawn(window)
    assert window.run(corner) == [0x17, 0x1B, 0x22]


def test_the_canvas_replaces_the_picture_and_paper_keeps_it(window: Browser, page: Path) -> None:
    visible = (
        "[...document.querySelectorAll('.timeline svg.chart, .timeline canvas')]"
        ".map(element => element.checkVisibility())"
    )
    assert opened(window, page).run(visible) == [True]  # the picture is not made before
    window.page("Emulation.setEmulatedMedia", media="print")
    window.run("dispatchEvent(new Event('beforeprint')), 0")
    try:
        assert window.run(visible) == [True, False]
    finally:
        window.page("Emulation.setEmulatedMedia", media="")


def test_without_javascript_the_picture_is_there(window: Browser, page: Path) -> None:
    window.page("Emulation.setScriptExecutionDisabled", value=True)
    try:
        window.open(page)
        shown = window.run("document.querySelector('.timeline svg.chart').checkVisibility()")
        pieces = window.run("document.querySelectorAll('.timeline svg.chart g').length")
        words = window.run("document.querySelector('.timeline').innerText")
        tools = window.run("document.querySelector('.timeline-live').checkVisibility()")
    finally:
        window.page("Emulation.setScriptExecutionDisabled", value=False)
    assert shown is True
    assert pieces == 7  # four accounts of rank 0, three of rank 1, which never evaluates
    assert "rank 1 · node01" in words
    assert "Communication: waiting" in words
    assert tools is False


def test_keys_zoom_move_and_show_all(window: Browser, page: Path) -> None:
    focus(opened(window, page))
    press(window, "+", 3)
    low, high = span(window)
    assert high - low == pytest.approx((END_S - START_S) / 8, rel=0.02)
    press(window, "ArrowRight", 2)
    later = span(window)
    assert later[0] - low == pytest.approx(0.2 * (high - low), rel=0.1)
    press(window, "ArrowLeft", 2)
    assert span(window) == pytest.approx((low, high), abs=0.02)
    press(window, "-", 1)
    assert span(window)[1] - span(window)[0] == pytest.approx((END_S - START_S) / 4, rel=0.02)
    press(window, "Home")
    assert span(window) == pytest.approx((START_S, END_S), abs=0.1)


def test_nothing_leaves_the_time_that_was_analyzed(window: Browser, page: Path) -> None:
    focus(opened(window, page))
    press(window, "-", 2)
    press(window, "ArrowLeft", 2)
    assert span(window) == pytest.approx((START_S, END_S), abs=0.1)
    press(window, "+", 40)
    low, high = span(window)
    assert high - low == pytest.approx(16 * 26.9 / 16384, rel=0.05)  # sixteen of the finest bins
    press(window, "ArrowRight", 3)
    assert span(window)[1] > high


def test_finer_levels_come_with_zoom(window: Browser, page: Path) -> None:
    focus(opened(window, page))
    parts = []
    for _ in range(3):
        found = WINDOW.match(text(window, "timeline-window"))
        assert found is not None
        parts.append(found[3])
        press(window, "+", 3)
    assert parts == ["124 ms", "15.5 ms", "1.64 ms"]  # columns, then the finest bins


def test_the_pointer_reads_rank_account_and_time(window: Browser, page: Path) -> None:
    opened(window, page)
    mouse(window, "mouseMoved", 0.6, 0.2)
    assert re.match(
        r"rank 0 on node00 at 1\d\.\d+ s: Evaluation, from 14\.\d+ s to", status(window)
    )
    mouse(window, "mouseMoved", 0.6, 0.5)
    assert "rank 1 on node01" in status(window)
    assert "Communication: waiting" in status(window)
    mouse(window, "mouseMoved", 0.98, 0.5)
    assert "the process was not there" in status(window)


def test_a_stretch_of_many_events_is_said_to_be_mixed(window: Browser, tmp_path: Path) -> None:
    """Each column that is shown is mostly training; of its finer bins every fourth is not."""
    found = sample()
    timeline = found["timeline"]
    training, other = (row["letter"] for row in timeline["accounts"][:2])
    for level in timeline["levels"][:-1]:
        level["rows"] = [training * level["bins"] for _ in level["rows"]]
    finest = timeline["levels"][-1]
    quarter = (training * 3 + other) * finest["bins"]
    finest["rows"] = [quarter[: finest["bins"]] for _ in finest["rows"]]
    path = tmp_path / "report.html"
    write_report(read_known(found), path)
    opened(window, path)
    mouse(window, "mouseMoved", 0.6, 0.2)
    assert re.search(r": mixed: 7[456] % training, 2[456] % [a-z ]+, from ", status(window))


def test_the_pointer_reads_phase_line_call_and_who_is_awaited(
    window: Browser, tmp_path: Path
) -> None:
    found = sample()
    timeline = found["timeline"]
    where = {"file": "/job/<b>train.py", "line": 151, "function": "main.<locals>.train"}
    spot = {"phase": "train", "operation": "MPI_Allreduce", "awaited_rank": 1, "where": where}
    bins = timeline["levels"][1]["bins"]
    rows = ["..", "aa"]
    timeline["behind"] = {
        "bin_s": timeline["length_s"] / bins,
        "spots": [spot],
        "rows": [code * bins for code in rows],
    }
    path = tmp_path / "report.html"
    write_report(read_known(found), path)
    opened(window, path)
    mouse(window, "mouseMoved", 0.6, 0.2)
    assert "Here:" not in status(window)
    mouse(window, "mouseMoved", 0.6, 0.5)
    assert status(window).endswith(
        "Here: training, train() (<b>train.py:151), MPI_Allreduce, waits for rank 1"
    )


def test_the_picture_stays_where_it_is_while_it_is_read(window: Browser, page: Path) -> None:
    before = opened(window, page, width=390).run(BOX)
    mouse(window, "mouseMoved", 0.6, 0.5)
    assert len(status(window)) > 60
    assert window.run(BOX) == before


def test_keys_choose_the_rank_that_is_read(window: Browser, page: Path) -> None:
    focus(opened(window, page))
    press(window, "ArrowDown")
    assert status(window).startswith("rank 0 on node00")
    press(window, "ArrowDown")
    assert status(window).startswith("rank 1 on node01")
    press(window, "ArrowUp")
    assert status(window).startswith("rank 0 on node00")


def test_the_wheel_zooms_around_the_pointer_once_clicked(window: Browser, page: Path) -> None:
    opened(window, page)
    before = span(window)
    mouse(window, "mouseWheel", 0.6, 0.2, deltaX=0, deltaY=0.5)
    assert span(window) == before  # the page scrolls, as everywhere
    click(window, 0.6, 0.2)
    pointed = float(re.findall(r"at ([\d.]+) s", status(window))[0])
    for _ in range(8):
        mouse(window, "mouseWheel", 0.6, 0.2, deltaX=0, deltaY=-300)
    low, high = span(window)
    assert high - low < 0.02 * (END_S - START_S)
    assert low < pointed + 0.1
    assert high > pointed - 0.1


def test_dragging_moves_and_a_double_click_shows_all(window: Browser, page: Path) -> None:
    focus(opened(window, page))
    press(window, "+", 2)
    low, high = span(window)
    mouse(window, "mousePressed", 0.7, 0.2, button="left", clickCount=1)
    mouse(window, "mouseMoved", 0.4, 0.2, button="left")
    mouse(window, "mouseReleased", 0.4, 0.2, button="left", clickCount=1)
    assert span(window)[0] > low + 0.2 * (high - low)
    mouse(window, "mouseMoved", 0.7, 0.2)
    moved = span(window)
    assert moved[0] > low  # the button is up: nothing is dragged
    for count in (1, 2):
        click(window, 0.5, 0.2, count)
    assert span(window) == pytest.approx((START_S, END_S), abs=0.1)


@pytest.mark.parametrize(
    ("action", "changes"), [("in", True), ("out", False), ("left", False), ("right", False)]
)
def test_buttons_do_what_keys_do(window: Browser, page: Path, action: str, changes: bool) -> None:
    opened(window, page)
    before = span(window)
    window.run(f"document.querySelector('[data-do={action}]').click()")
    drawn(window)
    assert (span(window) != before) is changes  # at first all is shown already
    window.run("document.querySelector('[data-do=all]').click()")
    drawn(window)
    assert span(window) == before


def test_focus_can_be_seen_and_is_described(window: Browser, page: Path) -> None:
    opened(window, page)
    window.run("document.querySelector('[data-save]').focus()")
    for kind in ("keyDown", "keyUp"):
        window.page(
            "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
        )
    assert window.run("document.activeElement.tagName") == "CANVAS"
    assert window.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    described = window.run(
        "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent"
    )
    assert "arrow keys" in described


def test_draws_only_what_changes(window: Browser, page: Path) -> None:
    opened(window, page)
    window.run(
        "window.asked = 0; { const ask = window.requestAnimationFrame;"
        "window.requestAnimationFrame = f => { window.asked += 1; return ask(f); }; }"
    )
    time.sleep(0.3)
    assert window.run("window.asked") == 0
    window.run("for (const n of [1, 2, 3]) document.querySelector('[data-do=in]').click()")
    assert window.run("window.asked") == 1


def test_a_time_that_is_no_time_of_a_run_hangs_nobody(window: Browser, tmp_path: Path) -> None:
    far = sample()
    far["timeline"] |= {"start_s": 9.2e9, "length_s": 1e-6}
    for level in far["timeline"]["levels"]:
        level["bin_s"] = 1e-6 / level["bins"]
    write_report(read_known(far), tmp_path / "far.html")
    focus(opened(window, tmp_path / "far.html"))
    press(window, "+", 9)
    assert window.run(COLORS) > 2


def test_hostile_hosts_are_text_on_the_canvas_and_in_words(window: Browser, tmp_path: Path) -> None:
    bad = sample()
    for row, attack in zip(bad["timeline"]["rows"], HOSTILE_TEXTS, strict=False):
        row["host"] = attack
    write_report(read_known(bad), tmp_path / "hostile.html")
    opened(window, tmp_path / "hostile.html")
    mouse(window, "mouseMoved", 0.6, 0.2)
    assert f"rank 0 on {HOSTILE_TEXTS[0]}" in status(window)
    assert window.run("window.pwned") is None
    assert window.run("document.querySelectorAll('script').length") == 1
