"""The events of one thread: what it entered and left, and what MPI did inside."""

import ctypes
from collections.abc import Callable
from typing import Any

import _otf2

from perfscope.dataframes.columns import pieces
from perfscope.export._otf2_archive import NO_REFERENCE, Archive, Location, direct, raise_error
from perfscope.export._otf2_regions import collective_operation
from perfscope.export._otf2_rows import COMPLETION, Call, Described, RankTables
from perfscope.export._rows import Lanes, Rows
from perfscope.trace.model import PEER_PROC_NULL
from perfscope.trace.operations import BY_CODE, COLLECTIVE_CLASSES, MAX_OPERATIONS, OperationClass

UNKNOWN_CODE = -(1 << 63)
_U32, _U64 = ctypes.c_uint32, ctypes.c_uint64
_CLASSES = [BY_CODE[code].cls if code in BY_CODE else None for code in range(MAX_OPERATIONS)]
_BLOCKING_COLLECTIVES = COLLECTIVE_CLASSES - {OperationClass.I_COLLECTIVE}
_ROOTED = (OperationClass.ONE_TO_N, OperationClass.N_TO_ONE, OperationClass.I_COLLECTIVE)
_COLLECTIVE_NUMBER = [collective_operation(code).value for code in range(MAX_OPERATIONS)]


class Functions:
    """The functions of the library that write events."""

    def __init__(self) -> None:
        collective = (ctypes.c_uint8, _U32, _U32, _U64, _U64)
        self.enter = direct("Enter", _U32)
        self.leave = direct("Leave", _U32)
        self.begin = direct("MpiCollectiveBegin")
        self.end = direct("MpiCollectiveEnd", *collective)
        self.send = direct("MpiSend", _U32, _U32, _U32, _U64)
        self.isend = direct("MpiIsend", _U32, _U32, _U32, _U64, _U64)
        self.sent = direct("MpiIsendComplete", _U64)
        self.receive = direct("MpiRecv", _U32, _U32, _U32, _U64)
        self.post = direct("MpiIrecvRequest", _U64)
        self.received = direct("MpiIrecv", _U32, _U32, _U32, _U64, _U64)
        self.start = direct("NonBlockingCollectiveRequest", _U64)
        self.finish = direct("NonBlockingCollectiveComplete", *collective, _U64)
        self.program = direct("ProgramBegin", _U32, _U32, ctypes.c_void_p)
        self.program_end = direct("ProgramEnd", ctypes.c_int64)


class Life:
    """When a rank began and ended; on its main thread an archive holds it as that of a program.

    `texts` are the numbers of the command's words; `code` is the exit code, None unknown.
    """

    def __init__(
        self, functions: Functions, texts: list[int], start_ns: int, end_ns: int, code: int | None
    ) -> None:
        self._functions, self._texts = functions, texts
        self.start_ns, self.end_ns = start_ns, end_ns
        self._code = UNKNOWN_CODE if code is None else code

    def begin(self, location: Location, time: int) -> int:
        """Writes the begin of the program; returns the number of an error or 0."""
        name, *others = self._texts
        told = (_U32 * len(others))(*others)
        location.events += 1
        return self._functions.program(location.writer, None, time, name, len(others), told)

    def end(self, location: Location, time: int) -> int:
        """Writes its end."""
        location.events += 1
        return self._functions.program_end(location.writer, None, time, self._code)


