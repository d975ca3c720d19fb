"""A picture as lines for a terminal or a file."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from perfscope.output import shortened, visible
from perfscope.watch.blocks import Block, Row
from perfscope.watch.picture import Picture

LONGEST_CELL = 48
LONGEST_LINE = 400


def lines(blocks: Sequence[Block]) -> Iterator[Text]:
    """The lines of blocks, one empty line between two; texts of the job are made visible."""
    for number, block in enumerate(blocks):
        if number:
            yield Text()
        if block.title:
            yield Text(block.title, style="bold red" if block.is_loud else "bold")
        for line in block.lines:
            yield Text(visible(line, longest=LONGEST_LINE), style="red" if block.is_loud else "")
        yield from map(Text, _aligned([block.heads, *block.rows] if block.rows else []))


def stacks(picture: Picture) -> Iterator[str]:
    """The Python stack of every rank, as it was sampled last."""
    for rank in picture.ranks:
        ago = "never sampled" if rank.sampled_s is None else f"{rank.sampled_s:.1f} s before"
        yield f"Rank {rank.number}, process {rank.pid} on {visible(rank.host)}: {ago}"
        yield from (f"    {visible(level)}" for level in rank.stack)


def _aligned(rows: Sequence[Row]) -> Iterator[str]:
    shown = [[shortened(visible(cell), LONGEST_CELL) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
