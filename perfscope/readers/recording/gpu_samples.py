"""What a process of a recording sampled of GPUs, as tables and devices of the model."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Floats, Ints
from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording.layout import RecordKind, SampleKind
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.trace.devices import GPU_PROCESS_DTYPE, GPU_SAMPLE_DTYPE, REASONS_UNKNOWN, Gpu
from perfscope.trace.model import Rank, Table

MOST_GPUS = 4096
MOST_MHZ, MOST_MILLIWATTS, MOST_CELSIUS = 100_000, 100_000_000, 1000
"""Values above these are damage."""
_HIGH, _LOW = 32, (1 << 32) - 1


class GpuNumbering:
    """The GPUs of all processes; the same one has the same number."""

    def __init__(self) -> None:
        self.gpus: list[Gpu] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def number(self, host: str, values: Mapping[str, str]) -> int | None:
        """The number of a GPU, which is added where it is new; None where it has no name."""
        uuid = values.get("uuid", "")[:100]
        key = (host, uuid)
        if not uuid or (key not in self._numbers and len(self.gpus) >= MOST_GPUS):
            return None
        described = _gpu(host, uuid, values)
        if key not in self._numbers:
            self._numbers[key] = len(self.gpus)
            self.gpus.append(described)
        elif described.is_lost or not self.gpus[self._numbers[key]].name:
            self.gpus[self._numbers[key]] = described
        return self._numbers[key]


def _gpu(host: str, uuid: str, values: Mapping[str, str]) -> Gpu:
    index, mhz, milliwatts = (_integer(values, key) for key in ("index", "sm_mhz", "power_mw"))
    major, _, minor = values.get("capability", "").partition(".")
    has_capability = major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit()
    return Gpu(
        host=host,
        uuid=uuid,
        index=-1 if index is None or index > MOST_GPUS else index,
        name=values.get("name", "")[:200],
        board=values.get("board", "")[:100],
        driver=values.get("driver", "")[:100],
        capability=(int(major[:3]), int(minor[:3])) if has_capability else None,
        memory_bytes=_integer(values, "memory_bytes") or 0,
        sm_mhz=float(mhz) if mhz and mhz <= MOST_MHZ else None,
        power_w=milliwatts / 1e3 if milliwatts and milliwatts <= MOST_MILLIWATTS else None,
        is_lost="lost_ns" in values,
    )


def _integer(values: Mapping[str, str], key: str) -> int | None:
    text = values.get(key, "")
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        return None
    return int(text) if int(text) < MAX_AMOUNT else None


def adopt_gpus(rank: Rank, process: ProcessFile, gpus: GpuNumbering, offset_ns: int) -> None:
    """Adds what a process sampled to a rank that reads the same clock.

    The rank is of the process, or one on its node; new GPUs are added to the numbering.
    """
    known = process.definitions.devices
    if not known:
        return
    if process.pid == rank.pid:
        told = known.get(0, {})
        rank.gpu_reason = told.get("reason", "")[:300]
        rank.has_gpu_driver = "driver" in told
    numbers = {n: gpus.number(process.host, told) for n, told in known.items() if n}
    table = {n: place for n, place in numbers.items() if place is not None}
    if not table:
        return
    raw = _samples(process, table)
    samples = _readings(raw[raw["op"] == SampleKind.DEVICE], table)
    users = _users(raw[raw["op"] == SampleKind.DEVICE_PROCESS], table)
    for name, rows in (("gpu_samples", samples), ("gpu_processes", users)):
        rows["t"] += offset_ns
        joined = np.concatenate([getattr(rank, name), rows])
        setattr(rank, name, joined[np.argsort(joined["t"], kind="stable")])


def _samples(process: ProcessFile, table: Mapping[int, int]) -> Table:
    """Samples of known devices, at times that can be."""
    rows = process.records[process.records["kind"] == RecordKind.SAMPLE]
    chosen = np.isin(rows["op"], (SampleKind.DEVICE, SampleKind.DEVICE_PROCESS))
    chosen &= np.isin(rows["comm"], list(table))
    chosen &= (rows["t0_ns"] >= np.uint64(process.start_ns)) & (
        rows["t0_ns"] <= np.uint64(process.bound_ns)
    )
    chosen &= rows["sent"] < MAX_AMOUNT
    found: Table = rows[chosen]
    return found


def _readings(raw: Table, table: Mapping[int, int]) -> Table:
    rows = np.zeros(len(raw), GPU_SAMPLE_DTYPE)
    rows["t"], rows["gpu"] = raw["t0_ns"], _numbers(raw, table)
    rows["memory_bytes"] = raw["sent"]
    is_told = raw["received"] & np.uint64(REASONS_UNKNOWN) == 0
    rows["throttling"] = np.where(is_told, raw["received"] & np.uint64(0xFFFF), REASONS_UNKNOWN)
    percents = raw["peer"].astype(np.int64)
    rows["busy"] = _share(percents & 0xFF)
    rows["memory_busy"] = _share(percents >> 8 & 0xFF)
    rows["sm_mhz"] = _positive(raw["request"] & np.uint64(_LOW), MOST_MHZ)
    rows["memory_mhz"] = _positive(raw["request"] >> np.uint64(_HIGH), MOST_MHZ)
    power = raw["seq"].astype(np.float64)
    rows["power_w"] = np.where(power <= MOST_MILLIWATTS, power / 1e3, np.nan)
    celsius = raw["tag"].astype(np.float64)
    rows["celsius"] = np.where((celsius >= 0) & (celsius <= MOST_CELSIUS), celsius, np.nan)
    return rows


def _users(raw: Table, table: Mapping[int, int]) -> Table:
    rows = np.zeros(len(raw), GPU_PROCESS_DTYPE)
    rows["t"], rows["gpu"] = raw["t0_ns"], _numbers(raw, table)
    rows["pid"], rows["memory_bytes"] = raw["seq"], raw["sent"]
    return rows


def _numbers(raw: Table, table: Mapping[int, int]) -> Ints:
    return np.array([table[number] for number in raw["comm"].tolist()], np.int64)


def _share(percents: Ints) -> Floats:
    return np.where(percents <= 100, percents / 100.0, np.nan)


def _positive(values: npt.NDArray[np.uint64], most: int) -> Floats:
    numbers = values.astype(np.float64)
    return np.where((numbers > 0) & (numbers <= most), numbers, np.nan)
