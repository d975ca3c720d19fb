"""How much was measured that an answer rests on."""

from perfscope.report.formats import count, percent
from perfscope.report.sections.sureness import first_of
from perfscope.report.sections.where import which_ranks
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import TOLD_STEPS
from perfscope.schema.enums import Basis
from perfscope.schema.findings import FindingRow
from perfscope.units import counted, listed


def rests_on(result: Analysis, row: FindingRow | None) -> str:
    """How many steps and samples a verdict rests on, and what was checked of the replay.

    In sentences, of what is known. The replay is told where it is what the saving of the finding
    comes from.
    """
    steps = result.steps.count
    is_told = result.run.throughput.step_source in TOLD_STEPS
    inferred = "" if is_told else " (inferred from what repeats)"
    told = [f"{counted(steps, 'step')}{inferred}"] if steps > 1 else []
    if row is not None and row.seen is not None and row.where:
        whose = which_ranks(row, result.run.recorded_ranks)
        samples = f"{counted(row.seen.of, 'stack sample')}{f' of {whose}' if whose else ''}"
        told.append(f"{samples} ({count(row.seen.samples)} in line {row.where[0].line})")
    saving = first_of(row) if row is not None else None
    said = [f"Based on {listed(told)}."] if told else []
    error = result.replay.relative_error
    if error is not None and (saving is None or saving.gain_basis is Basis.REPLAY):
        off = "" if error == 0.0 else f" to within {percent(error)}"
        said.append(f"Check: simulated unchanged, the run has its measured length{off}.")
    return " ".join(said)
