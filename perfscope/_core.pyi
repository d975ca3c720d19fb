"""The trace engine: decoders and reductions that work on a trace in one pass, without the GIL."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perfscope.matching.collectives import Instances
from perfscope.matching.pool import Pool
from perfscope.matching.waits import Waits

Bytes: TypeAlias = npt.NDArray[np.uint8]
"""Packed rows of a table: `Bytes.view(DTYPE)`, `table.view(np.uint8)`."""

Ints: TypeAlias = npt.NDArray[np.int64]
Small: TypeAlias = npt.NDArray[np.int32]
Tags: TypeAlias = tuple[SmallCodes, int, Small | None]
SmallCodes: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Of 16 or 32 bits each."""
Floats: TypeAlias = npt.NDArray[np.float64]

sources: str
"""A digest of the sources that the engine was made from."""

class FormatError(ValueError):
    """A file is damaged or of another format: path, byte offset and reason, in `args`."""

class RecordedCalls:
    """The calls and completions in the records of a process, without what cannot be true."""

    def __init__(self, rules: dict[str, Any]) -> None: ...
    def expect(self, calls: int, completed: int) -> None:
        """Makes room for so many."""
    def take(self, records: Bytes) -> int:
        """Takes some records; gives the number of slots up to the last used one."""
    def close(self, end_ns: int, world_size: int, communicators: dict[int, int]) -> None:
        """Translates ids, ends open calls, orders all, leaves out what reaches into the next."""
    def faults(self) -> dict[str, int]:
        """How many records were left out or not understood, by what is wrong with them."""
    def last_ns(self) -> int:
        """The latest moment of a record that can be true, 0 without one."""
    def last_told_ns(self) -> int:
        """The latest moment in the life of the process that any record tells, 0 without one."""
    def operations(self) -> Bytes:
        """Rows of OPERATION_DTYPE."""
    def operation_count(self) -> int: ...
    def operation_columns(self) -> dict[str, npt.NDArray[Any]]:
        """The same rows, each field of OPERATION_DTYPE as an array; can be taken once."""
    def completions(self) -> Bytes:
        """Rows of COMPLETION_DTYPE; can be taken once."""
    def others(self) -> Bytes:
        """All other records; can be taken once."""
    def possible(self) -> npt.NDArray[np.int64]:
        """Places of those of them that can be true; can be taken once."""

Packed: TypeAlias = tuple[Ints, npt.NDArray[np.uint32], Ints, Ints]
"""A base for each 64 moments, how much later each is, and places and times of those far later."""

def packed_times(times: Ints) -> Packed:
    """Moments of neighboring rows in half as many bits."""

def unpacked_times(packed: Packed, first: int, end: int) -> Ints:
    """Moments [first, end) as they were packed."""

def unpacked_rows(packed: Packed, rows: Ints) -> Ints:
    """Those of some rows."""

