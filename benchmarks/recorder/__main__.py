"""What recording costs, measured here and now: `python -m benchmarks.recorder`.

Prints one table, in Markdown, and writes the numbers to bench-results/recorder.json. With
`--document FILE` the table also replaces what stands between the markers of that file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
from pathlib import Path

from benchmarks.recorder.measures import MEASURES, ROOT, Cost, Setting
from perfscope.collect.places import recorder_library

RESULTS = ROOT / "bench-results" / "recorder.json"
BEGIN, END = "<!-- bench-recorder: begin -->\n", "<!-- bench-recorder: end -->"
MARKED = re.compile(f"({BEGIN}).*({END})", re.DOTALL)


def find_library() -> Path:
    """The recorder: $PERFSCOPE_RECORDER, else that of this installation."""
    given = os.environ.get("PERFSCOPE_RECORDER")
    found = Path(given) if given else recorder_library()
    if found is None:
        raise SystemExit("the recorder is not built: pip install -e .")
    return found


def machine() -> str:
    """The processor, the number of its cores that may be used, and the kernel."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.*)", text)
    name = model[1] if model else platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}"


def table(costs: list[Cost]) -> str:
    """Median, least and most of every measurement, in Markdown."""
    lines = ["| measurement | unit | median | least | most | goal |", "|---|---|---|---|---|---|"]
    for cost in costs:
        goal = "" if cost.goal is None else f"{cost.goal:g}"
        numbers = [cost.median, min(cost.values), max(cost.values)]
        cells = " | ".join(f"{number:.2f}" for number in numbers)
        lines.append(f"| {cost.name} | {cost.unit} | {cells} | {goal} |")
    return "\n".join(lines)


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [measure.__name__ for measure in MEASURES]
    parser.add_argument("--only", choices=names, action="append", help="leave out the others")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--environment", type=Path, default=Path(sys.prefix), metavar="DIR")
    parser.add_argument("--document", type=Path, metavar="FILE")
    options = parser.parse_args()
    costs: list[Cost] = []
    with tempfile.TemporaryDirectory(prefix="perfscope-bench-") as place:
        setting = Setting(Path(place), options.repeats, options.environment, find_library())
        for measure in MEASURES:
            if not options.only or measure.__name__ in options.only:
                print(f"measuring {measure.__name__} ...", file=sys.stderr, flush=True)
                costs.extend(measure(setting))
    text = f"{machine()}; {options.repeats} repeats.\n\n{table(costs)}"
    print(text)
    RESULTS.parent.mkdir(exist_ok=True)
    document = {"machine": machine(), "costs": [cost.as_json() for cost in costs]}
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.document:
        before = options.document.read_text(encoding="utf-8")
        after = MARKED.sub(lambda found: f"{found[1]}{text}\n{found[2]}", before)
        options.document.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
