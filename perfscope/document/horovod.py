"""Horovod in the document: its thread on each rank, and the communication that it exposed."""

import numpy as np

from perfscope.arrays import Floats
from perfscope.metrics.communication import horovod as measured
from perfscope.metrics.results import Results
from perfscope.schema.horovod import Horovod, HorovodExposed


def horovod(results: Results) -> Horovod | None:
    """Horovod's locations and exposed communication; None where the job did not use it."""
    found = results.horovod
    if found is None:
        return None
    return Horovod(locations=found.locations, exposed=_exposed(found.exposed))


def _exposed(exposed: measured.Exposed) -> HorovodExposed:
    return HorovodExposed(
        reason=exposed.reason,
        wait_s_by_rank=tuple(exposed.wait_s),
        transfer_s_by_rank=tuple(exposed.transfer_s),
        step_wait_s_median_by_rank=_medians(exposed.step_wait_s),
        step_transfer_s_median_by_rank=_medians(exposed.step_transfer_s),
        steps=tuple(exposed.steps),
        step_wait_s=_rows(exposed.step_wait_s),
        step_transfer_s=_rows(exposed.step_transfer_s),
    )


def _rows(table: Floats | None) -> tuple[tuple[float | None, ...], ...]:
    return () if table is None else tuple(tuple(row) for row in table.tolist())


def _medians(table: Floats | None) -> tuple[float | None, ...]:
    """The median over the steps that a rank has, by rank."""
    if table is None:
        return ()
    columns = (column[~np.isnan(column)] for column in table.T)
    return tuple(float(np.median(column)) if len(column) else None for column in columns)
