"""Predicted against real: `python -m benchmarks.whatif`.

Runs programs with a planted fault, predicts what its fix gives back, makes the fix and runs again:
every variant in turn, five times. Prints a table in Markdown and writes the numbers to
bench-results/whatif.json. With `--document` the table also replaces what stands between the markers
in docs/accuracy.md. `--quick` makes one repeat of short runs: it checks that all works.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.jobs import ROOT, RunError
from benchmarks.machine import describe, replace_between
from benchmarks.whatif.cases import ROWS, Row
from benchmarks.whatif.gains import gain_of, table
from benchmarks.whatif.runs import Limits, Measured, is_runnable, measure

RESULTS = ROOT / "bench-results" / "whatif.json"
DOCUMENT = ROOT / "docs" / "accuracy.md"
REPEATS = 5
QUICK_SCALE = 0.4


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument(
        "--budget", type=float, default=14.0, metavar="MINUTES", help="no repeat begins beyond it"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="how much longer than usual each run is"
    )
    parser.add_argument("--only", metavar="TEXT", help="rows whose fault holds this text")
    parser.add_argument("--quick", action="store_true", help="one repeat of short runs")
    parser.add_argument("--document", action="store_true", help="write the table to the docs, too")
    return parser.parse_args()


def chosen_rows(text: str | None) -> list[Row]:
    """The rows that are wanted and whose environments are there."""
    wanted = [row for row in ROWS if text is None or text.lower() in row.fault.lower()]
    runnable = [row for row in wanted if is_runnable(row.before)]
    for row in wanted:
        if row not in runnable:
            print(f"left out, no environment: {row.fault}", file=sys.stderr)
    return runnable


def main() -> int:
    """Measures, prints, writes; 1 when a row that can be judged missed the goal."""
    asked = parse()
    repeats, scale = (1, QUICK_SCALE) if asked.quick else (asked.repeats, asked.scale)
    rows, where = chosen_rows(asked.only), describe()
    with tempfile.TemporaryDirectory(prefix="whatif-") as place:
        try:
            limits = Limits(repeats, scale, 60.0 * asked.budget)
            found = measure(rows, limits, Path(place))
        except RunError as error:
            print(error, file=sys.stderr)
            return 2
    done = len(found[0].before_s) if found else 0
    text = f"{where} {done} repeats.\n\n{table(found)}\n"
    print(text)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(as_json(found, where), indent=1) + "\n", encoding="utf-8")
    if asked.document:
        replace_between(DOCUMENT, "bench-whatif", f"\n{text}")
    return 1 if any(gain_of(item).judgment == "missed" for item in found) else 0


def as_json(found: list[Measured], where: str) -> dict[str, object]:
    """All values, as they were measured."""
    rows = [
        {
            "fault": item.row.fault,
            "fix": item.row.fix,
            "edit": item.row.edit,
            "before_s": item.before_s,
            "after_s": item.after_s,
            "predicted_s": item.predicted_s,
            "reasons": item.reasons,
            "gain": asdict(gain_of(item)),
        }
        for item in found
    ]
    return {"machine": where, "rows": rows}


if __name__ == "__main__":
    sys.exit(main())
