"""A gallery of faults: is each one named, and is nothing said of its cure? `make bench-gallery`.

Every fault and its cure are run for real, and so are healthy programs. Prints a table and, with
`--document`, writes it between the markers in docs/findings.md. Exit code 1 where precision is
below 0.95 or recall below 0.9.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.gallery.cases import CASES, HEALTHY, Case
from benchmarks.gallery.runs import Json, Told, record, run_case
from benchmarks.jobs import ROOT, RunError, prefix
from benchmarks.machine import describe, replace_between

DOCUMENT = ROOT / "docs" / "findings.md"
LEAST_PRECISION, LEAST_RECALL = 0.95, 0.9


@dataclass
class Score:
    """Faults found and missed, and alarms where there was none."""

    hits: int = 0
    misses: int = 0
    false_alarms: int = 0
    rows: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of the alarms that were right."""
        alarms = self.hits + self.false_alarms
        return self.hits / alarms if alarms else 1.0

    @property
    def recall(self) -> float:
        """Share of the faults that were found."""
        faults = self.hits + self.misses
        return self.hits / faults if faults else 1.0


def main() -> int:
    """Runs the gallery; 0 where precision and recall reach their goals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="faults that hold this text")
    parser.add_argument("--repeats", type=int, default=1, help="of the healthy runs")
    parser.add_argument("--document", action="store_true", help="write the table to the docs, too")
    asked = parser.parse_args()
    if asked.only and asked.document:
        parser.error("--document writes the whole table: leave --only away")
    score, where = Score(), describe()
    with tempfile.TemporaryDirectory(prefix="gallery-") as place:
        for number, case in enumerate(CASES):
            if asked.only not in case.fault:
                continue
            if (prefix(case.environment) / "bin").exists():
                judge(case, score, Path(place) / str(number))
            else:
                score.rows.append(f"| {case.fault} | not run: no {case.environment} | | | |")
        if not asked.only:
            judge_healthy(score, Path(place), repeats=asked.repeats)
    text = f"{where}\n\n{table(score)}"
    print(text)
    if asked.document:
        replace_between(DOCUMENT, "bench-gallery", f"\n{text}\n")
    return 0 if score.precision >= LEAST_PRECISION and score.recall >= LEAST_RECALL else 1


def judge(case: Case, score: Score, place: Path) -> None:
    """Runs a fault and its cure and counts what their reports say."""
    place.mkdir()
    try:
        sick = run_case(case, cured=False, place=place)
        cured = run_case(case, cured=True, place=place)
    except RunError as error:
        score.misses += 1
        score.rows.append(f"| {case.fault} | failed | | | |")
        print(error, file=sys.stderr)
        return
    finding = named(case, sick)
    is_hit = finding is not None
    score.hits += is_hit
    score.misses += not is_hit
    others = set(sick.faults) - {*case.expected, *case.companions}
    alarms = [*(f"with the fault: {name}" for name in sorted(others))]
    alarms += [f"cured: {name}" for name in sorted(cured.faults)]
    score.false_alarms += len(alarms)
    shorter_s = sick.focus_s - cured.focus_s
    score.rows.append(
        f"| {case.fault} | {finding['title'] if finding else 'not named'} | {_gain(finding)} | "
        f"{shorter_s:.2f} s | {', '.join(alarms)} |"
    )
    print(score.rows[-1], file=sys.stderr)


def named(case: Case, told: Told) -> Json | None:
    """The finding that names the fault, its ranks, and says what to do; None without one."""
    for identity in case.expected:
        finding = told.faults.get(identity)
        if finding is None:
            continue
        text = " ".join([finding["title"], *finding["actions"]])
        whom = not case.ranks or set(case.ranks) == set(finding["ranks"])
        if whom and case.words in text:
            return finding
    return None


def _gain(finding: Json | None) -> str:
    """The predicted gain of a finding, as the table shows it."""
    if finding is None or finding["gain_s"] is None:
        return ""
    bound = "up to " if finding["gain_basis"] == "upper_bound" else ""
    return f"{bound}{finding['gain_s']:.2f} s"


def judge_healthy(score: Score, place: Path, *, repeats: int) -> None:
    """Counts what is said of programs without a fault."""
    for environment, script, options in HEALTHY:
        name = f"healthy: {script}, {environment}"
        if not (prefix(environment) / "bin").exists():
            score.rows.append(f"| {name}: not run | | | | |")
            continue
        command = [str(ROOT / "examples" / script), *options]
        alarms: list[str] = []
        for number in range(repeats):
            trace = place / f"{environment}-{Path(script).stem}-{number}"
            try:
                alarms += sorted(record(environment, command, ranks=2, place=trace).faults)
            except RunError as error:
                print(error, file=sys.stderr)
                alarms.append("failed")
        score.false_alarms += len(alarms)
        runs = "1 run" if repeats == 1 else f"{repeats} runs"
        score.rows.append(f"| {name}, {runs} | | | | {', '.join(alarms)} |")


def table(score: Score) -> str:
    """The score and every row, in Markdown."""
    summary = (
        f"{score.hits} of {score.hits + score.misses} faults named, {score.false_alarms} false "
        f"alarms: precision {score.precision:.2f}, recall {score.recall:.2f}."
    )
    header = "| fault | verdict | predicted gain | run shorter after the cure | false alarms |"
    return "\n".join([summary, "", header, "|---|---|---|---|---|", *score.rows])


if __name__ == "__main__":
    sys.exit(main())
