"""A titled part of what is shown of a picture."""

from collections.abc import Sequence

from perfscope.structures import dataclass

Row = tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A part of the picture."""

    title: str  # what it is about, "" for the head
    lines: Sequence[str] = ()  # sentences
    heads: Row = ()  # of the columns of its table
    rows: Sequence[Row] = ()  # of its table
    is_loud: bool = False  # whether it tells of trouble