def innermost_layer(starts: Ints, ends: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Starts and values: at each moment the covering interval that started last."""

def disjoint_layer(starts: Ints, ends: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Starts and values, of intervals sorted by start: where two overlap, the earlier one."""

def union(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Starts and ends of disjoint intervals in order, in which some interval is."""

def distinct(moments: Ints) -> Ints:
    """The moments in order, each once."""

def of_codes(wanted: npt.NDArray[np.uint8], codes: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    """What is said of the code of each row; `wanted` says it of all codes."""

def grouped(numbers: Ints, count: int) -> tuple[Ints, Ints]:
    """The places of each number below `count`, one after the other, and where each begins."""

def ranked(numbers: Ints, most_spread: int) -> tuple[Ints, int] | None:
    """The place of each number among the different ones in order, and how many these are.

    None where the numbers lie far apart: in more than `most_spread` places for each of them, and
    some more.
    """

def like_rows(
    ranks: SmallCodes, units: Small, ops: SmallCodes, unit_count: int
) -> tuple[Small, int]:
    """A number for each row, the same where its rank does the same at the same place of a unit.

    Rows of a rank lie together; `units` are steps, say. Also returns how many numbers there are.
    """

def medians(
    values: npt.NDArray[np.float64], numbers: Small, count: int
) -> tuple[Ints, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """By number: how many values, their lower median, and the median distance from that."""

def layer_at(starts: Ints, values: Ints, moments: Ints) -> Ints:
    """The values of a layer at moments in any order."""

CallColumns: TypeAlias = tuple[
    Ints, Ints, npt.NDArray[np.uint16], npt.NDArray[np.uint32], Small, Ints, Ints
]
"""Enter, exit, operation, thread, communicator, bytes sent and received of the calls of a rank."""

def free_time(
    calls: CallColumns,
    main_tid: int,
    start: int,
    end: int,
    phases: tuple[Ints, Ints],
    *,
    tells_kinds: bool = True,
) -> tuple[Ints, Ints, Small, Bytes]:
    """Pieces of a rank's main location between its calls: start, end, kind, whether in a phase.

    Pieces of a kind are between the same operations (of equal communicators and bytes), in the same
    marked phase and of similar length; they are cut where the layer of marked phases changes. All
    are of kind 0 where that is not to be told.
    """

def longest_free(
    calls: CallColumns,
    main_tid: int,
    start: int,
    end: int,
    phases: tuple[Ints, Ints],
    after: Ints,
    until: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Of these pieces the first longest that ends behind `after` and begins before `until`.

    For each two moments: its place among all, -1 where there is none, its start and its end.
    """

def rank_timeline(
    *,
    rules: dict[str, Any],
    marks: tuple[Ints, Ints, Ints, npt.NDArray[np.uint16]],
    steps: tuple[Ints, Ints],
    calls: tuple[Ints, Ints, Ints, Ints],
    wait: int,
    sampled: tuple[tuple[Ints, Ints], ...],
    life: tuple[int, int, int, int, int],
    detail_end: int | None,
) -> tuple[Ints, npt.NDArray[np.uint8], SmallCodes, SmallCodes]:
    """What each moment of a rank's main location was spent on.

    Args:
        rules: how phases become accounts.
        marks: starts, ends, indices in the catalog and kinds of marked phases.
        steps: starts and ends.
        calls: enter, need and leave of each, and its account between the last two.
        wait: the account between the first two.
        sampled: layers of accounts, phases and stacks from samples, and the one that blocks them.
        life: start and end of the rank and of the focus, and the account of what nothing names.
        detail_end: behind it records were dropped.

    Returns:
        Boundaries of the segments, and of each account, innermost phase and stack.
    """

TimelineColumns: TypeAlias = tuple[Ints, Bytes, SmallCodes]
"""Boundaries of its segments, and of each account and phase."""

def spent_by_phase(
    timeline: TimelineColumns, start: int, end: int, phases: int, accounts: int
) -> Ints:
    """Nanoseconds of segments that begin in [start, end), flattened (phases + 1, accounts).

    The first row has those of no phase, and of one that is not below `phases`.
    """

def spent_by_bin(
    timeline: TimelineColumns, start: int, end: int, bin_ns: int, accounts: int
) -> Ints:
    """Nanoseconds in [start, end), flattened (bins, accounts + 1).

    The last column has time without any segment.
    """

def work_pieces(
    ranks: list[tuple[Any, ...]], start: int, communication: Bytes, rows: int
) -> tuple[Small, Bytes, Floats, SmallCodes, SmallCodes, Ints, Floats]:
    """The time of ranks between their replayed calls, each piece before one of so many rows.

    Args:
        ranks: of each the boundaries, accounts, phases and stacks of its timeline, enters and exits
            of its calls, moments at which pieces are split as well, when its own work ends, and the
            row in front of its first call.
        start: of what is replayed, in ns.
        communication: by account, whether it is communication, which is no work.
        rows: of all ranks.

    Returns:
        Row, account, nanoseconds, phase, stack and begin of each piece, and by row the nanoseconds
        of communication alone before it.
    """

def row_waits(
    boundaries: Ints,
    accounts: Bytes,
    waiting: int,
    calls: Small,
    enter: Ints,
    leave: Ints,
    start: int,
    end: int,
) -> tuple[Floats, Ints, Floats]:
    """Nanoseconds in a window that a rank waited in each call, and behind the last one.

    Args:
        boundaries: of the segments of its timeline.
        accounts: of the segments.
        waiting: the account that is waiting.
        calls: of the rank, in program order.
        enter: of the calls of all ranks.
        leave: when these ended.
        start: of the window.
        end: of the window.

    Returns:
        The waits, one more than calls; places of calls in front of which it waited; how long.
    """

def units_of_calls(
    clocks: list[tuple[Ints, Ints]],
    edges: Ints,
    segment: Small,
    first: Small,
    calls: Small,
    enter: Ints,
    otherwise: int,
) -> Small:
    """The unit of time in which each row begins, one of those of the row's segment.

    Args:
        clocks: when units began on each rank, in order, and their numbers.
        edges: where the rows of each rank begin, and the end.
        segment: of each row.
        first: the unit in which each segment begins, and the end of the last.
        calls: that the rows are, -1 none.
        enter: of the calls of all ranks.
        otherwise: when rows begin that are none.
    """

def units_of_moments(
    clocks: list[tuple[Ints, Ints]],
    edges: Ints,
    segment: Small,
    first: Small,
    moments: Ints,
    rows: Small,
) -> Small:
    """The unit of time in which moments lie that belong to rows, as `units_of_calls` tells it.

    `edges` is where the moments of each rank begin, and the end.
    """

def chosen_calls(
    columns: tuple[Ints, Ints, SmallCodes, npt.NDArray[np.uint16]],
    is_chosen: Bytes,
    ranks: int,
    start: int,
    end: int,
) -> tuple[Small, Ints, Ints, SmallCodes, npt.NDArray[np.uint16], Ints, Small]:
    """Some calls in their order, with times clipped to [start, end].

    The columns are enter, exit, rank (ascending) and op. Gives the place of each among all calls,
    these columns, where each rank's begin, and of all calls the place among the chosen ones, -1
    none, with one more at the end, -1.
    """

def row_segments(cuts: Ints, ranks: int, rows: int) -> Small:
    """Of each row the segment that the cuts of a program make; of a cut the one that it closes.

    `cuts` has the rows of each cut, that of each rank, from the ranks' starts to their ends.
    """

def needs_of_meetings(
    columns: tuple[Ints, Ints, Ints, Ints, Bytes, Ints],
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Starts, rows and parents of the hubs of meetings, and pairs: a row, and what it needs.

    The columns are starts, rows, kind, root, silent and ends, as `Meetings` has them; hubs and
    pairs are told as in `Dependencies`.
    """

def needed_before(arrival: Ints, hubs: tuple[Ints, Ints, Ints], row: Ints, on: Ints) -> Ints:
    """Before which time each row cannot complete, for given arrivals; hubs and pairs as above."""

def needs_of_rows(call: Ints, on: Ints, row_of: Small, rows: int) -> tuple[Small, Small]:
    """Where what each row needs begins, and the end; and the needs: a row, or ~hub.

    Args:
        call: a call that needs something, as often as it does; call c is row `row_of[c]`.
        on: what it needs, a call or ~hub.
        row_of: below `rows`.
        rows: of the program.
    """

def collectives_of_rows(
    members: Ints, starts: Ints, carried: Ints, calls: Small, call_count: int
) -> tuple[Ints, Small]:
    """What each row carries that is a call of a collective, and by how many ranks; 0 of others.

    Args:
        members: calls of the collectives, one after the other.
        starts: where those of each begin, and the end.
        carried: by each.
        calls: that the rows are, -1 none, below `call_count`.
        call_count: calls of all ranks.
    """

def follow_closely(
    instances: tuple[Ints, Ints],
    kinds: tuple[Ints, Ints, Ints],
    calls: tuple[Ints, Ints, SmallCodes],
    order: Ints,
    most_ns: int,
) -> Bytes:
    """Of collectives in an order, which come next and closely after the one before them.

    Args:
        instances: their calls, one collective after the other, and where those of each begin.
        kinds: communicator, number there and operation of each.
        calls: enter, exit and rank of the calls of all ranks.
        order: of those that are looked at.
        most_ns: that a rank may work in between.
    """

def sums_by_key(
    values: Floats, rows: Ints, keys: SmallCodes, count: int, of_key: Ints | None = None
) -> Floats:
    """What stands at some rows, added up by the keys of rows, or by those of the keys.

    Negative keys count for none.
    """

def work_by_phase(
    row: Small, ns: Floats, phases: SmallCodes, rows: Ints, all_rows: int, phase_count: int
) -> Floats:
    """The pieces of work before some rows by phase, the work of no phase last."""

def gaps(row: Small, ns: Floats, fixed_row: Small, fixed_ns: Floats, rows: int) -> Floats:
    """The pieces of work before each row, added up in order, then `fixed_ns`, shape (rows,)."""

def work_by_rank(row: Small, ns: Floats, rank: Small, *, ranks: int) -> Floats:
    """The pieces of work before rows by the rank of their row, shape (ranks,)."""

def chosen_pieces(
    row: Small,
    account: Bytes,
    rank: Small,
    phases: SmallCodes,
    *,
    ranks: Bytes,
    accounts: Bytes,
    phase: int,
) -> Bytes:
    """Which pieces of work are of chosen ranks and accounts, and of a phase (-2: of any).

    Args:
        row: before which each piece is.
        account: of each piece.
        rank: of each row.
        phases: of the first pieces; the others are of none.
        ranks: by rank, whether it is chosen.
        accounts: by account, whether it is chosen.
        phase: that is chosen.
    """

def scaled(
    row: Small,
    account: Bytes,
    rank: Small,
    phases: SmallCodes,
    *,
    ranks: Bytes,
    accounts: Bytes,
    phase: int,
    ns: Floats,
    factor: float,
) -> Floats:
    """Pieces of work, those that `chosen_pieces` tells times a factor, shaped as `ns`."""

def work_by_cell(row: Small, ns: Floats, chosen: Bytes, cuts: Ints, *, ranks: int) -> Floats:
    """Chosen pieces of work by segment and rank of their rows, flattened (segments, ranks).

    `cuts` has the rows of each cut, flattened (segments + 1, ranks).
    """

def work_before(row: Small, ns: Floats, rows: Ints, all_rows: int) -> Floats:
    """The pieces of work before some rows, added up in order, shaped as `rows`."""

def times_before(row: Small, ns: Floats, rows: Ints, factor: Floats, all_rows: int) -> Floats:
    """Pieces of work, those before some rows times what `factor` has for the row."""

def rescaled(
    row: Small,
    ns: Floats,
    chosen: Bytes,
    cuts: Ints,
    *,
    ranks: int,
    totals: Floats,
    targets: Floats,
) -> Floats:
    """Pieces of work, the chosen ones scaled so that they add up to the targets.

    `totals` is what they add up to, as `work_by_cell`, and where that is 0 they stay.
    """

def groups_of_like(
    work: Floats,
    segments: Ints,
    starts: Ints,
    ranks: Bytes,
    *,
    lower: bool,
    factor: float,
    least_share: float,
    least: float,
    nothing: float,
) -> tuple[Ints, Ints]:
    """Segments of a kind by the work they usually take, in groups, and where each group begins.

    Args:
        work: by segment and rank, shape (segments, ranks).
        segments: of one kind after the other; kinds without work are left out.
        starts: where each kind begins in `segments`, and the end.
        ranks: by rank, whether it counts: the usual work is the median of these.
        lower: of two ranks in the middle the lower one counts, and not their mean.
        factor: by which neighbors of two groups differ at least.
        least_share: of the segments of a kind that are in each group, and at least
        least: so many.
        nothing: of the most usual work of a kind: less counts as that much.
    """

def evened(work: Floats, segments: Ints, starts: Ints, ranks: Bytes) -> Floats:
    """Work in which chosen ranks get the mean of their sorted values, group by group.

    Flattened; arguments as of `groups_of_like`.
    """

def made_as_others(work: Floats, segments: Ints, starts: Ints, ranks: Bytes) -> Floats:
    """Work in which chosen ranks get the others' median sorted values where they have more.

    Flattened; arguments as of `groups_of_like`.
    """

def low_values(
    work: Floats, segments: Ints, starts: Ints, lower: float, upper: float
) -> tuple[Ints, Floats]:
    """How many values above 0 each group has, and what lies around two quantiles of these.

    Of each rank, and behind them of all together, shapes (groups x (ranks + 1),) and that times 4:
    the values between which the lower quantile lies as numpy interpolates it, then those of the
    upper one; 1 where there are no values.
    """

def within_bounds(
    work: Floats, segments: Ints, starts: Ints, ranks: Bytes, bounds: Floats
) -> Floats:
    """Work of chosen ranks beyond the bound of its rank as the median of what is within others'.

    No more than it was, in the same segment; the least one where all are beyond. `bounds` has the
    shape (groups, ranks).
    """

def sums_by_unit(
    gap: Floats, transfer: Floats, unit: Small, rank: Small, units: int, ranks: int
) -> Floats:
    """Of rows their work with their transfer, and their transfer, flattened (units, ranks, 2)."""

Codes: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint16]]
"""Of each code of an operation its traits and its blocking form."""

EAGER_BYTES: int
"""Every MPI library sends messages up to this size without waiting for the receiver."""

def call_traits() -> dict[str, int]:
    """The bits of a code's traits, by name."""

def match_collectives(
    pool: Pool, codes: Codes, starts: Ints, members: Ints, comparable: Bytes | None
) -> dict[str, Any]:
    """Calls by communicator and number, as `Instances` has them, and `unmatched` and `waiting`.

    Args:
        pool: the calls.
        codes: what they are.
        starts: where the members of each communicator begin in `members`.
        members: their numbers, ordered by rank in the communicator.
        comparable: by communicator, whether the times of its members can be compared; None: all.
    """

def operation_sums(waits: Waits, codes: Codes, count: int) -> Ints:
    """What calls and their waits add up to, by operation code below `count`, flattened.

    Six numbers each: calls; those whose wait is known, with their wait and transfer in ns; those
    that stand for several calls, and for how many.
    """

def alike_messages(
    waits: Waits,
    codes: Codes,
    send_of: SmallCodes,
    started: Ints,
    finished: Ints,
    tells_calls: bool,
) -> tuple[int, int, int, int, Ints]:
    """Of messages of one operation, within a factor of two in size, those that take most transfer.

    The operation's code, how many messages they are (0: there are none at all), how many calls of
    the operation there are, all bytes of the messages, and if asked for the calls that moved them:
    sends, receives, and what completed these, each counted for the largest message in it.
    """

class WaitSums:
    """What the waits of a run add up to by kind and by whom each waited for."""

    def __init__(
        self, waits: Waits, codes: Codes, by_code: Ints, kinds: dict[str, int], count: int
    ) -> None:
        """Declares the kinds.

        Args:
            waits: the split of every call.
            codes: what they are.
            by_code: the kind of each code, as far as it alone tells it.
            kinds: `late_broadcast`, `early_reduce` and `late_receiver`, which the cause tells.
            count: of kinds.
        """
    def of_rank(
        self,
        rank: int,
        main_tid: int,
        boundaries: Ints,
        accounts: Bytes,
        *,
        account: int,
        begin: int,
        end: int,
    ) -> Ints:
        """Waiting of a main thread in ns by kind and rank, none last, flattened (kinds, ranks + 1).

        Of the timeline the segments of `account` count that begin in [begin, end); of calls at once
        the earlier one waits.
        """

def late_at_collectives(
    pool: Pool,
    codes: Codes,
    instances: Instances,
    main_tids: npt.NDArray[np.uint32],
    begin: int,
    end: int,
) -> tuple[Ints, Ints, Ints]:
    """How long main threads waited at each instance in [begin, end), the longest, and its cause."""

def ends_of_meetings(
    calls: tuple[Ints, Ints, Ints, npt.NDArray[np.uint16]],
    members: Ints,
    starts: Ints,
    chosen: npt.NDArray[np.uint8],
    strictness: npt.NDArray[np.uint8],
) -> tuple[Ints, Ints]:
    """Calls of chosen instances that returned, and how much before what they needed.

    Of an instance nobody needs all to begin (strictness 0), or all do where all send (1), or
    always (2). The columns of the calls are enter, exit, sent and flags.
    """

def carried_by(
    columns: tuple[Ints, Ints, SmallCodes, SmallCodes], starts: Ints, members: Ints
) -> tuple[Ints, Ints]:
    """What each collective carried at most for a member, in bytes, and how long it took, in ns.

    It begins when the last member enters, and ends when the last one leaves. The columns of the
    calls are enter, exit, sent and received.
    """

def last_exits(
    pool: Pool,
    codes: Codes,
    members: Ints,
    main_tids: npt.NDArray[np.uint32],
    began: Ints,
    ranks: Ints,
    moments: Ints,
) -> Ints:
    """When ranks last left a collective before moments; by rank `began` where it had left none."""

def match_messages(
    pool: Pool, codes: Codes, starts: Ints, members: Ints, comparable: Bytes | None
) -> tuple[Ints, Ints, Ints, int]:
    """The send of each row, rows without a partner, blind rows, and the number of messages."""

def completed_requests(pool: Pool, codes: Codes, completions: list[Bytes]) -> tuple[Ints, Ints]:
    """Of each completion the row that made its request, and in which it came; -1 not known."""

def find_rendezvous(
    pool: Pool,
    codes: Codes,
    threads: tuple[SmallCodes, Ints, Ints, Ints],
    send_of: SmallCodes,
    wait_of: SmallCodes,
) -> tuple[Ints, Ints, Bytes]:
    """Sends that can wait for their receivers: where each ends, who was inside, whether it waits.

    Args:
        pool: the calls.
        codes: what they are.
        threads: row, enter and exit of the calls of one thread of each rank, and where they begin.
        send_of: of each row of the pool, as matched.
        wait_of: of each row the call in which what it started completed, -1 none.
    """

def split_calls(
    pool: Pool,
    codes: Codes,
    *,
    collective: tuple[Ints, Ints, Ints],
    waiting: Ints,
    send_of: Ints,
    completed: tuple[Ints, Ints],
    main_tids: npt.NDArray[np.uint32],
    is_one_clock: bool,
) -> tuple[Ints, Bytes, Ints, Bytes]:
    """Before what each call could not end, whether that is known, who set it, whether a receiver.

    Args:
        pool: the calls.
        codes: what they are.
        collective: members, need and cause of collectives.
        waiting: calls in which a rank still waited for a member when it ended.
        send_of: of each row, as matched.
        completed: of each request what made it and what it completed in.
        main_tids: of each rank.
        is_one_clock: whether times of any two ranks can be compared.
    """

def keep_memory() -> None:
    """Memory that is freed stays with the process: clearing it anew takes longer than its use."""

def room_below(directory: str) -> tuple[int, bool]:
    """Bytes that may still be written below a directory, and whether memory is what holds them."""

def use_files(directory: str, plain_bytes: int, resident_bytes: int) -> bool:
    """Large tables may move into unnamed temporary files; their addresses stay.

    Those of the first `plain_bytes` never do; of the others at most `resident_bytes` are in memory,
    the youngest. Arrays of numpy are meant that the calling context makes from now on, and what the
    engine makes. False where this numpy does not let its memory be given.
    """

def files_used() -> tuple[int, int, int]:
    """The most bytes in files at one time, and errno and size of what was refused last, or 0."""

class ReplayError(ValueError):
    """The calls of the ranks cannot be brought into an order; the message says why, as a clause."""

class HorovodTimeline:
    """Decodes a HOROVOD_TIMELINE file from its bytes; tables are bytes of packed rows."""

    def __init__(self, path: str) -> None: ...
    def feed(self, block: bytes) -> None:
        """Reads the next bytes of the file."""
    def finish(self) -> None:
        """Closes what is open; to be called once, after the last bytes."""
    def facts(self) -> dict[str, Any]:
        """Counts of events, times of the first and last, whether the list was closed or cut."""
    def ranks(self) -> list[int]:
        """Ranks that became ready, in order."""
    def names(self) -> list[bytes]:
        """Names of operations and activities."""
    def tensors(self) -> list[bytes]:
        """Names of tensors."""
    def negotiations(self) -> npt.NDArray[np.uint8]:
        """Rows of NEGOTIATION_DTYPE; can be taken once."""
    def ticks(self) -> npt.NDArray[np.uint8]:
        """Rows of TICK_DTYPE; can be taken once."""
    def activities(self) -> npt.NDArray[np.uint8]:
        """Rows of TENSOR_ACTIVITY_DTYPE; can be taken once."""

class InspectorLog:
    """Lines of NCCL's inspector: fed, then finished, then taken apart."""

    def __init__(self, path: str, most_records: int) -> None: ...
    def feed(self, block: bytes) -> None:
        """Takes the next bytes of the uncompressed text."""

    def finish(self) -> None:
        """Ends the text."""

    @property
    def odd(self) -> int:
        """Lines that cannot be read."""

    @property
    def dropped(self) -> int:
        """Operations that the plugin overwrote before it could write them."""

    @property
    def beside(self) -> int:
        """Sound lines that tell of something else than operations."""

    @property
    def is_full(self) -> bool:
        """Whether there are more records than the first that were taken."""

    def records(self) -> Bytes:
        """Rows of RECORD_DTYPE; can be taken once."""

    def groups(self) -> list[tuple[str, str, int]]:
        """Communicators: hash, name, ranks."""

    def names(self) -> list[str]:
        """Operations by their number."""

    def sources(self) -> list[str]:
        """What measured the times."""

def is_communication(kernel: str) -> bool:
    """Whether a kernel is of a library that communicates, or called after a collective."""

class KinetoFile:
    """A Chrome or Kineto trace of one process: fed or read, then finished, then taken apart."""

    def __init__(self, path: str, is_in_nanoseconds: bool = False) -> None: ...
    def read(self) -> None:
        """Reads all of a plain file, in blocks and without the GIL."""

    def feed(self, block: bytes) -> None:
        """Takes the next bytes of the uncompressed text."""

    def finish(self) -> None:
        """Ends the text, joins launches with what they launched and orders the tables."""

    def take_device(self) -> Bytes:
        """Rows of the device table; names are places in `names()`, `comm` one in `groups()`."""

    def take_device_processes(self) -> npt.NDArray[np.uint32]:
        """Of each row of the device table, the process of its event: a place in `processes()`."""

    def take_host(self) -> Bytes:
        """Annotations, calls of the device's runtime and nodes of autograd."""

    def take_calls(self) -> Bytes:
        """Calls of communication libraries, as perfscope exports them."""

    def take_launches(self) -> Bytes:
        """Correlation, process and time of runtime calls, where those are of several processes."""

    def take_counters(self) -> Bytes:
        """Samples of counters (`C` events)."""

    def names(self) -> list[str]:
        """Texts by their number."""

    def processes(self) -> list[tuple[str, str, str]]:
        """Number as the file has it, name and labels of each process."""

    def groups(self) -> list[tuple[str, str, int, int, int]]:
        """Process groups of collectives: name, ranks as text, first rank, stride, size."""

    def threads(self) -> list[tuple[str, str, str, int]]:
        """Process, thread, name and number of events of each thread of the host and stream."""

    def members(self) -> dict[str, str]:
        """What the file says besides its events, as JSON texts by name."""

    def counts(self) -> dict[str, int]:
        """How many events there were of each sort, and how many could not be used."""

    @property
    def extent(self) -> tuple[int, int]:
        """The first and the last moment of all events, in ns; first > last without any."""

    @property
    def shortest(self) -> int:
        """The shortest interval that lasts any time, in ns."""

    @property
    def edges(self) -> list[int]:
        """Starts of the first and the last events that stand in no table, at most 64 of each."""

    @property
    def has_base(self) -> bool:
        """Whether the file names the moment that its times count from."""

    @property
    def cut_at(self) -> int | None:
        """Where the last whole event ends in a file that was cut off, in bytes; else None."""

class Otf2Archive:
    """An OTF2 archive whose anchor and global definitions have been read.

    Args:
        path: the anchor file, as os.fsencode gives it.

    Raises:
        FormatError: it is damaged, or of a kind that is not read (SION, zlib).
        OSError: a file cannot be read.
    """

    def __init__(self, path: bytes) -> None: ...
    def anchor(self) -> dict[str, Any]:
        """What the anchor file says: version, machine, creator, description, properties."""

    def clock(self) -> dict[str, Any]:
        """Ticks per second and at the start, length in ticks, wall clock of the start in ns."""

    def locations(self) -> list[tuple[int, str, int, int, int]]:
        """Of each location its id, name, type, number of events as defined, and group."""

    def location_groups(self) -> list[tuple[int, str, int, int, int]]:
        """Of each group its id, name, type, node of the system tree, and the group's creator."""

    def system_nodes(self) -> list[tuple[int, str, str, int]]:
        """Of each node of the system tree its id, name, class and parent."""

    def regions(self) -> list[tuple[int, str, str, str, int, int, int]]:
        """Of each region its id, name, canonical name, file, line, role and paradigm."""

    def metric_members(self) -> list[tuple[int, str, str, int, int, int, int]]:
        """Of each metric its id, name, unit, mode, value type, base and exponent."""

    def communicators(self) -> list[tuple[int, int, npt.NDArray[np.int32]]]:
        """Of each communicator its id, parent and members as world ranks; the world first."""

    def definition_counts(self) -> dict[int, int]:
        """How many definitions of each type there are."""

    def world(self) -> npt.NDArray[np.uint64]:
        """Ids of the locations of the MPI ranks, in their order; empty without MPI."""

    def events(
        self, location: int, apply_mappings: bool = True, apply_clock: bool = True
    ) -> dict[str, Any]:
        """All events of a location as columns; memory grows with their number.

        Event i is types[i] at times[i] ticks with the fields values[starts[i]:starts[i + 1]] as
        64-bit patterns, and attributes (id, type, bits) from attribute_starts[i] on.
        """

    def reduce(
        self, roles: bytes, rows: int, phases: int, counter_samples: int, threads: int
    ) -> dict[str, Any]:
        """Profile, sums, MPI calls, phases, device work and counters of all locations.

        Args:
            roles: of each region (operation u2, kind of call u1, phase u1, name i4), packed.
            rows: how many MPI calls and completions to keep; above it none, and their time by bins.
            phases: how many phases and pieces of device work to keep; above it none.
            counter_samples: samples to keep of each counter on each location.
            threads: how many threads work.
        """

class ParaverTrace:
    """Decodes a Paraver .prv file from its bytes; tables are bytes of packed rows."""

    def __init__(self, path: str) -> None: ...
    def feed(self, block: bytes) -> None:
        """Reads the next bytes of the file."""
    def finish(self) -> None:
        """Closes what is open; to be called once, after the last bytes."""
    def facts(self) -> dict[str, Any]:
        """Date, duration, tasks of each application, nodes of the tasks, counts of records."""
    def communicators(self) -> list[tuple[int, int, list[int]]]:
        """Application, number and ranks of each communicator."""
    def locations(self) -> list[dict[str, Any]]:
        """Rank and thread of each location, and what was added up over it."""
    def event_types(self) -> dict[int, int]:
        """How many events there were of each type, counters left out."""
    def counter_types(self) -> list[int]:
        """Types of hardware counters, in the order of their number."""
    def calls(self) -> Bytes:
        """Rows of CALL_DTYPE; can be taken once."""
    def messages(self) -> Bytes:
        """Rows of MESSAGE_DTYPE; can be taken once."""
    def counters(self) -> Bytes:
        """Rows of COUNTER_DTYPE; can be taken once."""
    def file_states(self) -> Bytes:
        """Rows of STATE_DTYPE: times of input and output; can be taken once."""

class PerfettoTrace:
    """The track events of a trace of Perfetto: fed, then finished, then given on."""

    def __init__(self, path: str, facts_name: str, most_entries: int) -> None: ...
    def feed(self, block: bytes) -> None:
        """Takes the next bytes of the file."""

    def finish(self) -> None:
        """Ends the file and puts its events in order."""

    @property
    def is_full(self) -> bool:
        """Whether it holds more events, names, tracks and clocks than may be taken."""

    def tracks(
        self,
    ) -> list[tuple[int, str, int | None, int | None, int | None, str, list[str], str | None]]:
        """What is described: uuid, name, parent, pid, tid, process, labels, unit of a counter."""

    def used(self) -> list[int]:
        """Tracks that have events, by the first one."""

    def kinds(self) -> list[tuple[str, str]]:
        """Categories and names that events have."""

    def facts(self) -> str:
        """Arguments of the first slice called `facts_name`, as JSON, "" without one."""

    def into(
        self,
        file: KinetoFile,
        places: list[tuple[str, str, str, str]],
        meanings: list[tuple[str, dict[str, int], dict[str, str]]],
    ) -> None:
        """Gives all events to a file whose list of events has begun.

        Args:
            file: takes them.
            places: process, thread, name and unit of each track in `used()`.
            meanings: of each of `kinds()` its category there, arguments that all have, and the
                names of facts that are arguments where they are whole numbers.
        """

class Replay:
    """A run as a (max,+) system, replayed for any work and transfer times.

    The rows of a rank are contiguous: its start, its calls in program order, its end. exit(row) =
    max(arrival(row), needs) + transfer(row), arrival(row) = exit(row - 1) + gap(row).
    """

    def __init__(
        self,
        *,
        ranks: int,
        cut_rows: npt.NDArray[np.int64],
        hub_starts: npt.NDArray[np.int64],
        hub_rows: npt.NDArray[np.int64],
        hub_parent: npt.NDArray[np.int64],
        need_starts: Small,
        needs: Small,
        threads: int = 0,
        is_checked: bool = True,
        keeps_order: bool = True,
    ) -> None:
        """Looks whether the rows can be brought into an order; the arrays must not change after.

        Args:
            ranks: number of ranks.
            cut_rows: rows of the meetings of all ranks, starts first, ends last, flattened.
            hub_starts: where the members of each hub begin, shape (hubs + 1,).
            hub_rows: members: the arrivals that a hub waits for.
            hub_parent: the hub before it where its members count too, -1 none.
            need_starts: where the needs of each row begin, shape (rows + 1,).
            needs: rows (>= 0) and hubs (~hub) that a row waits for.
            threads: that replay at most, 0 one a core; results do not depend on it.
            is_checked: whether a circle is looked for now, and not by the first who asks for times.
            keeps_order: whether an order of the rows is kept for whoever asks next.

        Raises:
            ReplayError: the ranks wait for each other in a circle.
        """

    def lengths(
        self, gap: npt.NDArray[np.float64], transfer: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Length of each segment between two cuts, in the unit of the arguments."""

    def lengths_of_work(
        self, row: Small, ns: Floats, fixed_row: Small, fixed_ns: Floats, transfer: Floats
    ) -> Floats:
        """The same for gaps of these pieces of work, as `gaps` adds them up."""

    def lengths_without(
        self,
        row: Small,
        ns: Floats,
        fixed_row: Small,
        fixed_ns: Floats,
        transfer: Floats,
        codes_of_rows: Small,
        codes: Small,
    ) -> Floats:
        """The same where rows of a code have no transfer, code after code."""

    def lengths_of_networks(
        self,
        row: Small,
        ns: Floats,
        fixed_row: Small,
        fixed_ns: Floats,
        transfer: Floats,
        divisors: Floats,
    ) -> Floats:
        """The same where all transfers are divided by a number, one after the other of some."""

    def joined_lengths(
        self,
        row: Small,
        ns: Floats,
        fixed_row: Small,
        fixed_ns: Floats,
        transfer: Floats,
        is_kept: Bytes,
    ) -> Floats | None:
        """The same between some cuts alone: at the others nobody waits.

        `is_kept` is of each cut, the starts and the ends included, which are kept. None where that
        cannot be told from the order of the rows: none is known yet, or some rows need what lies in
        front of a cut.
        """

    def times(
        self, gap: npt.NDArray[np.float64], transfer: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Arrival and need of each row from the start, and the row that set need (-1: itself)."""

    def last_arrivals(
        self,
        gap: npt.NDArray[np.float64],
        transfer: npt.NDArray[np.float64],
        units: Small,
        count: int,
    ) -> npt.NDArray[np.float64]:
        """When the last row of each unit of time is arrived at, from the start; 0 without rows."""

    def critical_path(
        self, gap: npt.NDArray[np.float64], transfer: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Rows whose work before them, and rows whose transfer, lies on the critical path."""

    def delay_cost(
        self,
        gap: npt.NDArray[np.float64],
        transfer: npt.NDArray[np.float64],
        *,
        piece_starts: SmallCodes,
        ns: npt.NDArray[np.float64],
        waits_at_end: npt.NDArray[np.uint8],
        waits: npt.NDArray[np.float64] | None = None,
        tags: Sequence[Tags],
        edges: npt.NDArray[np.int64] | None = None,
    ) -> list[dict[str, Any]]:
        """Delay costs, and who waited for whom, for each kind of tags: waits are explained once.

        `waits` are the waits to be charged, by row; None: as long as the replay has them. `tags`
        are for each kind the tag of each piece of work, below how many they are, the last for
        transfer; and the units of time that rows belong to, as steps are, or None. `edges` cut the
        run into parts: the first segment of each, and how many there are; None: one part.

        `unattributed` and `waiting`. Without units, `direct` and `indirect` by (rank, tag),
        flattened; one element a pair of ranks: `waiter`, `cause`, `ns`; and one element a part:
        `part_direct`, `part_indirect`, and of the cell of a rank and tag that costs most in it
        `part_cell`, -1 none, `part_cell_direct` and `part_cell_indirect`. With units, one element a
        segment, unit, rank and tag that waits are charged to, directly or not: `charged_unit`,
        `charged_rank`, `charged_tag`, `charged_ns`; the unit is that in which the rank came late.
        """

class RocprofJson:
    """The JSON of rocprofv3: fed, then finished, then taken apart."""

    def __init__(
        self, path: str, key: str, lists: Sequence[str], kept: Sequence[str], most_rows: int
    ) -> None: ...
    def feed(self, block: bytes) -> None:
        """Takes the next bytes of the uncompressed text."""

    def finish(self) -> None:
        """Ends the text."""

    @property
    def is_full(self) -> bool:
        """Whether it holds more records than may be taken."""

    def processes(self) -> list[tuple[dict[str, str], Bytes, int]]:
        """Members as JSON, rows and the number of records without a time; can be taken once."""

class XPlaneFile:
    """An XSpace of protocol buffers: fed, then finished, then asked."""

    def __init__(self, path: str, most_entries: int) -> None: ...
    def feed(self, block: bytes) -> None:
        """Takes the next bytes of the uncompressed file."""

    def finish(self) -> None:
        """Finds planes, lines and names."""

    @property
    def is_full(self) -> bool:
        """Whether it holds more planes, events and names than may be taken."""

    @property
    def without_time(self) -> int:
        """Events of the lines that were asked for, at times that cannot be."""

    def hosts(self) -> list[str]:
        """Hosts that the file names."""

    def planes(self) -> list[tuple[str, list[str], list[str], int]]:
        """Of each plane its name, those of its lines and events, and how many devices it shows."""

    def program_devices(self) -> int:
        """Devices of the largest of its programs; 0 where there is none, or one tells none."""

    def told(self, plane: int, name: str) -> int | None:
        """A whole number among the statistics of a plane."""

    def events(self, plane: int, line: int) -> Bytes:
        """Events of a line that last any time; a name behind those of the plane is none."""

def device_use(
    rows: Bytes, windows: Sequence[tuple[int, int]]
) -> list[tuple[int, list[list[int]], list[list[int]]]]:
    """By device: its number; by window the ns in each of 16 states; rows of each kind begun.

    Bit k of a state says that something of DeviceKind k was at work; state 0 is idle.
    """

def kernel_totals(
    rows: Bytes, window: tuple[int, int]
) -> list[tuple[int, int, int, int, int, int, int, int, int]]:
    """By name: name, kind, count, ns in all, least, most, bytes, launches known, launch delay."""

def operation_totals(rows: Bytes, codes: int) -> Bytes:
    """Calls, ns, bytes sent and received, closed calls and their ns, by operation code.

    Six numbers of 64 bits for each code.
    """

def operation_totals_of_columns(
    t0: Ints,
    t1: Ints,
    sent: Ints,
    received: Ints,
    op: npt.NDArray[np.uint16],
    flags: npt.NDArray[np.uint16],
    codes: int,
) -> Bytes:
    """The same of a table whose columns lie apart."""

def time_before(boundaries: Ints, chosen: Bytes) -> Ints:
    """Of two boundaries or more, how much of the chosen segments lies before each."""

def time_until(boundaries: Ints, chosen: Bytes, before: Ints, moments: Ints) -> Ints:
    """How much of them lies before some moments, cheapest where these ascend."""

def places(
    ordered: npt.NDArray[np.int64], moments: npt.NDArray[np.int64], behind_equal: bool
) -> npt.NDArray[np.int64]:
    """The first place in `ordered` whose value is not below each moment, or is above it."""

def row_layouts() -> dict[str, dict[str, int]]:
    """Byte offsets of the fields of each packed row; under the empty name the size of a row."""

def stream_idle(
    rows: Bytes, window: tuple[int, int], kernel_wait_below_ns: int
) -> list[tuple[int, int, int, int, int, int, int, int]]:
    """By stream: device, stream, rows, and ns: busy, host wait, kernel wait, other, edges."""

def take_rows(
    file: KinetoFile, rows: Bytes, names: Sequence[str], categories: Sequence[str], process: str
) -> None:
    """Gives rows of MADE_DTYPE to a file whose list of events has begun."""
