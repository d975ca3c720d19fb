"""How much was measured that an answer rests on."""

from perfscope.report.formats import count, percent
from perfscope.report.sections.findings import which_ranks
from perfscope.report.sections.sureness import first_of
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import Basis
from perfscope.schema.findings import FindingRow
from perfscope.units import counted, listed


def rests_on(result: Analysis, row: FindingRow | None) -> str:
    """How many steps and samples, and which replay, as a sentence; "" where none is known.

    The replay is told where it is what the saving of the finding comes from.
    """
    steps = result.steps.count
    told = [counted(steps, "step")] if steps > 1 else []
    if row is not None and row.seen is not None and row.where:
        whose = which_ranks(row, result.run.recorded_ranks)
        samples = f"{count(row.seen.of)} stack samples{f' of {whose}' if whose else ''}"
        told.append(f"{samples} ({count(row.seen.samples)} in line {row.where[0].line})")
    error = result.replay.relative_error
    saving = first_of(row) if row is not None else None
    if error is not None and (saving is None or saving.gain_basis is Basis.REPLAY):
        how = "exactly" if error == 0.0 else f"to within {percent(error)}"
        told.append(f"a replay that reproduces the recorded run {how}")
    return f"Rests on {listed(told)}." if told else ""
