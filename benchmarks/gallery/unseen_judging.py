"""Is the fault of a program named, on its ranks, and with the gain that its cure really gave?

A fault is named where a loud finding (one that fails or warns) first of all points at a function at
fault or at a line of it, in its words or as the first of its places, or says the words that
truth.toml declares for a fault of the set-up. Its ranks are right where they are those of
truth.toml; for a fault of all ranks also where none are told. Its gain is right where it, or that
of its first action, is within 20 % of the median gain of the cure; no gain is judged where other
processes had more than a tenth of the machine in one of the runs.
"""

import re
import statistics
from dataclasses import dataclass

from benchmarks.gallery.unseen_runs import Heard, Json, Program

COLUMNS = (
    "program",
    "real gain",
    "CPU time of others",
    "time in its functions",
    "found",
    "ranks",
    "gain",
    "verdict",
    "loud findings: gain, interval",
    "loud when cured",
)
BRIEF = (
    "program",
    "fault",
    "length",
    "CPU time of others",
    "found",
    "ranks",
    "said of it",
    "loud beside it",
)
WITHIN = (0.1, 0.2)
MOST_OF_OTHERS = 0.1


@dataclass(frozen=True)
class Judged:
    """What is right in the report of a run with its fault."""

    named: str  # "verdict", "finding" or "missed"; "quiet" or "loud" of a healthy program
    ranks: bool = True  # whether the ranks are right
    # of the predicted gain, as a share of the real one; None: nothing predicted, or other processes
    # took so much of the machine that the real one is not known
    error: float | None = None

    @property
    def is_hit(self) -> bool:
        """Named, on the right ranks."""
        return self.named in {"verdict", "finding", "quiet"} and self.ranks


@dataclass(frozen=True)
class Trial:
    """The runs of one program; a healthy one has no cured runs."""

    program: Program
    sick: list[Heard]
    cured: list[Heard]

    @property
    def gain_s(self) -> float:
        """How much shorter the cured runs were: the median of the pairs."""
        pairs = zip(self.sick, self.cured, strict=True)
        return statistics.median(sick.wall_s - cured.wall_s for sick, cured in pairs)

    @property
    def others(self) -> float:
        """The largest share of the CPUs that other processes had during one of the runs."""
        return max(heard.others for heard in (*self.sick, *self.cured))

    @property
    def wall_s(self) -> float:
        """Length of the runs with the fault: their median."""
        return statistics.median(heard.wall_s for heard in self.sick)


def points_at(program: Program, finding: Json) -> bool:
    """Whether a finding names a function or a line at fault, or says what had to be said."""
    text = f"{finding['title']} {finding.get('summary') or ''}"
    if program.words and re.search(program.words, text, re.IGNORECASE):
        return True
    if any(_is_at_fault(program, place) for place in (finding.get("where") or [])[:1]):
        return True
    told = {int(line) for line in re.findall(rf"{program.path.name}:(\d+)", text)}
    return any(line in span for span in program.spans() for line in told)


def ranks_fit(program: Program, finding: Json) -> bool:
    """Whether a finding is about the ranks at fault."""
    told, everyone = set(finding.get("ranks") or []), set(range(program.processes))
    if program.ranks and set(program.ranks) != everyone:
        return told == set(program.ranks)
    return told in (set(), everyone)


def gains_of(finding: Json) -> list[float]:
    """The gains that a finding predicts: of all it shows, and of its first action."""
    first = (finding.get("first_action") or {}).get("gain_s")
    return [gain for gain in (finding.get("gain_s"), first) if gain is not None]


def judge(trial: Trial) -> Judged:
    """Judges the first run with the fault by the gain of all pairs."""
    program, heard = trial.program, trial.sick[0]
    if not program.code:
        return Judged("loud" if heard.loud else "quiet")
    fitting = [found for found in heard.loud if points_at(program, found)]
    if not fitting:
        return Judged("missed", ranks=False)
    fitting.sort(key=lambda found: (found["id"] not in heard.top, not ranks_fit(program, found)))
    best = fitting[0]
    predicted = gains_of(best)
    real = trial.gain_s if trial.cured and trial.others <= MOST_OF_OTHERS else 0.0
    error = min((abs(gain - real) / real for gain in predicted), default=None) if real > 0 else None
    named = "verdict" if best["id"] in heard.top[:1] else "finding"
    return Judged(named, ranks_fit(program, best), error)


