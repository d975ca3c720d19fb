"""What a diagnosis declares."""

from collections.abc import Callable

from perfscope.findings.core.finding import Finding, Quiet
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.damage import Need

Outcome = Finding | Quiet
LAST = 1_000
EVERY_RANK = frozenset({Need.EVERY_RANK})
RANK_BY_RANK = frozenset({Need.ONE_RUN})


def always(_: Results) -> bool:
    """That a diagnosis is for every run."""
    return True


@dataclass(frozen=True)
class Diagnosis:
    """One diagnosis: its identity, and the pure function that judges the facts of a run.

    `title` is the sentence shown when it passes or fails generally; `description` says what is
    looked for and how. A run that it does not apply to (one without accelerators, if it is about
    them) does not list it. `needs` are what it must know of a run: each says why a run does not
    have it, and then the diagnosis is not made. `intact` is what must be whole of the recording:
    nothing for one that looks at each rank by itself. `passed` and `subject` are its titles where
    it passes and where it is not made; `title` stands for those that are not given. Of findings
    that weigh the same, the one of the lower `rank` comes first. `references` are what its
    findings refer to, unless it passes. `of_work` says that its gain is of work that the loss
    account takes for needed: it may be more than all that was lost, and no more than the run.
    `of_waiting` says that it is of ranks waiting for each other: no more than they waited.

    docs/findings.md is made of `description`, `evidence` (the facts that it shows), `gain_from`
    (what its gain is) and `counts_from` (from when on it fails or warns; else as most do).
    """

    id: str
    title: str
    description: str
    judge: Callable[[Facts], Outcome]
    applies: Callable[[Results], bool] = always
    needs: tuple[Callable[[Results], Quiet | None], ...] = ()
    intact: frozenset[Need] = EVERY_RANK
    passed: str = ""
    subject: str = ""
    evidence: str = ""
    gain_from: str = "no seconds"
    counts_from: str = ""
    rank: int = LAST
    of_work: bool = False
    of_waiting: bool = False
    references: tuple[str, ...] = ()
