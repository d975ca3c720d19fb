"""NCCL's debug lines (`NCCL_DEBUG=INFO`), and RCCL's, which are the same.

A line is `host:process:thread [device] NCCL INFO text`. With NCCL_DEBUG_SUBSYS=COLL each call is
one: `AllReduce: opCount 3 sendbuff ... count 1024 datatype 7 op 0 root 0 comm 0x... [nranks=8]`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from perfscope.readers.common.tool_reports import report, table
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import ToolReport
from perfscope.units import counted

SIGN = re.compile(rb"\bNCCL (?:INFO|WARN|version)\b")
_LINE = re.compile(r"([^\s:>]+):(\d+):(\d+) \[(-?\d+)\] (?:\S+ )?NCCL (INFO|WARN) (.*)")
_TORN = re.compile(r":\d+:\d+ \[-?\d+\] .*?NCCL (?:INFO|WARN) ")
_WARN = re.compile(r"NCCL WARN (.*)")
_VERSION = re.compile(r"NCCL version (\S+)")
_INIT = re.compile(r"comm (0x[0-9a-f]+) rank (\d{1,7}) nranks (\d{1,7}).*Init (START|COMPLETE)")
_ID = re.compile(r"commId (0x[0-9a-f]+)")
_SPLIT = re.compile(r"(splitCount \d+ color -?\d+)")
_CHANNEL = re.compile(r"(?:Channel|Ring) \S+ : \S+ -> \S+ .*?via (.+?)(?: comm 0x.*)?\s*$")
_DEVICE = re.compile(r"/\d+(?:\(\d+\))?(?=/|$)")
_CALL = re.compile(r"(\w+): opCount \w+ .*?count (\d{1,18}) datatype (\d{1,2}) ")
_OPENED = re.compile(r"NCCL version|Bootstrap ?:|Using network")
_NETWORK = re.compile(r"Using network (\S.*?)\s*$")
BYTES = {0: 1, 1: 1, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 1, 11: 1}
"""Of an element, by ncclDataType_t (nccl.h)."""
DIGITS = re.compile(r"0x[0-9a-f]+|\d+")


class Nccl:
    """Communicators, the ways between ranks, warnings, and calls where they are told."""

    def __init__(self) -> None:
        self._version = ""
        self._networks: Counter[str] = Counter()
        self._begun: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._complete: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._ways: Counter[str] = Counter()
        self._warnings: Counter[str] = Counter()
        self._first: dict[str, str] = {}
        self._calls: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._last: dict[str, str] = {}  # line of each process that opened the library
        self._joined = set[str]()
        self._torn = 0  # lines into which another process wrote

    def take(self, line: str) -> bool:
        """Whether the line is NCCL's."""
        found = _LINE.search(line)
        self._see(found)
        if version := _VERSION.search(line):
            self._version = version[1]
            return True
        if found is None:
            if warning := _WARN.search(line):
                self._warn(warning[1], "")
            return warning is not None
        text = found[6]
        self._torn += _TORN.search(text) is not None
        if found[5] == "WARN":
            self._warn(text, found[1])
        elif made := _INIT.search(text):
            self._made(made, text)
        elif call := _CALL.search(text):
            sums = self._calls[call[1]]
            sums[0] += 1
            sums[1] += int(call[2]) * BYTES.get(int(call[3]), 0)
        elif way := _CHANNEL.search(text):
            self._ways[_DEVICE.sub("", way[1])] += 1
        elif network := _NETWORK.search(text):
            self._networks[network[1]] += 1
        return True

    def _see(self, found: re.Match[str] | None) -> None:
        """Which processes opened the library, what each said last, who told of communicators."""
        if found is None:
            return
        process = f"{found[1]}:{found[2]}"
        if process in self._last or _OPENED.search(found[6]):
            self._last[process] = found[6]
        if _INIT.search(found[6]):
            self._joined.add(process)

    def _warn(self, text: str, host: str) -> None:
        kind = DIGITS.sub("#", text)[:200]
        self._warnings[kind] += 1
        self._first.setdefault(kind, f"{text[:250]}{f' ({host})' if host else ''}")

    def _made(self, made: re.Match[str], text: str) -> None:
        """A rank that begins to make a communicator, or has made it; splits have no id."""
        told = _ID.search(text) or _SPLIT.search(text)
        key = (told[1] if told else "", int(made[3]))
        (self._complete if made[4] == "COMPLETE" else self._begun)[key].add(int(made[2]))

    def ranks(self) -> int:
        """Of the largest communicator, 0 where none is told."""
        return max((size for _, size in (*self._begun, *self._complete)), default=0)

    def _waiting(self) -> list[tuple[str, str]]:
        """Processes that opened the library and began no communicator, with their last lines.

        None are known where nobody tells of communicators, as in a log of calls alone, or where
        lines are torn.
        """
        if self._torn or ((self._calls or self._ways) and not self._joined):
            return []
        return [one for one in self._last.items() if one[0] not in self._joined]

    def _of_waiting(self, waiting: list[tuple[str, str]]) -> str:
        process, last = waiting[0]
        return (
            f"{len(waiting):,} of {counted(len(self._last), 'process', 'processes')} opened NCCL "
            "and told of no communicator: before NCCL 2.23 a rank names one when all of its ranks "
            "have met, so they may wait for one that never came. The last line of "
            f"{process}: {last.strip().rstrip('.')}."
        )

    def report(self, path: Path) -> ToolReport | None:
        """Communicators, transports, warnings and calls."""
        tells = self._complete or self._begun or self._ways or self._warnings or self._calls
        waiting = self._waiting()
        if not (tells or waiting):
            return None
        keys = sorted(set(self._complete) | set(self._begun), key=lambda key: (-key[1], key[0]))
        made = [(name or None, n, len(self._complete[name, n])) for name, n in keys]
        ways = [(way, count) for way, count in self._ways.most_common()]
        warned = [(self._first[kind], count) for kind, count in self._warnings.most_common()]
        calls = sorted(self._calls.items(), key=lambda one: -one[1][1])
        name, ranks, how = Quantity.CODE, Quantity.COUNT, Quantity.COUNT
        tables = [
            table("Warnings", {"First of its kind": Quantity.TEXT, "Times": how}, warned),
            table(
                "Communicators", {"Communicator": name, "Ranks": ranks, "That made it": ranks}, made
            ),
            table("Ways between ranks", {"Transport": name, "Channels": how}, ways),
            table(
                "Calls, of the ranks that are in the log",
                {"Operation": name, "Calls": how, "Bytes": Quantity.BYTES},
                [(operation, count, size) for operation, (count, size) in calls],
            ),
            table(
                "Processes that told of no communicator",
                {"Process": name, "Its last line": Quantity.TEXT},
                [(process, last[:250]) for process, last in waiting],
            ),
        ]
        return report(f"NCCL {self._version}".strip(), path, self._sentences(waiting), tables)

    def _sentences(self, waiting: list[tuple[str, str]]) -> Iterator[str]:
        if self._torn:
            yield (
                f"{counted(self._torn, 'line')} of several processes are torn into each other, so "
                "that ranks which never made a communicator cannot be told: one file for each "
                "process (NCCL_DEBUG_FILE=nccl.%h.%p) keeps them whole."
            )
        for (name, size), begun in sorted(self._begun.items() if not self._torn else ()):
            done = self._complete[name, size]
            if missing := sorted(begun - done):
                never = counted(len(missing), "rank")
                called = f"Communicator {name}" if name else "A communicator"
                yield (
                    f"{called} of {counted(size, 'rank')} was never made by {never} "
                    f"that began to, first of them {missing[0]}."
                )
        if self._warnings:
            kind, count = self._warnings.most_common(1)[0]
            many = counted(sum(self._warnings.values()), "warning")
            often = f", {count:,} times" if count > 1 else ""
            yield f"{many}, first among them{often}: {self._first[kind].rstrip('.')}."
        elif waiting:
            yield self._of_waiting(waiting)
        if self._networks:
            yield f"The network is {self._networks.most_common(1)[0][0]}."
        sockets = sum(n for way, n in self._ways.items() if way.startswith("NET/Socket"))
        if sockets:
            yield (
                f"Sockets (TCP) carry {counted(sockets, 'channel')} between ranks: if there is a "
                "faster network, NCCL did not find it."
            )
        fabric = sum(n for way, n in self._ways.items() if way.startswith("NET/IB"))
        direct = sum(n for way, n in self._ways.items() if "GDR" in way)
        if fabric and not direct:
            yield "No channel over InfiniBand reads GPU memory directly (GDRDMA)."
