"""Writes 25 MB of records, then prints how many pages of the older half are still mapped."""

import ctypes
import os
import struct
import sys
import time
from pathlib import Path

EVENTS = 400_000
HEADER_BYTES, RECORD_BYTES = 65_536, 64
PAGE_PRESENT = 1 << 63
PAGEMAP_ENTRY_BYTES = 8

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_step.argtypes = [ctypes.c_uint32, ctypes.c_int32, *[ctypes.c_uint64] * 4]
recorder.ps_step.restype = None


def resident_pages(bytes_of_file: int) -> int:
    """Pages at the start of the record file that count as memory of this process."""
    [mapping] = [m for m in Path("/proc/self/maps").read_text().splitlines() if m.endswith(".rec")]
    first_page = int(mapping.partition("-")[0], 16) // os.sysconf("SC_PAGE_SIZE")
    pages = bytes_of_file // os.sysconf("SC_PAGE_SIZE")
    with Path("/proc/self/pagemap").open("rb") as pagemap:
        pagemap.seek(first_page * PAGEMAP_ENTRY_BYTES)
        entries = struct.unpack(f"={pages}Q", pagemap.read(pages * PAGEMAP_ENTRY_BYTES))
    return sum(bool(entry & PAGE_PRESENT) for entry in entries)


assert recorder.ps_open() == 0
recorder.ps_sampler_start()
for number in range(EVENTS):
    recorder.ps_step(number, 0, 1, 1, 1, 2)
older_half = HEADER_BYTES + EVENTS // 2 * RECORD_BYTES
deadline = time.monotonic() + 20
while resident_pages(older_half) > older_half // 100_000 and time.monotonic() < deadline:
    time.sleep(0.05)
sys.stdout.write(f"{resident_pages(older_half)} {older_half // os.sysconf('SC_PAGE_SIZE')}\n")
