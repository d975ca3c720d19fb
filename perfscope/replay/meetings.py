"""Who waits for whom in the collectives of a program."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from perfscope.replay.program import Ints


class Kind(IntEnum):
    """Who waits for whom."""

    ALL = 0  # everyone for everyone; also rooted collectives that in fact synchronise
    FROM_ROOT = 1  # everyone for the root
    TO_ROOT = 2  # the root for everyone


@dataclass(frozen=True)
class Meetings:
    """Collectives as rows: instance k has `rows[starts[k]:starts[k + 1]]`, ordered by rank."""

    rows: Ints
    starts: Ints
    kind: Ints  # Kind, shape (instances,)
    root: Ints  # row of the root, -1 without one, shape (instances,)

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def instance(self) -> Ints:
        """The instance of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def of(self, index: int) -> Ints:
        """Rows of one instance."""
        return self.rows[self.starts[index] : self.starts[index + 1]]

    def needs(self, enter: Ints) -> Ints:
        """Before which time each row cannot complete, aligned with `rows`.

        Args:
            enter: when each row of the program enters its collective, in nanoseconds.
        """
        own = enter[self.rows]
        if not len(self):
            return own
        kind = self.kind[self.instance]
        root = self.root[self.instance]
        last = np.maximum.reduceat(own, self.starts[:-1])[self.instance]
        from_root = np.maximum(own, enter[root])
        to_root = np.where(root == self.rows, last, own)
        return np.select([kind == Kind.ALL, kind == Kind.FROM_ROOT], [last, from_root], to_root)


def needed_rows(rows: Ints, kind: int, root: int, row: int) -> tuple[int, ...]:
    """Rows of one collective whose arrival one of its rows needs, itself included."""
    if kind == Kind.ALL or (kind == Kind.TO_ROOT and row == root):
        return tuple(int(other) for other in rows)
    if kind == Kind.FROM_ROOT and row != root:
        return tuple(sorted((row, root)))
    return (row,)
