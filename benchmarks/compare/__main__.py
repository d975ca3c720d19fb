"""How often compare and history are right on simulated runs: `python -m benchmarks.compare`.

Simulates runs whose truth is known (noise.py), judges them as `perfscope compare` and `perfscope
history` do, and prints Markdown tables: false alarms among equal sides, and how often a planted
slow-down is found. With `--document` the tables also replace what stands between the markers of
docs/compare.md and docs/history.md. Seeds are fixed: the tables are the same each time.
"""

import argparse

import numpy as np

from benchmarks.compare.noise import LOUD, QUIET, USUAL, Noise, run_values
from benchmarks.jobs import ROOT
from benchmarks.machine import replace_between
from perfscope.schema.common import Metric
from perfscope.studies.common.measures import Measure
from perfscope.studies.compare.compare import FACTOR, Answer, judge_all
from perfscope.studies.compare.sides import Side
from perfscope.studies.history.change_points import change_points

NOISES = {"quiet": QUIET, "usual": USUAL, "loud": LOUD}
REPEATS = (2, 3, 4, 5, 8, 10, 15)
SLOWER = (1.05, 1.10)
PAIRS = 1000
REQUIRED_PAIRS, REQUIRED_REPEATS = 200, 5
SERIES = 500
_FOUND = ("5 % slower, found", "10 % slower, found")
_CHANGED = ("5 % slower from the middle on, found", "5 % slower in the last five, found")
NUMBER = Measure("step", "median step time", "s", True, lambda value: Metric(value, "s"))


def main() -> None:
    """Simulates, prints, and writes into the documents where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--document", action="store_true", help="write into docs/")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    arguments = parser.parse_args()
    tables = {
        "compare": f"{_required()}\n\n{_compare_table(arguments.pairs)}",
        "history": _history_table(),
    }
    for name, table in tables.items():
        print(f"{table}\n")
        if arguments.document:
            replace_between(ROOT / "docs" / f"{name}.md", "bench-compare", table)


def _answer(random: np.random.Generator, repeats: int, noise: Noise, slower: float) -> Answer:
    sides = [
        Side(name, tuple(run_values(random, repeats, noise, slower=factor)))
        for name, factor in (("A", 1.0), ("B", slower))
    ]
    return judge_all(sides, NUMBER, factor=FACTOR)[0].answer


def _share(repeats: int, noise: Noise, slower: float, *, pairs: int) -> float:
    """Of pairs: those called different where they are equal, else those called slower."""
    random = np.random.default_rng(
        (7, repeats, round(1000 * slower), round(1e4 * noise.between_runs))
    )
    answers = [_answer(random, repeats, noise, slower) for _ in range(pairs)]
    wanted = {Answer.SLOWER} if slower > 1 else {Answer.SLOWER, Answer.FASTER}
    return sum(answer in wanted for answer in answers) / pairs


def _required() -> str:
    false = _share(REQUIRED_REPEATS, QUIET, 1.0, pairs=REQUIRED_PAIRS)
    found = _share(REQUIRED_REPEATS, QUIET, 1.05, pairs=REQUIRED_PAIRS)
    return (
        f"{REQUIRED_PAIRS} pairs of equal sides with {REQUIRED_REPEATS} runs each, quiet: "
        f"{100 * false:.1f} % false alarms. {REQUIRED_PAIRS} pairs in which one side is 5 % "
        f"slower: {100 * found:.1f} % found."
    )


def _compare_table(pairs: int) -> str:
    head = ("noise", "runs a side", "equal, called different", *_FOUND)
    lines = [f"| {' | '.join(head)} |", "|---|---:|---:|---:|---:|"]
    for name, noise in NOISES.items():
        for repeats in REPEATS:
            shares = [_share(repeats, noise, slower, pairs=pairs) for slower in (1.0, *SLOWER)]
            cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
            lines.append(f"| {name} | {repeats} | {cells} |")
    return "\n".join(lines)


def _history_table() -> str:
    head = ("noise", "points", "no change, one shown", *_CHANGED)
    lines = [f"| {' | '.join(head)} |", "|---|---:|---:|---:|---:|"]
    for name, noise in NOISES.items():
        for points in (12, 20, 40, 80):
            cells = [_found(noise, points, None), _found(noise, points, points // 2)]
            cells.append(_found(noise, points, points - 5))
            shown = " | ".join(f"{100 * share:.1f} %" for share in cells)
            lines.append(f"| {name} | {points} | {shown} |")
    return "\n".join(lines)


def _found(noise: Noise, points: int, change_at: int | None) -> float:
    """Of series: those with any change where there is none, else those with it within one point."""
    random = np.random.default_rng((8, points, change_at or 0, round(1e4 * noise.between_runs)))
    hits = 0
    for _ in range(SERIES):
        values = np.array(run_values(random, points, noise))
        if change_at is not None:
            values[change_at:] *= 1.05
        places = [change.at for change in change_points(values.tolist(), factor=FACTOR)]
        hits += (
            bool(places)
            if change_at is None
            else any(abs(place - change_at) <= 1 for place in places)
        )
    return hits / SERIES


if __name__ == "__main__":
    main()
