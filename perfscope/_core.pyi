"""The trace engine: decoders and reductions that work on a trace in one pass, without the GIL."""

from typing import Any

import numpy as np
import numpy.typing as npt

class FormatError(ValueError):
    """A file is damaged or of another format: path, byte offset and reason, in `args`."""

def row_layouts() -> dict[str, dict[str, int]]:
    """Byte offsets of the fields of each packed row; under the empty name the size of a row."""

class ReplayError(ValueError):
    """The calls of the ranks cannot be brought into an order; the message says why, as a clause."""

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
        need_starts: npt.NDArray[np.int64],
        needs: npt.NDArray[np.int64],
    ) -> None:
        """Brings the rows into an order.

        Args:
            ranks: number of ranks.
            cut_rows: rows of the meetings of all ranks, starts first, ends last, flattened.
            hub_starts: where the members of each hub begin, shape (hubs + 1,).
            hub_rows: members: the arrivals that a hub waits for.
            hub_parent: the hub before it where its members count too, -1 none.
            need_starts: where the needs of each row begin, shape (rows + 1,).
            needs: rows (>= 0) and hubs (~hub) that a row waits for.

        Raises:
            ReplayError: the ranks wait for each other in a circle.
        """

    def lengths(
        self, gap: npt.NDArray[np.float64], transfer: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Length of each segment between two cuts, in the unit of the arguments."""

    def times(
        self, gap: npt.NDArray[np.float64], transfer: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Arrival and need of each row from the start, and the row that set need (-1: itself)."""

    def critical_path(
        self, gap: npt.NDArray[np.float64], transfer: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Rows whose work before them, and rows whose transfer, lies on the critical path."""

    def delay_cost(
        self,
        gap: npt.NDArray[np.float64],
        transfer: npt.NDArray[np.float64],
        *,
        piece_starts: npt.NDArray[np.int64],
        tag: npt.NDArray[np.int64],
        ns: npt.NDArray[np.float64],
        tags: int,
        waits_at_end: npt.NDArray[np.uint8],
    ) -> dict[str, Any]:
        """Delay costs, and who waited for whom.

        `direct` and `indirect` by (rank, tag), flattened; `unattributed`; `waiting`, their sum;
        and one element a pair of ranks: `waiter`, `cause`, `ns`.
        """
