"""Runs faults, cures and healthy programs, and counts what their reports say of them."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.gallery.cases import CASES, Case, Work
from benchmarks.gallery.healthy import HEALTHY, Healthy
from benchmarks.gallery.runs import Json, Told, record, run_case
from benchmarks.jobs import ROOT, RunError, prefix

LEAST_PRECISION, LEAST_RECALL = 0.95, 0.9
COLUMNS = (
    "fault",
    "verdict",
    "predicted gain",
    "run shorter after the cure",
    "also named",
    "false alarms",
)


@dataclass
class Score:
    """Faults found and missed, and alarms where there was none.

    `companions` are findings about a faulty run that show the same lost time beside its cause.
    """

    hits: int = 0
    misses: int = 0
    false_alarms: int = 0
    companions: int = 0
    rows: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of the alarms that were right; companions are not counted at all."""
        return self._precision(self.false_alarms)

    @property
    def strict_precision(self) -> float:
        """The same, if every companion were a false alarm."""
        return self._precision(self.false_alarms + self.companions)

    def _precision(self, wrong: int) -> float:
        return self.hits / (self.hits + wrong) if self.hits + wrong else 1.0

    @property
    def recall(self) -> float:
        """Share of the faults that were found."""
        faults = self.hits + self.misses
        return self.hits / faults if faults else 1.0

    @property
    def is_good(self) -> bool:
        """Whether precision and recall reach their goals."""
        return self.precision >= LEAST_PRECISION and self.recall >= LEAST_RECALL

    def add(self, *cells: str) -> None:
        """One row of the table; cells that are left away are empty."""
        row = [*cells, *[""] * (len(COLUMNS) - len(cells))]
        self.rows.append(f"| {' | '.join(row)} |")
        print(self.rows[-1], file=sys.stderr)


def judge_all(
    place: Path,
    *,
    cases: Iterable[Case] = CASES,
    healthy: Iterable[Healthy] = HEALTHY,
    repeats: int = 1,
) -> Score:
    """Runs faults, their cures and healthy programs, the latter several times if asked for.

    Args:
        place: directory of the recordings.
        cases: faults and cures.
        healthy: programs without a fault.
        repeats: runs of each healthy program.
    """
    score = Score()
    for number, case in enumerate(cases):
        judge(case, score, place / str(number))
    for run in healthy:
        judge_healthy(run, score, place, repeats=repeats)
    return score


def judge(case: Case, score: Score, place: Path) -> None:
    """Runs a fault and its cure and counts what their reports say."""
    if not (prefix(case.environment) / "bin").exists():
        score.add(case.fault, f"not run: no {case.environment}")
        return
    place.mkdir()
    try:
        sick = run_case(case, cured=False, place=place)
        cured = run_case(case, cured=True, place=place)
    except RunError as error:
        score.misses += 1
        score.add(case.fault, "failed")
        print(error, file=sys.stderr)
        return
    count(case, score, sick, cured)


def count(case: Case, score: Score, sick: Told, cured: Told) -> None:
    """Adds what two reports say to the score."""
    finding = named(case, sick)
    score.hits += finding is not None
    score.misses += finding is None
    beside = set(sick.faults) - set(case.expected)
    also = sorted(beside & set(case.companions))
    alarms = [f"with the fault: {name}" for name in sorted(beside - set(case.companions))]
    alarms += [f"cured: {name}" for name in sorted(cured.faults)]
    score.companions += len(also)
    score.false_alarms += len(alarms)
    score.add(
        case.fault,
        finding["title"] if finding else "not named",
        _gain(finding),
        shorter(case, sick, cured),
        ", ".join(also),
        ", ".join(alarms),
    )


def named(case: Case, told: Told) -> Json | None:
    """The finding that names the fault, its ranks and its place, and says what to do, or None."""
    for identity in case.expected:
        finding = told.faults.get(identity)
        if finding is None:
            continue
        text = " ".join([finding["title"], *finding["actions"]])
        whom = not case.ranks or set(case.ranks) == set(finding["ranks"])
        if whom and case.words in text and _is_there(case, finding):
            return finding
    return None


def _is_there(case: Case, finding: Json) -> bool:
    """Whether the finding names the function of the fault, where that is known."""
    functions = {frame["function"].rpartition(".")[2] for frame in finding["where"]}
    return case.where in {"", *functions} or f"{case.where}()" in finding["title"]


def shorter(case: Case, sick: Told, cured: Told) -> str:
    """What the cure really gave back, as the table shows it; no seconds where the work differs."""
    if case.work is Work.OTHER:
        return "other work"
    if case.work is Work.WITH_ITS_START:
        return f"{sick.job_s - cured.job_s:.2f} s"
    return f"{sick.focus_s - cured.focus_s:.2f} s"


def _gain(finding: Json | None) -> str:
    """The predicted gain of a finding, as the table shows it."""
    if finding is None or finding["gain_s"] is None:
        return ""
    bound = "up to " if finding["gain_basis"] == "upper_bound" else ""
    return f"{bound}{finding['gain_s']:.2f} s"


def judge_healthy(run: Healthy, score: Score, place: Path, *, repeats: int) -> None:
    """Counts what is said of a program without a fault."""
    name = f"healthy: {run.name}, {run.environment}"
    if not (prefix(run.environment) / "bin").exists():
        score.add(name, f"not run: no {run.environment}")
        return
    command = [str(ROOT / "examples" / run.script), *run.options]
    alarms: list[str] = []
    for number in range(repeats):
        trace = place / f"{run.environment}-{run.name.replace(' ', '-')}-{number}"
        try:
            told = record(run.environment, command, ranks=run.ranks_started, place=trace)
            alarms += sorted(told.faults)
        except RunError as error:
            print(error, file=sys.stderr)
            alarms.append("failed")
    score.false_alarms += len(alarms)
    runs = "1 run" if repeats == 1 else f"{repeats} runs"
    score.add(f"{name}, {runs}", "", "", "", "", ", ".join(alarms))


def table(score: Score) -> str:
    """The score and every row, in Markdown."""
    summary = (
        f"{score.hits} of {score.hits + score.misses} faults named, {score.false_alarms} false "
        f"alarms: precision {score.precision:.2f}, recall {score.recall:.2f}. With the "
        f"{score.companions} findings that are also named taken for false alarms, precision would "
        f"be {score.strict_precision:.2f}."
    )
    header = f"| {' | '.join(COLUMNS)} |"
    return "\n".join([summary, "", header, "|---" * len(COLUMNS) + "|", *score.rows])
