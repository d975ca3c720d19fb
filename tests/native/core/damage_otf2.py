"""Damages OTF2 archives in every way and reads them with a sanitized engine.

usage: python -m tests.native.core.damage_otf2 PROBE CHANGES
"""

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from tests.readers.otf2_kinds import write_kinds
from tests.support.otf2_archives import TYPE_OF, ArchiveWriter, fields_of
from tests.support.otf2_swap import copy_archive, swap_archive

Change = tuple[Path, bytes]
TELLING = (0, 1, 2, 3, 5, 6, 12, 13, 31, 0x7F, 0x80, 0xFE, 0xFF)
"""Bytes that mean something where a record begins or a size stands."""


def every_event(directory: Path) -> Path:
    """A small archive with each kind of event, tables, and a corrected clock."""
    writer = ArchiveWriter(directory)
    writer.ranks(1)
    for name in ("MPI_Send", "MPI_Waitall", "work"):
        writer.region(name)
    for time_ns, name in enumerate(TYPE_OF):
        if name == "Metric":
            writer.event(0, name, time_ns, 0, [(4, 1), (8, 2), (10, 3)])
        elif name == "ProgramBegin":
            writer.event(0, name, time_ns, 0, [0, 1])
        else:
            values = [number % 3 for number in range(len(fields_of(name)))]
            writer.event(0, name, time_ns, *values, attributes=[(1, 11, 0), (2, 10, 5)])
    writer.mapping(0, 3, {0: 1, 1: 2}, dense=True)
    writer.mapping(0, 5, {7: 0}, dense=False)
    writer.clock(0, 1, 100)
    writer.clock(0, 50, -100)
    return writer.close()


def parts(anchor: Path) -> list[Path]:
    """All files of an archive."""
    return [anchor, anchor.with_suffix(".def"), *sorted(anchor.with_suffix("").iterdir())]


def cut(anchor: Path) -> Iterator[Change]:
    """Each file, cut off at every length."""
    for file in parts(anchor):
        content = file.read_bytes()
        for length in range(len(content)):
            yield file, content[:length]


def flipped(anchor: Path, seed: int) -> Iterator[Change]:
    """Random bits, bytes and runs of bytes changed in one file, without end."""
    chance = random.Random(seed)
    files = [(file, file.read_bytes()) for file in parts(anchor)]
    while True:
        file, content = chance.choice(files)
        damaged = bytearray(content)
        for _ in range(chance.choice((1, 1, 2, 5))):
            place = chance.randrange(len(damaged))
            kind = chance.randrange(4)
            if kind == 0:
                damaged[place] ^= 1 << chance.randrange(8)
            elif kind == 1:
                damaged[place] = chance.choice(TELLING)
            elif kind == 2:
                run = chance.randrange(1, 9)
                damaged[place : place + run] = chance.randbytes(run)
            else:
                del damaged[place]
        yield file, bytes(damaged)


class Probe:
    """The engine's probe, kept running."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            [program, "otf2", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def read(self, anchor: Path) -> str:
        """What it says of an archive."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{anchor}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the probe ended with {self._process.wait()}")
        return line


def attack(probe: Probe, anchor: Path, changes: Iterable[Change]) -> tuple[int, int]:
    """Reads the archive with each change; how many were made, how many of them were found."""
    made = found = 0
    for file, content in changes:
        intact = file.read_bytes()
        file.write_bytes(content)
        made += 1
        found += not probe.read(anchor).startswith("otf2:")
        file.write_bytes(intact)
    return made, found


def main() -> None:
    """Damages three archives."""
    program, changes = sys.argv[1], int(sys.argv[2])
    probe = Probe(program)
    with tempfile.TemporaryDirectory() as place:
        small = every_event(Path(place) / "small")
        kinds = write_kinds(Path(place) / "kinds")
        swapped = swap_archive(small, Path(place) / "swapped")
        for anchor in (small, kinds, swapped):
            intact = probe.read(anchor)
            assert intact.startswith("otf2:"), intact
            other = copy_archive(anchor, Path(place) / f"copy of {anchor.parent.name}")
            # the same bytes are missing where each number's are turned around
            cuts = attack(probe, other, () if anchor == swapped else cut(other))
            flips = attack(probe, other, islice(flipped(other, 1), changes))
            print(f"{anchor.parent.name}: cut {cuts}, changed {flips} (made, found)")  # noqa: T201


if __name__ == "__main__":
    main()
