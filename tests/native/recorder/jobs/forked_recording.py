"""A forked child that records by itself, forked inside a phase of its parent."""

import ctypes
import os

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_phase_begin.restype = ctypes.c_uint64
recorder.ps_phase_end.argtypes = [ctypes.c_uint64]
assert recorder.ps_open() == 0
assert recorder.ps_open_forked() == 1, "this is no child"
own = recorder.ps_name(b"parent", 6)
outer = recorder.ps_phase_begin(12, own, 0, 0)
child = os.fork()
if child == 0:
    assert recorder.ps_open() == 1
    assert recorder.ps_open_forked() == 0
    recorder.ps_sampler_start()
    inner = recorder.ps_phase_begin(12, recorder.ps_name(b"child", 5), 0, 0)
    recorder.ps_phase_end(outer)
    left_open = recorder.ps_phase_begin(12, recorder.ps_name(b"open", 4), 0, 0)
    recorder.ps_phase_end(inner)
    os._exit(3)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 3, status
recorder.ps_phase_end(outer)
