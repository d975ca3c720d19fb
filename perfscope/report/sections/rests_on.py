"""How much was measured that an answer rests on."""

from perfscope.report.formats import count, percent
from perfscope.report.sections.sureness import first_of
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import TOLD_STEPS
from perfscope.schema.enums import Basis
from perfscope.schema.findings import FindingRow
from perfscope.units import counted


def seen_in(result: Analysis, row: FindingRow) -> str:
    """How many steps and samples a finding rests on, as a clause; "" where neither is known."""
    told = _steps(result)
    if row.seen is not None and row.where:
        samples = f"{count(row.seen.samples)} of {counted(row.seen.of, 'stack sample')}"
        told.append(f"{samples} in line {row.where[0].line}")
    return ", ".join(told)


def _steps(result: Analysis) -> list[str]:
    steps, is_told = result.steps.count, result.run.throughput.step_source in TOLD_STEPS
    how = "" if is_told else " inferred from repeating calls"
    return [f"{counted(steps, 'step')}{how}"] if steps > 1 else []


def rests_on(result: Analysis, row: FindingRow | None) -> str:
    """What an answer without a finding rests on, and what was checked of the replay.

    In sentences, of what is known. The replay is told where it is what the saving of the finding
    comes from.
    """
    steps = _steps(result) if row is None else []
    saving = first_of(row) if row is not None else None
    said = [f"Based on {steps[0]}."] if steps else []
    error = result.replay.relative_error
    if error is not None and (saving is None or saving.gain_basis is Basis.REPLAY):
        off = "" if error == 0.0 else f" to within {percent(error)}"
        said.append(f"Check: replayed unchanged, the run has its measured length{off}.")
    return " ".join(said)
