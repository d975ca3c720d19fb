"""Records the programs of unseen/ with their fault and cured, and reads what their reports say."""

import ast
import json
import os
import re
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.jobs import RunError, perfscope, prefix

PROGRAMS = Path(__file__).with_name("unseen")
LONGEST_RUN_S = 300.0
LOUD = {"fail", "warn"}
Json = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """What truth.toml says of a program."""

    name: str  # of its file, without ".py"
    environment: str  # below .envs/, whose Python runs it
    processes: int  # ranks that are started; 1: no launcher
    kind: str  # of the loss; "healthy" where there is none
    wrong: str  # what is wrong, in a sentence
    # where the time goes or the fault lies; any of them counts as found
    functions: tuple[str, ...] = ()
    code: str = ""  # stands in the line at fault and nowhere else; "" healthy
    # stand in other lines that count as found, where the fault takes its time
    also: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()  # those at fault; all where it is empty
    # for a fault of the set-up, which no function shows: what a finding must say of it
    words: str = ""

    @property
    def path(self) -> Path:
        """Its file."""
        return PROGRAMS / f"{self.name}.py"

    @property
    def line(self) -> int:
        """The line at fault; 0 for a healthy program."""
        return self._line_of(self.code) if self.code else 0

    def _line_of(self, code: str) -> int:
        source = self.path.read_text(encoding="utf-8")
        return source[: source.index(code)].count("\n") + 1

    def spans(self) -> list[range]:
        """Lines of the functions at fault; of main() only the line itself, as all is in it."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        spans = [
            range(node.lineno, (node.end_lineno or node.lineno) + 1)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and node.name in self.functions
            and node.name != "main"
        ]
        lines = [self._line_of(code) for code in (self.code, *self.also)]
        return [*spans, *(range(line - 1, line + 2) for line in lines)]


@dataclass(frozen=True)
class Heard:
    """What the report of one run says."""

    findings: list[Json]  # all of them
    verdict: str  # its sentence
    top: list[str]  # the findings that the verdict speaks of
    wall_s: float  # how long the job took
    functions: list[Json] = field(default_factory=list)  # where the ranks' time went, by function
    others: float = 0.0  # share of the machine's CPU time that other processes had meanwhile
    losses: list[Json] = field(default_factory=list)  # entries of the loss account

    @property
    def loud(self) -> list[Json]:
        """Findings that fail or warn."""
        return [found for found in self.findings if found["status"] in LOUD]


def programs(only: str = "") -> list[Program]:
    """All programs whose names match a pattern somewhere, by name."""
    import tomllib  # not at the top, as Python 3.10 lacks it

    truth = tomllib.loads((PROGRAMS / "truth.toml").read_text(encoding="utf-8"))
    return [_program(name, told) for name, told in sorted(truth.items()) if re.search(only, name)]


def _program(name: str, told: Json) -> Program:
    lists = {key: tuple(told.get(key, ())) for key in ("functions", "also", "ranks")}
    return Program(name, **{**told, **lists})


def job_of(program: Program, *, cured: bool = False) -> tuple[list[str], str]:
    """The command that runs a program, and the PATH that it needs."""
    binaries = prefix(program.environment) / "bin"
    start = [str(binaries / "python")]
    if program.environment == "torch":
        start = [str(binaries / "torchrun"), "--nproc-per-node", str(program.processes)]
    elif program.processes > 1:
        start = [str(binaries / "mpirun"), "-n", str(program.processes), *start]
    job = [*start, str(program.path), *(["--cured"] if cured else [])]
    return job, f"{binaries}:{os.environ['PATH']}"


def run_program(program: Program, *, cured: bool, place: Path) -> Heard:
    """Records a program and analyzes the recording, which stays at `place`.

    Raises:
        RunError: the run or its analysis failed, or there is a recording already.
    """
    if place.exists():
        raise RunError(f"{place} is there already")
    job, search = job_of(program, cured=cured)
    command = ("run", "--quiet", "--output", place, "--", *job)
    before = _cpu_of_others(), time.monotonic()
    perfscope(*command, longest_s=LONGEST_RUN_S, search=search)
    spent = _cpu_of_others() - before[0]
    others = spent / (time.monotonic() - before[1]) / (os.cpu_count() or 1)
    _others(place).write_text(f"{max(0.0, others):.4f}\n", "ascii")
    return hear(place)


def hear(place: Path) -> Heard:
    """Analyzes a recording that `run_program` has made.

    Raises:
        RunError: the analysis failed.
    """
    told = json.loads(perfscope("analyze", place, "--json", longest_s=LONGEST_RUN_S))
    return Heard(
        told["findings"],
        told["verdict"]["sentence"],
        told["verdict"]["top"],
        told["run"]["wall_s"],
        told["ledger_functions"],
        float(_others(place).read_text("ascii")),
        told["losses"]["entries"],
    )


def _others(place: Path) -> Path:
    """The file beside a recording with the share of the CPUs that other processes had."""
    return place.with_name(f"{place.name}.others")


def _cpu_of_others() -> float:
    """Seconds of CPU time of all processes so far, but for the ended children of this one."""
    ticks = [int(word) for word in Path("/proc/stat").read_text("ascii").split("\n")[0].split()[1:]]
    user, nice, system, _, _, irq, soft = ticks[:7]
    all_s = (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return all_s - own.ru_utime - own.ru_stime
