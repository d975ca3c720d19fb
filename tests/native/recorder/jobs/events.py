"""Everything the Python agent writes; a phase stays open at the end."""

import ctypes
import os
import sys

U32, U64, I32 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_now.restype = U64
recorder.ps_phase_begin.restype = U64
recorder.ps_phase_end.argtypes = [U64]
recorder.ps_phase.argtypes = [U32, U32, U32, I32, U64, U64]
recorder.ps_step.argtypes = [U32, I32, U64, U64, U64, U64]
recorder.ps_metric.argtypes = [U32, U32, I32, ctypes.c_double]
recorder.ps_calls.argtypes = [U32, U32, U32, U32, ctypes.c_int64, U64, U64]
recorder.ps_python_blocks.argtypes = [U64]
recorder.ps_private_bytes.restype = U64

assert recorder.ps_name(b"early", 5) == 0
assert recorder.ps_phase_begin(1, 0, 0, 0) == 0
recorder.ps_phase_end(0)
assert recorder.ps_open() == 0
assert recorder.ps_open() == 0
recorder.ps_set_rank(3, 8)
recorder.ps_set_flag(128)


def name(text: str) -> int:
    """Interns a text."""
    return int(recorder.ps_name(text.encode(), len(text.encode())))


assert name("épreuve") == name("épreuve") != name("other")
numbers = [name(f"name {i}") for i in range(1000)]
assert len(set(numbers)) == 1000
assert [name(f"name {i}") for i in range(1000)] == numbers
frames = (U32 * 3)(*numbers[:3])
stack = recorder.ps_stack(frames, 3)
assert stack == recorder.ps_stack(frames, 3) != recorder.ps_stack(frames, 2)

outer = recorder.ps_phase_begin(1, name("fit"), 7, 2)
inner = recorder.ps_phase_begin(6, name("épreuve"), 8, -1)
recorder.ps_phase_end(inner)
recorder.ps_phase_end(outer)
now = recorder.ps_now()
recorder.ps_phase(5, name("input"), 9, 1, now - 1000, now)
recorder.ps_step(12, 3, 32, 64, now - 500, now - 100)
recorder.ps_metric(name("loss"), 12, 3, -0.125)
recorder.ps_stack_sample(4242, stack, ctypes.c_uint64(recorder.ps_now()))
before = recorder.ps_private_bytes()
held = bytearray(b"x" * (32 << 20))
grown = recorder.ps_private_bytes() - before
assert 31 << 20 <= grown <= 40 << 20, grown
recorder.ps_calls(name("predict"), 30, 20, 40, -512, before, 700)
recorder.ps_python_blocks(1 << 40)
recorder.ps_phase_begin(12, name("open"), 0xFFFFFFFF, -1)
sys.exit(9)
