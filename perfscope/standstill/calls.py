"""The calls that ranks are in: what a call is shown as, and whom it waits for."""

from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Bools
from perfscope.matching.codes import NONBLOCKING_CODES
from perfscope.trace.model import Communicator, Rank, Table, Trace, open_rows
from perfscope.trace.operations import IS_COLLECTIVE, OperationClass, codes_mask, name_of

_WAITS = codes_mask([OperationClass.WAIT])
_ONE_PEER = codes_mask([OperationClass.SEND, OperationClass.RECV, OperationClass.PROBE])
_TWO_PEERS = codes_mask([OperationClass.SENDRECV])
_MESSAGES = codes_mask([OperationClass.ISEND, OperationClass.IRECV])
_MOST_MEMBERS = 8


def open_call(rank: Rank) -> np.void | None:
    """The call that the main thread is in, None outside any."""
    rows = rank.operations
    found = rows[open_rows(rows["flags"])]
    found = found[found["tid"] == rank.main_tid]
    return found[-1] if len(found) else None


def waited_for(rank: Rank) -> np.void | None:
    """The call that the rank waits in; of a wait the oldest nonblocking collective under way."""
    call = open_call(rank)
    if call is None or not _WAITS[int(call["op"])]:
        return call
    going_on = _under_way(rank, NONBLOCKING_CODES)
    return going_on[0] if len(going_on) else call


def peers_of(rank: Rank, call: np.void) -> tuple[int, ...]:
    """The ranks whose messages a call waits for, or that have to take one of its own.

    Of a wait those of all messages under way: which of them it waits for is not recorded.
    """
    code = int(call["op"])
    if _ONE_PEER[code]:
        peers = [int(call["peer"])]
    elif _TWO_PEERS[code]:
        peers = [int(call["peer"]), int(call["seq"])]
    elif _WAITS[code]:
        peers = _under_way(rank, _MESSAGES)["peer"].tolist()
    else:
        peers = []
    return tuple(sorted({peer for peer in peers if peer >= 0 and peer != rank.number}))


def _under_way(rank: Rank, codes: Bools) -> Table:
    """The nonblocking operations of these codes that have not been completed, oldest first."""
    started = rank.operations[codes[rank.operations["op"]]]
    going_on: Table = started[~np.isin(started["request"], rank.completions["request"])]
    return going_on


def told(trace: Trace, call: np.void) -> str:
    """A call with what it waits for: its communicator and ordinal, or its peer and tag."""
    name, comm = name_of(int(call["op"])), int(call["comm"])
    if IS_COLLECTIVE[int(call["op"])] and comm >= 0 and call["seq"] >= 0:
        return f"{name} #{int(call['seq'])} on {communicator_name(trace.communicators, comm)}"
    if call["peer"] >= 0:
        tag = f", tag {int(call['tag'])}" if call["tag"] >= 0 else ""
        return f"{name} (rank {int(call['peer'])}{tag})"
    return name


def communicator_name(communicators: Sequence[Communicator], index: int) -> str:
    """What a communicator is called: by number, and by its members where they are not all."""
    if index == 0:
        return "MPI_COMM_WORLD"
    members = communicators[index].members
    if len(members) == len(communicators[0].members):
        return f"communicator {index} (all ranks)"
    shown = ", ".join(map(str, members[:_MOST_MEMBERS]))
    more = ", ..." if len(members) > _MOST_MEMBERS else ""
    return f"communicator {index} (ranks {shown}{more})"
