"""What a rank costs: `python -m benchmarks.engine.many_ranks`.

What a generator makes up lacks what real ranks bring along: stacks, samples, metadata. So a run of
many ranks is made of a recorded one of two: all but the first are like its second, and each has
files as the recorder wrote them, with its own number, process, partners and pace. Analyzes 2, 64
and 1,024 such ranks with the page, with `--large` 10,000 too, and prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.engine.tools import ROOT, Measured, measure, tell
from perfscope.readers.recording.definitions import entries
from perfscope.readers.recording.layout import (
    COMMUNICATOR_DTYPE,
    DEFINITIONS_MAGIC,
    HEADER_BYTES,
    HEADER_DTYPE,
    RECORD_DTYPE,
    DefinitionType,
    RecordKind,
)

SOURCE = ROOT / "sample_traces" / "rank_zero_evaluation"
SLOW = (7,)
RANKS: tuple[int, ...] = (2, 64, 1024)
LARGE: tuple[int, ...] = (10_000,)
RANKS_PER_HOST = 64
FIRST_PID = 1000


def write_many(source: Path, place: Path, ranks: int, *, slow: tuple[int, ...] = ()) -> list[Path]:
    """A run like the one of two ranks in `source`; gives its files of records.

    Args:
        source: the run directory of two ranks, on one host.
        place: the run directory, which is made.
        ranks: how many.
        slow: ranks that come to each collective later than all others do, by half of their work.
    """
    place.mkdir(parents=True)
    run = json.loads((source / "run.json").read_text(encoding="utf-8"))
    run["command"][run["command"].index("-n") + 1] = str(ranks)
    run |= {"ranks_requested": ranks}
    (place / "run.json").write_text(json.dumps(run), encoding="utf-8")
    models = [_Model(path) for path in sorted(source.glob("*/*.rec"))]
    models.sort(key=lambda model: int(model.header["rank"]))
    return [
        models[min(rank, 1)].write(place, rank, ranks, is_slow=rank in slow)
        for rank in range(ranks)
    ]


class _Model:
    """The files of one rank."""

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        self.header = np.frombuffer(content, HEADER_DTYPE, count=1)[0].copy()
        self._records = np.frombuffer(content, RECORD_DTYPE, offset=HEADER_BYTES)
        self._definitions = path.with_suffix(".def").read_bytes()
        self._metadata = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))

    def write(self, place: Path, rank: int, ranks: int, *, is_slow: bool) -> Path:
        """The same files for another rank."""
        host, pid = f"node{rank // RANKS_PER_HOST:04d}", FIRST_PID + rank
        ticks = int(self.header["start_ticks"])
        path = place / host / f"{pid}-{ticks}.rec"
        path.parent.mkdir(exist_ok=True)
        header, own_pid = self.header.copy(), int(self.header["pid"])
        for name, value in {"pid": pid, "host": host.encode(), "rank": rank, "size": ranks}.items():
            header[name] = value
        header["main_tid"] = pid
        header["threads"]["tid"][header["threads"]["tid"] == own_pid] = pid
        records = self._paced(rank, is_slow=is_slow)
        calls = records["kind"] == RecordKind.OPERATION
        later = (records["t0_ns"] - self._records["t0_ns"])[calls]
        np.subtract.at(header["totals"]["ns"], records["op"][calls], later)
        records["tid"][records["tid"] == own_pid] = pid
        path.write_bytes(header.tobytes().ljust(HEADER_BYTES, b"\0") + records.tobytes())
        path.with_suffix(".def").write_bytes(self._defined(rank, ranks))
        metadata = self._metadata | {"pid": pid, "host": host}
        text = json.dumps(metadata).replace('"PMI_RANK": "1"', f'"PMI_RANK": "{rank}"')
        path.with_suffix(".json").write_text(text, encoding="utf-8")
        return path

    def _paced(self, rank: int, *, is_slow: bool) -> npt.NDArray[np.void]:
        """The records; each rank comes to its collectives at a moment of its own."""
        records = self._records.copy()
        calls = np.flatnonzero(records["kind"] == RecordKind.OPERATION)
        calls = calls[records["t1_ns"][calls] > records["t0_ns"][calls]]
        length = (records["t1_ns"][calls] - records["t0_ns"][calls]).astype(np.float64)
        share = 0.9 if is_slow else 0.3 * np.random.default_rng(rank).random(len(calls))
        records["t0_ns"][calls] += (length * share).astype(np.uint64)
        return records

    def _defined(self, rank: int, ranks: int) -> bytes:
        """The definitions, with communicators of all ranks."""
        parts = [DEFINITIONS_MAGIC]
        for kind, number, payload in entries(self._definitions, "", []):
            content = payload
            if kind == DefinitionType.COMMUNICATOR:
                head = np.frombuffer(payload, COMMUNICATOR_DTYPE, count=1).copy()
                if int(head["size"][0]) > 1:
                    head["size"], head["my_rank"] = ranks, rank
                    members = np.arange(ranks, dtype="<u4")
                else:  # of itself alone: each rank has another one
                    head["identity"] += np.uint64(rank)
                    members = np.array([rank], "<u4")
                content = head.tobytes() + members.tobytes()
            parts += [struct.pack("<HHII", kind, 0, number, len(content)), content]
        return b"".join(parts)


def measure_ranks(ranks: int) -> tuple[Measured, list[int]]:
    """The analysis of so many ranks, with the page, and the bytes of the document and the page."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        files = write_many(SOURCE, place / "run", ranks, slow=SLOW if ranks > max(SLOW) else ())
        results = place / "results"
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "perfscope",
            "analyze",
            place / "run",
            "-o",
            results,
        ]
        found = measure(f"{ranks:,} ranks", command, ranks, files)
        written = [(results / name).stat().st_size for name in ("analysis.json", "report.html")]
    print(f"{found.tool}: {found.cpu_s:.2f} s of CPU", flush=True)
    return found, written


def shown(rows: Sequence[tuple[Measured, list[int]]]) -> str:
    """The numbers in Markdown; what a rank costs is told beside the first row."""
    lines = [
        "| ranks | MB | wall s | CPU s | CPU ms a rank | peak MB | analysis.json MB | page MB |",
        "|" + "---|" * 8,
    ]
    first = rows[0][0]
    for row, (document, page) in rows:
        more = row.events - first.events
        each = f"{(row.cpu_s - first.cpu_s) * 1e3 / more:.1f}" if more else ""
        lines.append(
            f"| {row.events:,} | {row.megabytes:.0f} | {row.wall_s:.2f} | {row.cpu_s:.2f} | {each} "
            f"| {row.peak_mb:.0f} | {document / 1e6:.1f} | {page / 1e6:.2f} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] = ()) -> int:
    """Measures, prints the table and writes the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="10,000 ranks too")
    parser.add_argument("--document", type=Path, metavar="FILE", help="puts the table there")
    options = parser.parse_args(list(arguments))
    rows = [measure_ranks(ranks) for ranks in RANKS + LARGE * options.large]
    tell("engine-ranks", shown(rows), [row for row, _ in rows], options.document)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
