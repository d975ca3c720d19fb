"""A C library's buffers that are never freed, beside a list that grows, for some seconds."""

from __future__ import annotations

import ctypes
import sys
import time

BYTES = 200_000
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.malloc.argtypes = [ctypes.c_size_t]
losses = []
begin = time.monotonic()
while time.monotonic() - begin < float(sys.argv[1]):
    ctypes.memset(library.malloc(BYTES), 1, BYTES)
    losses.append([time.monotonic()])
    time.sleep(0.02)
