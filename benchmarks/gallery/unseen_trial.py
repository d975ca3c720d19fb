"""Runs programs whose faults perfscope was not written for: `python -m benchmarks.gallery unseen`.

Each is recorded with its fault and cured, one after the other. Prints one row of a table for each
and, with `--output`, writes the table to a file of Markdown after every row.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.gallery import unseen_judging
from benchmarks.gallery.unseen_judging import Judged, Trial, judge
from benchmarks.gallery.unseen_runs import Heard, Program, hear, programs, run_program
from benchmarks.jobs import ROOT, RunError, prefix
from benchmarks.machine import describe, machine, replace_between

DOCUMENT = ROOT / "docs" / "accuracy.md"


def _asked(words: list[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gallery unseen", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="programs that match this pattern"
    )
    parser.add_argument(
        "--pairs",
        type=int,
        default=1,
        help="of runs with the fault and cured; 0: one run with the fault",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="the table, in Markdown")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="the recordings stay there")
    parser.add_argument(
        "--again", action="store_true", help="judge the recordings of --keep again, run nothing"
    )
    parser.add_argument(
        "--document", action="store_true", help="write a brief table to docs/accuracy.md, too"
    )
    asked = parser.parse_args(words)
    if asked.again and not asked.keep:
        parser.error("--again needs --keep DIR, where the recordings are")
    return asked


def main(words: list[str]) -> int:
    """Runs the programs; 0 where all ran."""
    asked = _asked(words)
    # One thread a rank; the programs' own files go where they are removed.
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory(prefix="unseen-") as place:
        os.environ["TMPDIR"] = place
        tempfile.tempdir = None
        kept = asked.keep or Path(place)
        chosen = [
            program
            for program in programs(asked.only)
            if (prefix(program.environment) / "bin").exists()
        ]
        if asked.again:
            chosen = [program for program in chosen if (kept / program.name).is_dir()]
        attempt = partial(_kept if asked.again else _try, pairs=asked.pairs)
        trials, judged = _try_all(chosen, kept, attempt, output=asked.output)
    print(unseen_judging.summary(judged))
    if asked.document:
        text = unseen_judging.brief_table(trials, judged)
        replace_between(DOCUMENT, "unseen-newest", f"\n{machine()}.\n\n{text}\n")
    return 0 if len(trials) == len(chosen) else 1


def _try_all(
    chosen: list[Program],
    place: Path,
    attempt: Callable[[Program, Path], Trial],
    *,
    output: Path | None,
) -> tuple[list[Trial], list[Judged]]:
    where = describe()
    trials: list[Trial] = []
    judged: list[Judged] = []
    rows: list[str] = []
    for program in chosen:
        try:
            trial = attempt(program, place / program.name)
        except RunError as error:
            print(f"{program.name}: {error}", file=sys.stderr)
            continue
        trials.append(trial)
        judged.append(judge(trial))
        rows.append(unseen_judging.row(trial, judged[-1]))
        print(rows[-1], flush=True)
        if output:
            text = f"{where}\n\n{unseen_judging.summary(judged)}\n\n{unseen_judging.table(rows)}\n"
            output.write_text(text, encoding="utf-8")
    return trials, judged


def _kept(program: Program, place: Path, pairs: int) -> Trial:
    """A trial from recordings that are there."""
    found = [
        [place / f"{name}-{pair}" for pair in range(max(1, pairs))] for name in ("fault", "cured")
    ]
    sick, cured = ([hear(one) for one in places if one.is_dir()] for places in found)
    return Trial(program, sick, cured)


def _try(program: Program, place: Path, pairs: int) -> Trial:
    sick: list[Heard] = []
    cured: list[Heard] = []
    for pair in range(max(1, pairs)):
        sick.append(run_program(program, cured=False, place=place / f"fault-{pair}"))
        if program.code and pairs:
            cured.append(run_program(program, cured=True, place=place / f"cured-{pair}"))
    return Trial(program, sick, cured)
