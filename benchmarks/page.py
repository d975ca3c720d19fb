"""How fast a timeline of a million intervals is drawn in a browser: `python -m benchmarks.page`.

The page is a real one whose timeline was put in its place: 64 rows of 16,384 bins in which no two
neighbors are alike, three and a half times what `perfscope analyze` puts into a page at most. It is
opened in Chromium; the time of a frame is that of the page's own script that draws it. Processor
time is that of the page's thread; times by the clock are the shortest of several, which other work
on the machine makes longer least.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.browser import Browser, browser
from benchmarks.machine import describe, replace_between
from perfscope.report.build import write_report
from perfscope.schema.analysis import Analysis
from perfscope.schema.read import read_known
from perfscope.schema.time import TimelineLevel, TimelineRow

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ROWS, COARSEST, FINER, LEVELS = 64, 256, 8, 3
FRAMES, OPENED = 40, 15
BEFORE = """(() => {
  const ask = window.requestAnimationFrame;
  window.frames_ = [];
  window.requestAnimationFrame = draw => ask(time => {
    const began = performance.now();
    draw(time);
    window.frames_.push([performance.now(), performance.now() - began]);
  });
})()"""
DRAWN = "new Promise(done => setTimeout(() => done(JSON.stringify(window.frames_)), 300))"
PRESS = "document.querySelector('[data-do={0}]').click(), 0"


def large(result: Analysis) -> Analysis:
    """The result with a timeline of a million pieces."""
    letters = "".join(one.letter for one in result.timeline.accounts)
    levels = []
    for place in range(LEVELS):
        bins = COARSEST * FINER**place
        text = (letters * (bins // len(letters) + 2))[: bins + len(letters)]
        rows = tuple(text[row % len(letters) :][:bins] for row in range(ROWS))
        levels.append(TimelineLevel(bins, result.timeline.length_s / bins, rows))
    rows = tuple(TimelineRow(rank, f"node{rank // 8:02}") for rank in range(ROWS))
    return replace(result, timeline=replace(result.timeline, rows=rows, levels=tuple(levels)))


def measure(page: Path) -> dict[str, float]:
    """Milliseconds until the first frame, of drawing it, and of the frames of a zoom."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise SystemExit("This needs a chromium in PATH.")
    with tempfile.TemporaryDirectory() as profile, browser(program, Path(profile)) as opened:
        opened.page("Page.addScriptToEvaluateOnNewDocument", source=BEFORE)
        opened.page("Performance.enable", timeDomain="threadTicks")
        first = [_first(opened, page) for _ in range(OPENED)]
        before_s = _task_s(opened)
        for turn in range(FRAMES):
            opened.run(PRESS.format("in" if turn % 10 < 8 else "all"))
            opened.page("Runtime.evaluate", expression=DRAWN, awaitPromise=True)
        spent_ms = 1e3 * (_task_s(opened) - before_s)
        zoomed = [one for _, one in _frames(opened)[1:]]
    return {
        "processor": statistics.median(one.processor for one in first),
        "first frame there": min(one.at for one in first),
        "first paint": min(one.paint for one in first),
        "first frame": statistics.median(one.spent for one in first),
        "zoom, processor": spent_ms / FRAMES,
        "zoom, median": statistics.median(zoomed),
        "zoom, 95th percentile": statistics.quantiles(zoomed, n=20)[-1],
    }


@dataclass(frozen=True)
class First:
    """When anything was painted and when the canvas was drawn, how long that took, all in ms.

    `processor` is what the page's thread computed for all of it: it does not grow with other work
    on the machine.
    """

    paint: float
    at: float
    spent: float
    processor: float


def _first(opened: Browser, page: Path) -> First:
    opened.page("Page.navigate", url="about:blank")
    before_s = _task_s(opened)
    opened.open(page)
    [at, spent], *_ = _frames(opened)
    paint = opened.run("performance.getEntriesByType('paint')[0].startTime")
    return First(paint, at, spent, 1e3 * (_task_s(opened) - before_s))


def _task_s(opened: Browser) -> float:
    """Processor time of all tasks of the page's thread so far."""
    found = opened.page("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))


def _frames(opened: Browser) -> list[list[float]]:
    answer = opened.page(
        "Runtime.evaluate", expression=DRAWN, awaitPromise=True, returnByValue=True
    )
    found: list[list[float]] = json.loads(answer["result"]["value"])
    return found


def shown(found: dict[str, float], size: int) -> str:
    """The numbers in Markdown."""
    meanings = {
        "processor": f"processor time of the page's thread from the request on, median of {OPENED}",
        "first frame there": "the canvas is drawn, since the page was asked for, the shortest",
        "first paint": "the page is painted, since it was asked for, the shortest",
        "first frame": "drawing that first frame, by the clock, median",
        "zoom, processor": "processor time of all that a frame of a zoom takes, mean",
        "zoom, median": "drawing a frame of a zoom, by the clock, median",
        "zoom, 95th percentile": "the same, 95th percentile",
    }
    lines = ["| | ms |", "|---|---|"]
    lines += [f"| {meanings[name]} | {value:.1f} |" for name, value in found.items()]
    cells = ROWS * COARSEST * FINER ** (LEVELS - 1)
    told = f"{cells:,} bins in the finest of {LEVELS} levels, a page of {size / 1e6:.1f} MB:"
    return "\n".join([told, "", *lines])


def main(arguments: Sequence[str] = ()) -> int:
    """Measures, prints the table and writes it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--document", type=Path, metavar="FILE", help="puts the table there")
    options = parser.parse_args(list(arguments))
    source = ROOT / "reports" / "rank_zero_evaluation" / "analysis.json"
    document: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    before = describe()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        write_report(large(read_known(document)), page)
        text = shown(measure(page), page.stat().st_size)
    print(text)
    if options.document is not None:
        replace_between(options.document, "bench-page", f"{before}\n\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
