"""XPlane profiles as tests need them: protocol buffers written field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

EPOCH_NS = 1_795_188_460_000_000_000
MS_PS = 10**9


def varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def whole(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def part(number: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


@dataclass
class PlaneWriter:
    """A plane; its events are named by lines of (name, begin in ms, length in ms, statistics)."""

    name: str
    lines: list[bytes] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    stats: dict[str, int] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    """Under which shorter name an event is shown."""

    def _stats(self, number: int, told: Mapping[str, int]) -> bytes:
        out = b""
        for name, value in told.items():
            place = self.stats.setdefault(name, len(self.stats) + 1)
            out += part(number, whole(1, place) + whole(4, value))
        return out

    def line(
        self,
        name: str,
        rows: Sequence[tuple[str, float, float, Mapping[str, int]]],
        timestamp_ns: int = 0,
    ) -> PlaneWriter:
        """Adds a line."""
        out = part(2, name) + whole(3, timestamp_ns)
        for event, begin_ms, length_ms, told in rows:
            place = self.events.setdefault(event, len(self.events) + 1)
            times = whole(2, round(begin_ms * MS_PS)) + whole(3, round(length_ms * MS_PS))
            out += part(4, whole(1, place) + times + self._stats(4, told))
        self.lines.append(out)
        return self

    def content(self) -> bytes:
        """The plane as a message."""
        told = self._stats(6, self.told)
        out = part(2, self.name) + b"".join(part(3, line) for line in self.lines)
        for number, names in ((4, self.events), (5, self.stats)):
            for name, place in names.items():
                named = whole(1, place) + part(2, name)
                named += part(4, self.shown[name]) if name in self.shown else b""
                out += part(number, whole(1, place) + part(2, named))
        return out + told


@dataclass
class ProgramsWriter(PlaneWriter):
    """The programs of XLA that ran, each by the devices that it is compiled for.

    A program that tells no devices has None, one of damaged bytes has these.
    """

    programs: Sequence[tuple[int, int] | bytes | None] = ()  # replicas and partitions

    def content(self) -> bytes:
        """The plane as a message."""
        out = part(2, self.name)
        for number, told in enumerate(self.programs, start=1):
            hlo = (
                told if isinstance(told, bytes) else part(1, part(1, "jit_step") + _assigned(told))
            )
            statistic = part(5, whole(1, 1) + part(6, hlo))
            named = whole(1, number) + part(2, f"jit_step({number})") + statistic
            out += part(4, whole(1, number) + part(2, named))
        return out + part(5, whole(1, 1) + part(2, whole(1, 1) + part(2, "Hlo Proto")))


def _assigned(told: tuple[int, int] | None) -> bytes:
    """The device assignment of a program, as HloModuleProto has it."""
    return b"" if told is None else part(15, whole(1, told[0]) + whole(2, told[1]))


def programs(*told: tuple[int, int] | bytes | None) -> PlaneWriter:
    """The plane of the programs that ran."""
    return ProgramsWriter("/host:metadata", programs=told)


def space(*planes: PlaneWriter, host: str = "node0", started_ns: int = EPOCH_NS) -> bytes:
    """A profile of some planes, whose session began then."""
    environment = PlaneWriter("Task Environment", told={"profile_start_time": started_ns})
    every = (*planes, environment)
    return b"".join(part(1, plane.content()) for plane in every) + part(4, host)


def steps(count: int = 3) -> PlaneWriter:
    """A host of steps of 10 ms, in each of which the input takes 3 ms and a launch 1 ms."""
    rows: list[tuple[str, float, float, Mapping[str, int]]] = []
    for step in range(count):
        rows += [
            ("train", 10.0 * step, 9.0, {"step_num": step, "_r": 1}),
            ("IteratorGetNextOp::DoCompute", 10.0 * step, 3.0, {}),
            ("EagerExecute", 10.0 * step + 3, 2.0, {}),
            ("ValidateInputTypeAndPlacement", 10.0 * step + 3.5, 0.5, {}),
            ("cuLaunchKernel", 10.0 * step + 5, 1.0, {"correlation_id": step + 1}),
        ]
    return PlaneWriter("/host:CPU").line("python", rows)


def gpu(count: int = 3) -> PlaneWriter:
    """A GPU with one kernel of 2 ms in each of those steps, and a line of sums."""
    rows: list[tuple[str, float, float, Mapping[str, int]]] = [
        ("gemm", 10.0 * step + 6, 2.0, {"correlation_id": step + 1}) for step in range(count)
    ]
    copy: tuple[str, float, float, Mapping[str, int]] = ("MemcpyH2D", 8.5, 0.25, {})
    plane = PlaneWriter("/device:GPU:1")
    plane.line("Stream #14(Compute)", rows).line("Stream #15(MemcpyH2D)", [copy])
    return plane.line("Framework Ops", [("MatMul", 6.0, 23.0, {})])


def tpus(count: int, groups: str) -> list[PlaneWriter]:
    """TPUs of one host, which make the same collective; its name is that of the instruction."""
    name = f"%all-reduce.1 = f32[8] all-reduce(%p), channel_id=1, {groups}, to_apply=%add"
    rows: list[tuple[str, float, float, Mapping[str, int]]] = [
        ("fusion.3", 1.0, 2.0, {}),
        (name, 3.0, 1.0, {}),
    ]
    planes = [PlaneWriter(f"/device:TPU:{number}").line("XLA Ops", rows) for number in range(count)]
    for plane in planes:
        plane.shown[name] = "all-reduce.1"
    return planes
