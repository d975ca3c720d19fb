"""Packed rows of the engine are the rows of the trace model."""

import numpy as np
import pytest

from perfscope import _core
from perfscope.matching.codes import CallTrait
from perfscope.readers.kineto.made import MADE_DTYPE
from perfscope.readers.nccl_inspector.records import RECORD_DTYPE as INSPECTOR_DTYPE
from perfscope.readers.paraver import layout as paraver_layout
from perfscope.readers.recording.layout import RECORD_DTYPE
from perfscope.readers.rocprof.document import ROW_DTYPE as ROCPROF_DTYPE
from perfscope.readers.xplane.planes import EVENT_DTYPE
from perfscope.trace import devices, model, tensors

TABLES = {
    "devices": devices.DEVICE_DTYPE,
    "inspector": INSPECTOR_DTYPE,
    "made": MADE_DTYPE,
    "negotiations": tensors.NEGOTIATION_DTYPE,
    "operations": model.OPERATION_DTYPE,
    "paraver_calls": paraver_layout.CALL_DTYPE,
    "paraver_counters": paraver_layout.COUNTER_DTYPE,
    "paraver_messages": paraver_layout.MESSAGE_DTYPE,
    "paraver_states": paraver_layout.STATE_DTYPE,
    "phases": model.PHASE_DTYPE,
    "records": RECORD_DTYPE,
    "rocprof": ROCPROF_DTYPE,
    "steps": model.STEP_DTYPE,
    "tensor_activities": tensors.TENSOR_ACTIVITY_DTYPE,
    "ticks": tensors.TICK_DTYPE,
    "xplane_events": EVENT_DTYPE,
}


@pytest.mark.parametrize("table", sorted(TABLES))
def test_layout_is_that_of_the_model(table: str) -> None:
    dtype: np.dtype[np.void] = TABLES[table]
    assert dtype.fields is not None
    expected = {name: dtype.fields[name][1] for name in dtype.names or ()}
    assert _core.row_layouts()[table] == {**expected, "": dtype.itemsize}


def test_every_table_is_compared() -> None:
    assert set(_core.row_layouts()) == set(TABLES)


def test_traits_of_codes_are_those_that_the_engine_reads() -> None:
    assert _core.call_traits() == {name: int(bit) for name, bit in CallTrait.__members__.items()}