def row(trial: Trial, judged: Judged) -> str:
    """One row of the table."""
    program, heard = trial.program, trial.sick[0]
    real, right = "", ""
    if trial.cured:
        real = f"{trial.gain_s:.1f} s of {trial.wall_s:.1f} s ({trial.gain_s / trial.wall_s:.0%})"
        right = "not judged" if judged.error is None else _within(judged.error)
    after = trial.cured[0].loud if trial.cured else []
    cells = (
        f"{program.name} ({program.kind})",
        real or f"{trial.wall_s:.1f} s",
        f"{trial.others:.0%}",
        f"{_share(program, heard):.0%}" if program.code else "",
        judged.named,
        "right" if judged.ranks else "wrong" if judged.named != "missed" else "",
        right,
        heard.verdict,
        "<br>".join(_loud(program, found) for found in heard.loud),
        "<br>".join(f"{found['id']} {_seconds(found['gain_s'])}" for found in after),
    )
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def brief(trial: Trial, judged: Judged) -> str:
    """One row of the table in the documentation: what was said of the fault, and beside it."""
    program = trial.program
    fitting, beside = told(trial)
    cells = (
        f"`{program.name}`",
        program.kind,
        f"{trial.wall_s:.0f} s",
        f"{trial.others:.0%}",
        judged.named,
        ("right" if judged.ranks else "wrong") if fitting else "-",
        _told_of(fitting[0]) if fitting else "-",
        ", ".join(f"`{one['id']}`" for one in beside) or "-",
    )
    return "| " + " | ".join(cells) + " |"


def told(trial: Trial) -> tuple[list[Json], list[Json]]:
    """Loud findings that point at the fault, what the verdict speaks of first, and all others."""
    program, heard = trial.program, trial.sick[0]
    fitting = [one for one in heard.loud if program.code and points_at(program, one)]
    fitting.sort(key=lambda one: one["id"] not in heard.top[:1])
    return fitting, [one for one in heard.loud if one not in fitting]


def _told_of(found: Json) -> str:
    return f"`{found['id']}` {_seconds(found['gain_s'])}"


def brief_table(trials: list[Trial], judged: list[Judged]) -> str:
    """The rows for the documentation below their sum, in Markdown."""
    rows = [brief(trial, one) for trial, one in zip(trials, judged, strict=True)]
    pointing = sum(len(told(trial)[0]) for trial in trials)
    loud = sum(len(trial.sick[0].loud) for trial in trials)
    head = f"| {' | '.join(BRIEF)} |\n|{'---|' * len(BRIEF)}\n"
    said = f"{pointing} of {loud} loud findings point at a fault."
    return f"{summary(judged)} {said}\n\n{head}" + "\n".join(rows)


def _share(program: Program, heard: Heard) -> float:
    """Share of the ranks' time that the report shows in the functions and lines at fault."""
    return sum(float(of["share"]) for of in heard.functions if _is_at_fault(program, of))


def _is_at_fault(program: Program, place: Json) -> bool:
    if not str(place.get("file") or "").endswith(program.path.name):
        return False
    names = set(program.functions) - {"main"}
    if str(place.get("function") or "").rpartition(".")[2] in names:
        return True
    return any((place.get("line") or 0) in span for span in program.spans())


def _within(error: float) -> str:
    fits = [f"within {share:.0%}" for share in WITHIN if error <= share]
    return fits[0] if fits else f"off by {error:.0%}"


def _loud(program: Program, found: Json) -> str:
    low, high = found.get("gain_interval_s") or (None, None)
    mark = "**" if program.code and points_at(program, found) else ""
    spread = f" ({low:.1f} to {high:.1f})" if low is not None and high is not None else ""
    return f"{mark}{found['id']}{mark} {_seconds(found['gain_s'])}{spread}: {found['title']}"


def _seconds(gain: float | None) -> str:
    return "no gain" if gain is None else f"{gain:.1f} s"


def summary(judged: list[Judged]) -> str:
    """How many were found, on the right ranks, with the right gain."""
    faults = [of for of in judged if of.named in {"verdict", "finding", "missed"}]
    healthy = [of for of in judged if of.named in {"quiet", "loud"}]
    counts = [
        f"{sum(of.named != 'missed' for of in faults)} of {len(faults)} faults named",
        f"{sum(of.named == 'verdict' for of in faults)} by the verdict",
        f"{sum(of.is_hit for of in faults)} on the right ranks",
    ]
    for share in WITHIN:
        fits = sum(of.error is not None and of.error <= share for of in faults)
        counts.append(f"{fits} with a gain within {share:.0%}")
    quiet = sum(of.named == "quiet" for of in healthy)
    return f"{', '.join(counts)}; {quiet} of {len(healthy)} healthy programs without a finding."


def table(rows: list[str]) -> str:
    """The rows below the names of the columns, in Markdown."""
    head = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
    return head + "\n".join(rows)
