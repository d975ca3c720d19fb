"""Whether the time of a run is attributed to functions and phases: rows of `quality`."""

from perfscope.document.headline import mostly, spent
from perfscope.document.measures import UNLABELED_TARGET
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account, Status
from perfscope.schema.findings import QualityRow
from perfscope.trace.model import Format
from perfscope.units import format_count, format_share, of_all

TO_NAME_PHASES = (
    "Without phases, the main loop cannot be told from set-up and evaluation: name them by "
    '`with perfscope.phase("train"):`, or say which functions belong to them '
    "(perfscope analyze --phase train='*train*')."
)


def phase_checks(results: Results) -> list[QualityRow]:
    """How much time has no name, and how phases are known."""
    return [_unlabeled_time(results), *_sampled_only(results)]


def _unlabeled_time(results: Results) -> QualityRow:
    share = results.ledger.unlabeled_share
    lifetimes = of_all("lifetime", len(results.trace.ranks), "lifetimes")
    detail = (
        f"{format_share(share)} of {lifetimes} is in no phase and no known function; "
        f"the target is at most {format_share(UNLABELED_TARGET)}."
    )
    if share <= UNLABELED_TARGET and mostly(results) is Account.COMPUTATION:
        title = "Most time is unlabeled"
        share = spent(results, Account.COMPUTATION)[1]
        detail = f"{format_share(share)} of {lifetimes} is computation that no phase names."
        # no figure is wrong for that, and what is found holds
        return QualityRow("unlabeled_time", Status.INFO, title, f"{detail} {TO_NAME_PHASES}")
    if share <= UNLABELED_TARGET:
        return QualityRow("unlabeled_time", Status.PASS, "Nearly all time is attributed", detail)
    advice = (
        " Stack samples (--stack-hz 50, the default) name functions; "
        '`with perfscope.phase("..."):` names phases.'
    )
    if results.trace.format is not Format.PERFSCOPE:
        advice = " The trace does not contain it; perfscope run records what the ranks do."
    return QualityRow("unlabeled_time", Status.WARN, "Much time is not attributed", detail + advice)


def _sampled_only(results: Results) -> list[QualityRow]:
    """That nothing marked a phase: seconds of phases, and gains by them, are then estimates."""
    phases, trace = results.phases, results.trace
    if not phases or any(phase.source != "sampled" for phase in phases):
        return []
    count = sum(len(rank.main_stacks) for rank in trace.ranks)
    detail = (
        f"Phases are derived from functions, in {format_count(count)} stack samples: their ends "
        "are known to about 0.1 s, and shorter phases are seen only by chance. Markers are "
        "exact: "
        '`with perfscope.phase("..."):`, `perfscope.step()`.'
    )
    return [QualityRow("sampled_only", Status.INFO, "Phases are known from samples only", detail)]
