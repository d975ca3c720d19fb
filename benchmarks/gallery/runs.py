"""Records the runs of the gallery and reads what their reports say."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gallery.cases import Case
from benchmarks.jobs import ROOT, RunError, perfscope, prefix

LONGEST_RUN_S = 240.0
FAULTS = {"fail", "warn"}
Json = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """What the report of one run says."""

    faults: dict[str, Json]  # findings that fail or warn, by id
    focus_s: float  # length of the focus of analysis
    job_s: float  # the whole job, from the start of the launcher to its end
    top: str  # the finding that the verdict names first; "" none


def record(
    environment: str,
    words: list[str],
    *,
    ranks: int,
    place: Path,
    wrapper: tuple[str, ...] = (),
    launcher: str = "",
    may_fail: bool = False,
) -> Told:
    """Records a program of examples/ and analyzes the recording.

    Args:
        environment: below .envs/, whose Python and mpirun are used.
        words: the script and its options.
        ranks: started by mpirun; 0: without it.
        place: where the recording goes; must not exist.
        wrapper: words before Python.
        launcher: the environment whose mpirun starts it; "": the same.
        may_fail: the program may end with an error.

    Raises:
        RunError: one of both failed.
    """
    binaries = prefix(environment) / "bin"
    mpirun = prefix(launcher or environment) / "bin" / "mpirun"
    start = [str(mpirun), "-n", str(ranks)] if ranks else []
    job = [*start, *wrapper, str(binaries / "python"), *words]
    search = f"{binaries}:{os.environ['PATH']}"
    command = ("run", "--quiet", "--output", place, "--", *job)
    try:
        perfscope(*command, longest_s=LONGEST_RUN_S, search=search)
    except RunError:
        if not may_fail:
            raise
    document = json.loads(perfscope("analyze", place, "--json", longest_s=LONGEST_RUN_S))
    found = {f["id"]: f for f in document["findings"] if f["status"] in FAULTS}
    begin, end = document["run"]["focus_of_analysis_s"]
    top = document["verdict"]["top"]
    return Told(found, end - begin, document["run"]["wall_s"], top[0] if top else "")


def run_case(case: Case, *, cured: bool, place: Path) -> Told:
    """Runs a case with its fault, or cured; its files go to a directory.

    Raises:
        RunError: the run or its analysis failed.
    """
    options = case.after if cured else case.before
    return record(
        case.environment,
        [
            str(ROOT / "examples" / case.script),
            *(word.replace("{place}", str(place)) for word in options),
        ],
        ranks=case.ranks_started,
        place=place / ("cured" if cured else "sick"),
        wrapper=() if cured else case.wrapper,
        launcher="" if cured else case.launcher,
        may_fail=case.may_fail and not cured,
    )
