"""What recording costs, measured here and now: `python -m benchmarks.recorder`.

Prints two tables, in Markdown: what single records cost, and whole jobs recorded against
unrecorded. Writes the numbers to bench-results/recorder.json. With `--document FILE` the tables
also replace what stands between the markers of that file. `--quick` checks that all of it works;
its numbers say little.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.jobs import ROOT
from benchmarks.machine import machine, replace_between
from benchmarks.recorder.bounded import MeasurementError
from benchmarks.recorder.jobs import PARTS, compare
from benchmarks.recorder.measures import MEASURES, Cost, Setting
from benchmarks.recorder.tables import costs_table, jobs_table
from perfscope.record.places import recorder_library

RESULTS = ROOT / "bench-results" / "recorder.json"
JOBS = "jobs"
WHOLE_BUDGET_S = 340.0
QUICK_SHORTER = 8


def find_library() -> Path:
    """The recorder: $PERFSCOPE_RECORDER, else that of this installation."""
    given = os.environ.get("PERFSCOPE_RECORDER")
    found = Path(given) if given else recorder_library()
    if found is None:
        raise SystemExit("the recorder is not built: pip install -e .")
    return found


def load() -> float:
    """What else ran on the machine when this began: the load of the last minute."""
    return os.getloadavg()[0]


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*(measure.__name__ for measure in MEASURES), JOBS]
    parser.add_argument("--only", choices=names, action="append", help="leave out the others")
    parser.add_argument("--repeats", type=int, default=5, help="of the first table")
    parser.add_argument(
        "--budget", type=float, default=WHOLE_BUDGET_S, metavar="S", help="for everything together"
    )
    parser.add_argument("--job", default="", metavar="NAME", help="only jobs with this in the name")
    parser.add_argument(
        "--without",
        choices=PARTS,
        action="append",
        default=[],
        help="leave it out of recorded jobs",
    )
    parser.add_argument("--quick", action="store_true", help="short runs, few of them")
    parser.add_argument("--environment", type=Path, default=Path(sys.prefix), metavar="DIR")
    parser.add_argument("--document", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.quick:
        options.repeats, options.budget = min(options.repeats, 2), 0.0
    return options


def measure_costs(options: argparse.Namespace) -> list[Cost]:
    """The first table's numbers; what fails is told and left out."""
    costs: list[Cost] = []
    with tempfile.TemporaryDirectory(prefix="perfscope-bench-") as place:
        setting = Setting(Path(place), options.repeats, options.environment, find_library())
        for measure in MEASURES:
            if options.only and measure.__name__ not in options.only:
                continue
            print(f"measuring {measure.__name__} ...", file=sys.stderr, flush=True)
            try:
                costs.extend(measure(setting))
            except MeasurementError as error:
                print(f"{measure.__name__}: {error}", file=sys.stderr, flush=True)
    return costs


def main() -> None:
    """Measures, prints, writes."""
    options = parse()
    began, busy = time.monotonic(), load()
    costs = measure_costs(options)
    parts = [f"{machine()}; load {busy:.1f} when it began; {options.repeats} repeats."]
    if costs:
        parts.append(costs_table(costs))
    jobs = []
    if not options.only or JOBS in options.only:
        print("measuring jobs ...", file=sys.stderr, flush=True)
        left_s = options.budget - (time.monotonic() - began)
        shorter = QUICK_SHORTER if options.quick else 1
        jobs = compare(budget_s=left_s, shorter=shorter, only=options.job, without=options.without)
        if options.without:
            parts.append(f"Recorded without {' and '.join(options.without)}.")
        parts.append(jobs_table(jobs))
    text = "\n\n".join(parts)
    print(text)
    print(f"measured in {time.monotonic() - began:.0f} s", file=sys.stderr)
    RESULTS.parent.mkdir(exist_ok=True)
    document = {
        "machine": machine(),
        "load": busy,
        "costs": [cost.as_json() for cost in costs],
        "jobs": [job.as_json() for job in jobs],
    }
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.document:
        replace_between(options.document, "bench-recorder", text)


if __name__ == "__main__":
    main()
