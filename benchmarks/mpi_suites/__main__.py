"""Do test suites of MPI end recorded as they end unrecorded? `python -m benchmarks.mpi_suites`.

Runs the suites of mpi4py, MPICH and Open MPI and Intel's benchmarks, every part unrecorded and
recorded, under all three MPI libraries; fetches them into .envs/suites/ first. Prints every
difference, then a table in Markdown, of which `--document FILE` puts the rows between the markers
of that file, in the place of those of the same suite, library and ranks.
What was found is kept in bench-results/suites.json, so that one part after another can be run.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.jobs import ROOT
from benchmarks.machine import between, machine, replace_between
from benchmarks.mpi_suites import imb_suite, mpi4py_suite, mpich_suite, openmpi_suite
from benchmarks.mpi_suites.outcomes import ARGUMENTS, Ending, Place, compare

RESULTS = ROOT / "bench-results" / "suites.json"
SUITES = ("mpi4py", "mpich", "openmpi", "imb")
TITLES = {
    "mpi4py": "mpi4py",
    "mpich": "MPICH",
    "openmpi": "Open MPI",
    "imb": "Intel MPI Benchmarks",
}
HEAD = [
    *("suite", "MPI", "ranks", "parts", "tests", "pass unrecorded"),
    *("another outcome recorded", "measured on"),
]
MPIS = {"mpich": "MPICH", "openmpi": "Open MPI", "intelmpi": "Intel MPI"}
Part = tuple[str, Callable[[bool], Ending]]


def parts(suite: str, place: Place) -> Iterator[Part]:
    """The parts of a suite, by name, and how each is run: recorded or not.

    Raises:
        OSError: the suite cannot be had here.
    """
    if suite == "mpi4py":
        directory = mpi4py_suite.fetch()
        for module in mpi4py_suite.parts(directory):
            yield module, partial(mpi4py_suite.run_part, place, directory, module)
    elif suite == "mpich":
        built = mpich_suite.build(place.mpi)
        for folder in mpich_suite.DIRECTORIES:
            for program in mpich_suite.programs(built, folder, place.ranks):
                yield program.name, partial(mpich_suite.run_program, place, program)
    elif suite == "openmpi":
        for program in openmpi_suite.programs(place, openmpi_suite.build(place.mpi)):
            yield program.name, partial(openmpi_suite.run_program, place, program)
    elif place.mpi in imb_suite.MPIS:
        for name in imb_suite.programs():
            yield name, partial(imb_suite.run_program, place, name)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=SUITES, action="append", help="leave out the others")
    parser.add_argument("--mpi", choices=[*ARGUMENTS], action="append", help="likewise")
    parser.add_argument("--part", default="", metavar="TEXT", help="only parts with it in the name")
    parser.add_argument("--ranks", type=int, default=2, help="the most, for programs that say it")
    parser.add_argument("--longest", type=float, default=120.0, metavar="S", help="of one job")
    parser.add_argument("--document", type=Path, metavar="FILE")
    return parser.parse_args()


def table(found: dict[str, Any], before: str = "") -> str:
    """A row for each suite, library and number of ranks; those of a table before stay.

    Args:
        found: by suite, library and ranks, the machine and what was compared of each part.
        before: a table that is brought up to date.
    """
    cells = (line.strip("| ").split(" | ") for line in before.splitlines() if line[:1] == "|")
    rows = {tuple(row[:3]): row for row in cells if row[0] in TITLES.values()}
    for key, result in found.items():
        if not result["parts"]:
            continue
        suite, mpi, ranks = key.split()
        compared = result["parts"].values()
        tests, passed = (sum(part[name] for part in compared) for name in ("tests", "passed"))
        different = sum(len(part["different"]) for part in compared)
        names = (TITLES[suite], MPIS[mpi], ranks)
        counts = map(str, (len(compared), tests, passed, different))
        rows[names] = [*names, *counts, result["machine"]]
    lines = [HEAD, ["---"] * len(HEAD), *(rows[key] for key in sorted(rows))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """The exit code: 1 when a test ends otherwise recorded."""
    options = parse()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.parent.mkdir(exist_ok=True)
    differing = False
    for suite in options.suite or SUITES:
        for mpi in options.mpi or ARGUMENTS:
            place = Place(mpi, options.ranks, options.longest)
            result_of = found.setdefault(f"{suite} {mpi} {options.ranks}", {"parts": {}})
            for name, run_once in parts(suite, place):
                if options.part not in name:
                    continue
                result = compare(run_once)
                for line in result.different:
                    print(f"{suite} under {mpi}, {name}: {line}", flush=True)
                differing |= bool(result.different)
                result_of["parts"][name] = asdict(result)
                result_of["machine"] = machine()
                RESULTS.write_text(json.dumps(found, indent=1))
    before = between(options.document, "bench-suites") if options.document else ""
    text = table(found, before)
    print(text)
    if options.document:
        replace_between(options.document, "bench-suites", text)
    return int(differing)


if __name__ == "__main__":
    sys.exit(main())
