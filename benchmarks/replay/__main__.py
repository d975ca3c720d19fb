"""How fast the replay is and what memory it takes, here and now: `python -m benchmarks.replay`.

Prints a table in Markdown, and writes the numbers to bench-results/replay.json. With `--document
FILE` the table also replaces what stands between the markers of that file. `--quick` checks that
all of it works; its numbers say little.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.machine import describe, replace_between
from benchmarks.replay.measures import ROOT, Found, Task, cores, measure

RESULTS = ROOT / "bench-results" / "replay.json"
GOALS = {"collectives": 40e6, "exchanging": 10e6}
"""Calls a second and core."""
LONG_MB = 2048
COLUMNS = (
    "program",
    "ranks",
    "calls",
    "what",
    "threads",
    "wall s",
    "M calls/s of wall",
    "M calls/s and core",
    "x plain Python",
    "peak MB",
    "of it before the replay",
    "goal",
)
QUICK_SHORTER = 100
NAMES = {
    "lengths": "replay",
    "build": "check of the program",
    "causes": "critical path and delay costs",
    "plain": "the replay in plain Python",
}


def tasks(shorter: int) -> list[Task]:
    """Everything that is measured, in the order of the table."""
    long, steps = 10_000 // shorter, 50_000 // shorter
    found = []
    for program, ranks, count in (("collectives", 1000, long), ("exchanging", 64, steps)):
        found += [Task(program, "lengths", ranks, count, threads) for threads in (1, cores())]
        small = 16 if program == "collectives" else 4
        found.append(Task(program, "plain", small, 200))
    found.insert(-1, Task("exchanging", "build", 64, steps))
    found.insert(-1, Task("exchanging", "causes", 64, steps))
    found.insert(-1, Task("exchanging", "causes", 64, steps, cores()))
    return [*found, Task("long", "lengths", 10_000, long, cores())]


def table(rows: Sequence[Found]) -> str:
    """The numbers in Markdown; ratios are those of calls a second of CPU time to plain Python."""
    plain = {row.task.program: row.calls / row.cpu_s for row in rows if row.task.what == "plain"}
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for row in rows:
        task, speed = row.task, row.calls / max(row.cpu_s, 1e-9)
        ratio = f"{speed / plain[task.program]:,.0f}" if task.program in plain else ""
        goal = f"{GOALS[task.program] / 1e6:.0f} M" if _has_goal(task) else ""
        if task.program == "long":
            goal = f"{LONG_MB} MB"
        name = "made and replayed in windows" if task.program == "long" else NAMES[task.what]
        lines.append(
            f"| {'collectives' if task.program == 'long' else task.program} | {task.ranks:,} | "
            f"{row.calls:,} | {name} | {task.threads} | {row.wall_s:.3f} | "
            f"{row.calls / row.wall_s / 1e6:.2f} | {speed / 1e6:.2f} | {ratio} | "
            f"{row.peak_mb:.0f} | {row.made_mb:.0f} | {goal} |"
        )
    return "\n".join(lines)


def _has_goal(task: Task) -> bool:
    return task.what == "lengths" and task.threads == 1 and task.program in GOALS


def main(arguments: Sequence[str] = ()) -> int:
    """Measures, prints the table, writes the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small programs: does all work?")
    parser.add_argument("--document", type=Path, metavar="FILE")
    options = parser.parse_args(list(arguments))
    machine, rows = describe(), []
    for task in tasks(QUICK_SHORTER if options.quick else 1):
        rows.append(measure(task))
        print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    text = f"{machine}\n\n{table(rows)}"
    print(text)
    RESULTS.parent.mkdir(exist_ok=True)
    found = {"machine": machine, "rows": [asdict(row) for row in rows]}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.document:
        replace_between(options.document, "bench-replay", text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