class ThreadWriter:
    """Writes the events of one thread of a rank, in order, to its locations.

    `new_location` makes the location of a lane; `base_ns` is added to the trace's times.
    """

    def __init__(
        self,
        archive: Archive,
        functions: Functions,
        tables: RankTables,
        new_location: Callable[[int], Location],
        base_ns: int,
        life: Life | None = None,
    ) -> None:
        self._archive, self._write, self._tables = archive, functions, tables
        self._new_location, self._base_ns, self._life = new_location, base_ns, life
        self._locations: list[Location] = []
        self._open: list[list[tuple[int, int, Call | None]]] = []
        self._attributes = _otf2.AttributeList_New()
        self._failed = 0
        self.unheld = 0
        """Messages and collectives whose partner or communicator is not known."""

    def write(self, rows: Rows) -> None:
        """Writes the rows of the thread, which are in order."""
        lanes, firsts = Lanes(), rows.first_lanes()
        self._lane(0)  # also a thread without events is there
        self._begin_life(rows)
        for part in pieces(len(rows)):
            block = rows.at(part)
            columns = (block.t0.tolist(), block.t1.tolist(), firsts[part].tolist())
            told = self._tables.described(block)
            for start, end, first, (region, attributes, call) in zip(*columns, told, strict=True):
                if region == COMPLETION:
                    self._complete(start, call)
                    continue
                lane = lanes.lane(start, end, first=first)
                self._leave_until(lane, start)
                self._enter(lane, start, region, attributes, call)
                self._open[lane].append((end, region, call))
            if self._failed:
                raise_error(self._failed)
        for lane, location in enumerate(self._locations):
            self._leave_until(lane, None)
            if lane == 0:
                self._end_life(rows)
            self._archive.close_location(location)
        _otf2.AttributeList_Delete(self._attributes)
        if self._failed:
            raise_error(self._failed)

    def _begin_life(self, rows: Rows) -> None:
        if self._life is not None:
            time = min([self._life.start_ns, *rows.t0[:1].tolist()]) + self._base_ns
            self._archive.tell_time(time)
            self._failed |= self._life.begin(self._locations[0], time)

    def _end_life(self, rows: Rows) -> None:
        if self._life is not None:
            time = max(self._life.end_ns, int(rows.t1.max(initial=0))) + self._base_ns
            self._archive.tell_time(time)
            self._failed |= self._life.end(self._locations[0], time)

    def _lane(self, lane: int) -> Location:
        while lane >= len(self._locations):
            location = self._new_location(len(self._locations))
            self._archive.open_location(location)
            self._locations.append(location)
            self._open.append([])
        return self._locations[lane]

    def _enter(
        self, lane: int, at: int, region: int, attributes: Described, call: Call | None
    ) -> None:
        location = self._locations[lane]
        listed = None
        if attributes:
            listed = self._attributes
            for attribute, value in attributes:
                _otf2.AttributeList_AddInt64(listed, attribute, value)
        time = at + self._base_ns
        self._archive.tell_time(time)
        self._failed |= self._write.enter(location.writer, listed, time, region)
        location.events += 1
        if call is not None:
            self._begin(location, time, call)

    def _leave_until(self, lane: int, until: int | None, *, before: bool = False) -> None:
        """Leaves what ended by a moment, or before it; None: everything."""
        location, stack = self._lane(lane), self._open[lane]
        while stack and (until is None or stack[-1][0] < until + (not before)):
            end, region, call = stack.pop()
            time = end + self._base_ns
            if call is not None:
                self._end(location, time, call)
            self._archive.tell_time(time)
            self._failed |= self._write.leave(location.writer, None, time, region)
            location.events += 1

    def _begin(self, location: Location, time: int, call: Call) -> None:
        """What a call does when it begins."""
        cls, write = _CLASSES[call.op], self._write
        if cls in _BLOCKING_COLLECTIVES:
            if self._is_on_communicator(call):
                self._count(location, write.begin(location.writer, None, time))
        elif cls in {OperationClass.SEND, OperationClass.SENDRECV, OperationClass.ISEND}:
            target = self._partner(call, call.peer)
            if target is None:
                return
            message = (target, call.comm, call.tag & NO_REFERENCE, max(call.sent, 0))
            if cls is OperationClass.ISEND and call.request > 0:
                failed = write.isend(location.writer, None, time, *message, call.request)
            else:
                failed = write.send(location.writer, None, time, *message)
            self._count(location, failed)
        elif cls is OperationClass.IRECV and call.request > 0:
            self._count(location, write.post(location.writer, None, time, call.request))
        elif cls is OperationClass.I_COLLECTIVE and call.request > 0:
            self._count(location, write.start(location.writer, None, time, call.request))

    def _end(self, location: Location, time: int, call: Call) -> None:
        """What a call has done when it ends."""
        cls, write = _CLASSES[call.op], self._write
        if cls in _BLOCKING_COLLECTIVES:
            if not self._is_on_communicator(call):
                self.unheld += 1
                return
            failed = write.end(location.writer, None, time, *self._collective(call))
        elif cls in {OperationClass.RECV, OperationClass.SENDRECV}:
            combined = cls is OperationClass.SENDRECV
            source, tag = (call.seq, call.request - 1) if combined else (call.peer, call.tag)
            sender = self._partner(call, source)
            if sender is None:
                return
            message = (sender, call.comm, tag & NO_REFERENCE, max(call.received, 0))
            failed = write.receive(location.writer, None, time, *message)
        else:
            return
        self._count(location, failed)

    def _complete(self, at: int, call: Call | None) -> None:
        """A request that completed inside a wait or test."""
        self._leave_until(0, at, before=True)
        if call is None or call.request <= 0:
            return
        location, write, time = self._locations[0], self._write, at + self._base_ns
        cls = _CLASSES[call.op]
        self._archive.tell_time(time)
        if cls is OperationClass.I_COLLECTIVE:
            if not self._is_on_communicator(call):
                return
            facts = (*self._collective(call), call.request)
            self._count(location, write.finish(location.writer, None, time, *facts))
            return
        if cls not in {OperationClass.ISEND, OperationClass.IRECV}:
            return
        partner = self._partner(call, call.peer, count=cls is OperationClass.IRECV)
        if partner is None:
            return
        if cls is OperationClass.ISEND:
            failed = write.sent(location.writer, None, time, call.request)
        else:
            message = (partner, call.comm, call.tag & NO_REFERENCE, max(call.received, 0))
            failed = write.received(location.writer, None, time, *message, call.request)
        self._count(location, failed)

    def _collective(self, call: Call) -> tuple[Any, ...]:
        root: int | None = None
        if _CLASSES[call.op] in _ROOTED and call.peer >= 0:
            root = self._tables.rank_in(call.comm, call.peer)
        told = NO_REFERENCE if root is None else root
        sizes = max(call.sent, 0), max(call.received, 0)
        return (_COLLECTIVE_NUMBER[call.op], call.comm, told, *sizes)

    def _is_on_communicator(self, call: Call) -> bool:
        return 0 <= call.comm < self._tables.communicators

    def _partner(self, call: Call, rank: int, *, count: bool = True) -> int | None:
        """The rank in the communicator of a partner in the world; None where nobody is told."""
        found = self._tables.rank_in(call.comm, rank) if rank >= 0 else None
        if found is None and rank != PEER_PROC_NULL and count:
            self.unheld += 1
        return found

    def _count(self, location: Location, failed: int) -> None:
        self._failed |= failed
        location.events += 1
