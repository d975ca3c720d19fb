"""Matching and the split of calls as docs/metrics.md states them, call by call: an oracle."""

from __future__ import annotations

import bisect
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from perfscope.matching.codes import CODES, CallTrait
from perfscope.trace.model import PEER_PROC_NULL, RowFlag, Table, Trace

T = CallTrait
LAG_NS, EAGER_BYTES, SHARE = 100_000, 4096, 0.95
SENDS, TAKES = T.SEND | T.ISEND | T.SENDRECV, T.RECV | T.IRECV | T.SENDRECV


class PlainMatching:
    """Every call as an object; `need`, `cause` and the others have one element each."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        tables = [rank.operations for rank in trace.ranks]
        self.calls = [Call(number, rank, row) for rank, number, row in _numbered(tables)]
        self.place = {rank.number: place for place, rank in enumerate(trace.ranks)}
        self.need = [call.enter for call in self.calls]
        self.known = [False] * len(self.calls)
        self.cause = [-1] * len(self.calls)
        self.for_receiver = [False] * len(self.calls)
        self.send_of = [-1] * len(self.calls)
        self.collective_need: dict[int, tuple[int, int]] = {}
        self.waiting: list[int] = []
        self._collectives()
        self._messages()
        self._completed()
        self._split()

    def _collectives(self) -> None:
        groups: defaultdict[tuple[int, int], list[Call]] = defaultdict(list)
        for call in self.calls:
            if call.traits & T.COLLECTIVE and call.comm >= 0 and call.seq >= 0:
                groups[call.comm, call.seq].append(call)
        complete = [group for group in groups.values() if self._is_complete(group)]
        kinds: defaultdict[object, list[bool]] = defaultdict(list)
        for group in complete:
            if (told := self._leaves_together(group)) is not None:
                kinds[_kind(group)].append(told)
        for group in complete:
            told_of_kind = kinds[_kind(group)]
            wide = sum(told_of_kind) >= SHARE * len(told_of_kind)
            rooted = group[0].traits & (T.TO_ALL | T.TO_ROOT)
            blocks = not group[0].traits & T.NONBLOCKING
            everyone = bool(group[0].traits & T.N_TO_N or (rooted and blocks and wide))
            self._explain(group, everyone=everyone)
        in_complete = {call.row for group in complete for call in group}
        for group in groups.values():
            for call in group:
                waits = call.is_open and call.traits & T.N_TO_N and not call.traits & T.NONBLOCKING
                if call.row not in in_complete and waits:
                    self.waiting.append(call.row)

    def _is_complete(self, group: list[Call]) -> bool:
        ranks = [call.rank for call in group]
        return (
            len(group) == self.trace.communicators[group[0].comm].size
            and len(set(ranks)) == len(ranks)
            and len({int(CODES[1][call.op]) for call in group}) == 1
        )

    def _latest(self, group: list[Call]) -> Call:
        silent = group[0].traits & T.N_TO_N and any(call.sent > 0 for call in group)
        return max((c for c in group if not (silent and c.sent == 0)), key=lambda c: c.enter)

    def _own(self, call: Call, group: list[Call]) -> int:
        roots = [other.enter for other in group if self._is_root(other)]
        if group[0].traits & T.TO_ALL:
            return max([call.enter, *roots])
        if group[0].traits & T.TO_ROOT and self._is_root(call):
            return self._latest(group).enter
        return call.enter

    def _is_root(self, call: Call) -> bool:
        return self.place.get(call.peer) == call.rank

    def _leaves_together(self, group: list[Call]) -> bool | None:
        """Whether nobody left a rooted collective before the last had come; None: nobody could."""
        latest = self._latest(group).enter
        free = [call for call in group if self._own(call, group) < latest - LAG_NS]
        return all(call.leave >= latest for call in free) if free else None

    def _explain(self, group: list[Call], *, everyone: bool) -> None:
        last = self._latest(group)
        roots = [call.row for call in group if self._is_root(call)]
        members = self.trace.communicators[group[0].comm].members
        numbers = [rank.number for rank in self.trace.ranks]
        turns = {number: turn for turn, number in enumerate(members)}
        for call in group:
            need = last.enter if everyone else self._own(call, group)
            cause = last.row if max(need, call.enter) == last.enter else call.row
            if group[0].traits & T.TO_ALL and not everyone and roots:
                cause = roots[0]
            if group[0].traits & T.SCAN:
                order = sorted(group, key=lambda one: turns.get(numbers[one.rank], 0))
                before = order[: order.index(call) + 1]
                need, _, cause = max((one.enter, i, one.row) for i, one in enumerate(before))
            need = max(need, call.enter)
            self.collective_need[call.row] = need, cause if need > call.enter else call.row

    def _messages(self) -> None:
        sends: defaultdict[tuple[int, ...], list[Call]] = defaultdict(list)
        takes: defaultdict[tuple[int, ...], list[tuple[int, bool, int]]] = defaultdict(list)
        probes: list[tuple[tuple[int, ...], Call]] = []
        for call in self.calls:
            peer, combined = self.place.get(call.peer, -1), bool(call.traits & T.SENDRECV)
            if call.traits & SENDS and peer >= 0 and call.tag >= 0 and call.comm >= 0:
                sends[call.rank, peer, call.tag, call.comm].append(call)
            source = self.place.get(call.seq, -1) if combined else peer
            tag = call.request - 1 if combined else call.tag
            channel = source, call.rank, tag, call.comm
            if source < 0 or tag < 0 or call.comm < 0:
                continue
            if call.traits & TAKES:
                takes[channel].append((call.enter, combined, call.row))
            elif call.traits & T.PROBE:
                probes.append((channel, call))
        for ends, group in sends.items():
            group.sort(key=lambda call: call.enter)
            for send, (_, _, row) in zip(group, sorted(takes[ends]), strict=False):
                self.send_of[row] = send.row
        for asked, probe in probes:
            taken = bisect.bisect_left([enter for enter, _, _ in sorted(takes[asked])], probe.enter)
            if taken < len(sends[asked]):
                self.send_of[probe.row] = sends[asked][taken].row

    def _completed(self) -> None:
        made: dict[tuple[int, int], int] = {}
        for call in self.calls:
            if call.request > 0 and call.traits & (T.ISEND | T.IRECV | T.NONBLOCKING):
                made.setdefault((call.rank, call.request), call.row)
        self.completed: list[tuple[int, int]] = []
        for rank, _, row in _numbered([rank.completions for rank in self.trace.ranks]):
            own = [c for c in self.calls if c.rank == rank and c.traits & (T.WAIT | T.TEST)]
            begun = [c for c in own if c.tid == row["tid"] and c.enter <= row["t0"]]
            inside = begun[-1].row if begun and row["t0"] <= begun[-1].leave else -1
            self.completed.append((made.get((rank, int(row["request"])), -1), inside))

    def _split(self) -> None:
        for call in self.calls:
            self._split_alone(call)
        posted: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for started, finished in self.completed:
            send = self.send_of[started] if started >= 0 else -1
            if min(started, finished) < 0:
                continue
            if self.calls[started].traits & T.NONBLOCKING and started in self.collective_need:
                posted[finished].append(self.collective_need[started])
            elif self.calls[started].traits & T.IRECV and send >= 0:
                posted[finished].append((self.calls[send].enter, send))
        for row, needs in posted.items():
            if self.calls[row].traits & T.TEST:
                self.need[row] = self.calls[row].enter
            self._raise(row, needs)
            self.known[row] = True
        self._rendezvous()
        for call in self.calls:
            self.need[call.row] = min(max(self.need[call.row], call.enter), call.leave)

    def _split_alone(self, call: Call) -> None:
        row, traits, nobody = call.row, call.traits, call.peer == PEER_PROC_NULL
        if row in self.collective_need and not traits & T.NONBLOCKING:
            need, cause = self.collective_need[row]
            self._set(row, need, cause if cause != row else -1)
        if row in self.waiting:
            self.need[row], self.known[row] = call.leave, True
        if traits & (T.RECV | T.PROBE | T.SENDRECV) and self.send_of[row] >= 0:
            send = self.calls[self.send_of[row]]
            self._set(row, send.enter, send.row if send.enter > call.enter else -1)
        small = call.sent <= EAGER_BYTES and not traits & T.SYNCHRONOUS
        self.known[row] |= bool(
            traits & (T.ISEND | T.IRECV | T.NONBLOCKING | T.TEST)
            or (traits & T.SEND and small)
            or (traits & (T.SEND | T.RECV | T.PROBE) and nobody)
            or (traits & T.SENDRECV and small and call.seq == PEER_PROC_NULL)
        )
        if traits & T.TEST:
            self.need[row] = call.leave
        if traits & T.FINALIZE:
            last = max((c for c in self.calls if c.traits & T.FINALIZE), key=lambda c: c.enter)
            self._set(row, last.enter, last.row if last is not call else -1)

    def _set(self, row: int, need: int, cause: int) -> None:
        self.need[row], self.cause[row], self.known[row] = need, cause, True

    def _raise(self, row: int, needs: list[tuple[int, int]]) -> bool:
        """The latest need counts, of equal ones the last, where it is later than what was."""
        need, _, cause = max((need, i, cause) for i, (need, cause) in enumerate(needs))
        if need <= self.need[row]:
            return False
        self.need[row], self.cause[row] = need, cause
        return True

    def _rendezvous(self) -> None:
        wait_of = {made: end for made, end in self.completed if min(made, end) >= 0}
        receive_of = {s: r for r, s in enumerate(self.send_of) if self.calls[r].traits & TAKES}
        main = [rank.main_tid for rank in self.trace.ranks]
        found: list[_Met] = []
        for send in self.calls:
            if send.row not in receive_of or not (
                send.traits & T.SYNCHRONOUS or send.sent > EAGER_BYTES
            ):
                continue
            end = wait_of.get(send.row, -1) if send.traits & T.ISEND else send.row
            receive = self.calls[receive_of[send.row]]
            inside = [receive] if receive.tid == main[receive.rank] else []
            if receive.traits & T.IRECV and inside:
                both = max(send.enter, receive.enter)
                own = self.calls[receive.row :]
                own = [c for c in own if c.rank == receive.rank and c.tid == main[c.rank]]
                inside = [c for c in own if c.leave >= both][:1]
            if end >= 0 and inside and self.calls[end].tid == main[self.calls[end].rank]:
                found.append(_Met(send, self.calls[end], inside[0]))
        self._wait_for_receivers(found, wait_of)

    def _wait_for_receivers(self, found: list[_Met], wait_of: dict[int, int]) -> None:
        told: defaultdict[int, int] = defaultdict(int)
        for met in found:
            told[met.end.row] += 1
            self.known[met.end.row] |= bool(met.end.traits & T.SEND)
        started: defaultdict[int, int] = defaultdict(int)
        for row, end in wait_of.items():
            call = self.calls[row]
            started[end] += 1
            small = call.sent <= EAGER_BYTES and not call.traits & T.SYNCHRONOUS
            is_for_nobody = call.traits & (T.ISEND | T.IRECV) and call.peer == PEER_PROC_NULL
            told[end] += bool(is_for_nobody or (call.traits & T.ISEND and small))
        for end, count in told.items():
            is_wait = self.calls[end].traits & T.WAIT
            self.known[end] |= bool(is_wait and count >= started[end])
        waits, limit = False, [False] * 65
        for size in range(65):
            free = [m for m in found if m.is_learned(size) and m.is_free]
            waits = sum(m.has_stayed for m in free) >= SHARE * len(free) if free else waits
            limit[size] = waits
        raised: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for met in found:
            is_waiting = met.send.traits & T.SYNCHRONOUS or limit[met.send.sent.bit_length()]
            if is_waiting and met.has_stayed:
                raised[met.end.row].append((met.inside.enter, met.inside.row))
        for row, needs in raised.items():
            self.for_receiver[row] = self._raise(row, needs)


class Call:
    """One call; `rank` is a position in `Trace.ranks`."""

    def __init__(self, row: int, rank: int, values: Any) -> None:
        self.row, self.rank = row, rank
        self.enter, self.leave = int(values["t0"]), int(values["t1"])
        self.op = int(values["op"])
        self.traits = T(int(CODES[0][self.op]))
        self.is_open = bool(values["flags"] & RowFlag.OPEN)
        self.tid, self.comm, self.seq = (int(values[name]) for name in ("tid", "comm", "seq"))
        self.peer, self.tag = int(values["peer"]), int(values["tag"])
        self.sent, self.received = int(values["sent"]), int(values["received"])
        self.request = int(values["request"])


@dataclass(frozen=True)
class _Met:
    send: Call
    end: Call
    inside: Call

    @property
    def is_free(self) -> bool:
        return self.inside.enter > self.end.enter + LAG_NS

    @property
    def has_stayed(self) -> bool:
        return self.end.leave >= self.inside.enter

    def is_learned(self, size: int) -> bool:
        return not self.send.traits & T.SYNCHRONOUS and self.send.sent.bit_length() == size


def _kind(group: list[Call]) -> tuple[int, int, int]:
    size = max(max(call.sent, call.received) for call in group)
    return group[0].op, group[0].comm, size.bit_length()


def _numbered(tables: list[Table]) -> list[tuple[int, int, Any]]:
    """Rank, number among all, and row, of the rows of all ranks."""
    rows = [(rank, row) for rank, table in enumerate(tables) for row in table]
    return [(rank, number, row) for number, (rank, row) in enumerate(rows)]
