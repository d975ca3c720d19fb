"""What the report calls things: every closed set of the document in words for people."""

from collections.abc import Mapping

from perfscope.judging import MAJOR
from perfscope.schema.efficiency import ACCEPTABLE_FROM, GOOD_FROM
from perfscope.schema.enums import Basis
from perfscope.structures import dataclass
from perfscope.units import inside


@dataclass(frozen=True)
class StatusWord:
    """How one status is shown: a sign, a word, and the class that colors both."""

    sign: str
    word: str
    style: str

    @property
    def meaning(self) -> str:
        """By what problems are called so; "" of all else."""
        return SIZES if self.word.lower().endswith("problem") and self != NO_PROBLEM else ""


STATUSES = {
    "fail": StatusWord("✕", "Problem", "fail"),
    "warn": StatusWord("!", "Warning", "warn"),
    "info": StatusWord("i", "Note", "info"),
    "not_measured": StatusWord("–", "Not measured", "none"),
    "not_applicable": StatusWord("–", "Does not apply", "none"),
    "pass": StatusWord("✓", "Passed", "pass"),
    "error": StatusWord("?", "Check failed to run", "warn"),
}
ALL_WELL = StatusWord("✓", "All well", "pass")
NO_PROBLEM = StatusWord("✓", "No problem", "info")
BUSY_HOST = StatusWord("!", "Busy host", "warn")
UNKNOWN_STATUS = StatusWord("–", "Unknown", "none")

MINOR_BELOW = 0.03
"""Share of the whole run, as `MAJOR` is: a problem weighs what curing it saves."""

SIZES = (
    f"Major problem: a fix would save {100 * MAJOR:.0f} % of the run or more. Minor: less than "
    f"{100 * MINOR_BELOW:.0f} %. Possible: its cause or its saving is not certain."
)
"""What the words for the size of a problem mean."""

GAIN_BASES = {
    Basis.REPLAY: "predicted by replaying the recorded run with the fix applied",
    Basis.UPPER_BOUND: "an upper bound of what this change alone saves",
}

OWN_PHASE = "user:"  # before the name that a program gave a phase

FORMULAS = {
    "pop": "POP",
    "hybrid": "POP for processes and threads",
    "bsc": "BSC",
    "talp": "TALP",
    "perfscope": "perfscope",
}
FOCI = {
    "communication_lifetime": "from the start of communication on every rank to its end",
    "process_lifetime": "over the lives of the processes",
    "common_window": "while every rank was recorded",
    "whole_trace": "over the whole trace",
    "steps": "over the training steps",
    "own_work": "over the training steps and the work before them",
}
USEFUL = {
    "outside_communication": "time outside communication counts as work",
    "running_on_all_threads": "computing counts as work, on all threads of all ranks",
    "training_work": "time in training steps counts as work",
}
_FIRST = "when the first began does not show: it is counted and has no time"
STEP_SOURCES = {
    "marker": "steps marked in the program with perfscope.step",
    "framework": "steps reported by the training framework",
    "collectives": "one period of the repeating pattern of collective operations, because neither "
    f"a framework nor a marker named the steps; {_FIRST}",
    "communication": "one period of the repeating pattern of each rank's own calls, because ranks "
    f"communicate in parts, and neither a framework nor a marker named the steps; {_FIRST}",
    "samples": "one turn of the loop that stack samples show, because nothing else told the steps; "
    f"{_FIRST}",
}
PHASE_SOURCES = {"marker": "marker", "framework": "framework", "sampled": "stack sampler"}


def formula_words(formula: str) -> str:
    """Whose definition of the efficiencies a number follows."""
    return FORMULAS.get(formula, formula.replace("_", " "))


def focus_words(kind: str) -> str:
    """Over which part of the run a number is taken."""
    return FOCI.get(kind, f"over {kind.replace('_', ' ')}" if kind else "")


def useful_words(useful: str) -> str:
    """What counts as work in an efficiency."""
    return USEFUL.get(useful, useful.replace("_", " "))


def status_word(status: object) -> StatusWord:
    """How a status is shown; one that is not in the closed set is shown as unknown."""
    return STATUSES.get(str(status), UNKNOWN_STATUS)


def weighed(status: object, share: float | None, *, is_doubted: bool = True) -> StatusWord:
    """How a finding is shown: what costs a fiftieth of the run is not as loud as a half.

    A warning that is not doubted is a small problem, and no possible one.
    """
    word = status_word(status)
    if word.style not in {"fail", "warn"} or share is None:
        return word
    size = "major" if share >= MAJOR else "minor" if share < MINOR_BELOW else ""
    if word.style == "fail":
        return StatusWord(word.sign, f"{size} problem".strip().capitalize(), f"fail {size}".strip())
    possible = "Possible" if is_doubted else ""
    told = " ".join(f"{possible} {size} problem".split())
    return StatusWord(word.sign, told.capitalize(), word.style)


def size_of(word: StatusWord, share: float | None, whole: str) -> str:
    """What problems of one size save of a whole, as they are called by it; "" of no problem."""
    if word.style.split()[0] not in {"fail", "warn"} or share is None:
        return ""
    if share >= MAJOR:
        return f"a fix saves {_percent(MAJOR)} or more of {whole}"
    if share < MINOR_BELOW:
        return f"a fix saves less than {_percent(MINOR_BELOW)} of {whole}"
    return f"a fix saves {_percent(MINOR_BELOW)} to {_percent(MAJOR)} of {whole}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def band(value: float | None) -> StatusWord:
    """In which of the POP Center's bands an efficiency lies."""
    if value is None:
        return StatusWord("–", "not measured", "none")
    if value >= GOOD_FROM:
        return StatusWord("✓", "good", "pass")
    if value >= ACCEPTABLE_FROM:
        return StatusWord("!", "worth a look", "warn")
    return StatusWord("✕", "poor", "fail")


def phase_words(phase: object, labels: Mapping[str, str]) -> str:
    """What a rank was doing: its phase, "" for none, None (what is no text) communication."""
    if not isinstance(phase, str):
        return "communication"
    if phase.startswith(OWN_PHASE):
        return phase.removeprefix(OWN_PHASE)
    return inside(labels.get(phase, phase)) or "work in no phase"
