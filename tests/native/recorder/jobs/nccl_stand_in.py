"""Calls the recorder as libnccl calls a profiler plugin, by its profiler_v4.h and profiler_v5.h.

It loads the library that NCCL_PROFILER_PLUGIN names. Channels are told by another thread, as NCCL's
own proxy thread does, with moments of the GPU's clock.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_uint8, c_uint64, c_void_p
from typing import Any

GROUP, COLLECTIVE, PROXY_OP, KERNEL_CHANNEL = 1, 2, 8, 64
KERNEL_CHANNEL_STOP, PROXY_STATE = 22, 19
VERSION = int(sys.argv[1])
IDENTITY = 0xABC


class Collective(ctypes.Structure):
    _fields_ = (
        ("seqNumber", c_uint64), ("func", c_char_p), ("sendBuff", c_void_p),
        ("recvBuff", c_void_p), ("count", ctypes.c_size_t), ("root", c_int),
        ("datatype", c_char_p), ("nChannels", c_uint8), ("nWarps", c_uint8), ("algo", c_char_p),
        ("proto", c_char_p), ("parentGroup", c_void_p),
    )  # fmt: skip


class Kernel(ctypes.Structure):
    _fields_ = (("channelId", c_uint8), ("pTimer", c_uint64))


class Of(ctypes.Union):
    _fields_ = (("coll", Collective), ("kernelCh", Kernel))


class Descriptor(ctypes.Structure):
    _anonymous_ = ("of",)
    _fields_ = (
        ("type", c_uint8 if VERSION == 4 else c_uint64),
        ("parentObj", c_void_p), ("rank", c_int), ("of", Of),
    )  # fmt: skip


Logger = c_void_p
INIT: dict[int, tuple[Any, ...]] = {
    4: (POINTER(c_void_p), POINTER(c_int), c_char_p, c_uint64, c_int, c_int, c_int, Logger),
    5: (POINTER(c_void_p), c_uint64, POINTER(c_int), c_char_p, c_int, c_int, c_int, Logger),
}


class Profiler(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("init", CFUNCTYPE(c_int, *INIT[VERSION])),
        ("startEvent", CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), POINTER(Descriptor))),
        ("stopEvent", CFUNCTYPE(c_int, c_void_p)),
        ("recordEventState", CFUNCTYPE(c_int, c_void_p, c_int, POINTER(c_uint64))),
        ("finalize", CFUNCTYPE(c_int, c_void_p)),
    )


library = ctypes.CDLL(os.environ["NCCL_PROFILER_PLUGIN"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
plugin = Profiler.in_dll(library, f"ncclProfiler_v{VERSION}")
context, events = c_void_p(), c_int(-1)


def begin() -> None:
    identity, mask = c_uint64(IDENTITY), byref(events)
    given = (mask, b"world", identity) if VERSION == 4 else (identity, mask, b"world")
    assert plugin.init(byref(context), *given, 1, 2, 0, None) == 0


def start(**fields: object) -> c_void_p:
    """A new event; what NCCL leaves out is 0."""
    handle, event = c_void_p(1), Descriptor()
    for name, value in fields.items():
        part = event.coll if hasattr(Collective, name) else event
        part = event.kernelCh if hasattr(Kernel, name) else part
        setattr(part, name, value)
    assert plugin.startEvent(context, byref(handle), byref(event)) == 0
    return handle


def stop(handle: c_void_p) -> None:
    """NCCL leaves events without a handle alone."""
    if handle.value:
        assert plugin.stopEvent(handle) == 0


def launch(number: int, function: bytes = b"AllReduce", channels: int = 2) -> c_void_p:
    handle = start(
        type=COLLECTIVE, seqNumber=number, func=function, count=1000, datatype=b"ncclFloat32",
        nChannels=channels, root=0,
    )  # fmt: skip
    stop(handle)
    return handle


def run_channel(parent: c_void_p, channel: int, begin_ns: int, end_ns: int) -> None:
    channel_handle = start(
        type=KERNEL_CHANNEL, parentObj=parent.value, channelId=channel, pTimer=begin_ns
    )
    if channel_handle.value:
        state = c_uint64(end_ns)
        assert plugin.recordEventState(channel_handle, KERNEL_CHANNEL_STOP, byref(state)) == 0
    stop(channel_handle)


def in_proxy_thread(action: Callable[..., None], *arguments: object) -> None:
    thread = threading.Thread(target=action, args=arguments)
    thread.start()
    thread.join()


def ordinary() -> None:
    """Two channels each, which begin together and end 2,000 and 3,500 ns later."""
    for number, function in enumerate([b"AllReduce", b"AllGather", b"ReduceScatter"]):
        stop(start(type=GROUP))
        parent = launch(number, function)
        for channel, end_ns in enumerate((5_002_000, 5_003_500)):
            in_proxy_thread(run_channel, parent, channel, 5_000_000, end_ns)


def awkward() -> None:
    """Events that are not asked for, without a parent, of what has ended, and twice."""
    for kind in (PROXY_OP, 1 << 13):
        stop(start(type=kind % 256))
    run_channel(c_void_p(), 0, 1, 2)
    parent = launch(0, channels=1)
    for _ in range(3):
        run_channel(parent, 0, 1_000, 2_000)
        stop(parent)
    for wild in (7, (1 << 63) | 5, 1 << 40, (1 << 64) - 1):
        stop(c_void_p(wild))
        plugin.recordEventState(c_void_p(wild), PROXY_STATE, None)
        plugin.recordEventState(c_void_p(wild), KERNEL_CHANNEL_STOP, None)


def endless() -> None:
    """More than are kept, none of which ever ends on the device."""
    parents = [launch(number) for number in range(5_000)]
    run_channel(parents[0], 0, 1, 2)


def renewed() -> None:
    """Communicators that are made and destroyed one after the other."""
    for number in range(600):
        launch(number)
        assert plugin.finalize(context) == 0
        begin()


recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
if sys.argv[2] != "unrecorded":
    assert recorder.ps_open() == 0
    recorder.ps_set_rank(0, 2)
begin()
sys.stdout.write(f"{events.value} {bool(context.value)}\n")
actions = {"ordinary": ordinary, "awkward": awkward, "endless": endless, "unrecorded": ordinary}
actions["renewed"] = renewed
actions[sys.argv[2]]()
if context.value:
    assert plugin.finalize(context) == 0
