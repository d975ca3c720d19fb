"""A picture as lines for a terminal or a file."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.text import Text

from perfscope.output import shortened, visible
from perfscope.watch.blocks import Block, Row
from perfscope.watch.picture import Picture

LONGEST_CELL = 48
LONGEST_LINE = 400
INDENT, GAP = 2, 2


def lines(blocks: Sequence[Block], width: int | None = None) -> Iterator[Text]:
    """The lines of blocks, one empty line between two; texts of the job are made visible."""
    for number, block in enumerate(blocks):
        if number:
            yield Text()
        if block.title:
            yield Text(block.title, style="bold red" if block.is_loud else "bold")
        for line in block.lines:
            yield Text(visible(line, longest=LONGEST_LINE), style="red" if block.is_loud else "")
        if block.rows:
            yield from map(Text, _table([block.heads, *block.rows], width))


def stacks(picture: Picture) -> Iterator[str]:
    """The Python stack of every rank, as it was sampled last."""
    for rank in picture.ranks:
        ago = "never sampled" if rank.sampled_s is None else f"{rank.sampled_s:.1f} s before"
        yield f"Rank {rank.number}, process {rank.pid} on {visible(rank.host)}: {ago}"
        yield from (f"    {visible(level)}" for level in rank.stack)


def _table(rows: Sequence[Row], width: int | None) -> Iterator[str]:
    """Heads and rows below each other; of a line that is too narrow for them, row by row."""
    shown = [[shortened(visible(cell), LONGEST_CELL) for cell in row] for row in rows]
    columns = list(zip(*shown, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [max(len(word) for cell in column for word in cell.split()) for column in columns]
    room = None if width is None else width - INDENT - GAP * (len(widths) - 1)
    if room is not None and sum(least) > room:
        yield from _by_row(shown, width or 0)
        return
    while room is not None and sum(widths) > room:
        # the column gives way that has most to give
        place = max(range(len(widths)), key=lambda n: (widths[n] > least[n], widths[n]))
        widths[place] -= 1
    for row in shown:
        parts = [wrap(cell, size) for cell, size in zip(row, widths, strict=True)]
        for number in range(max(map(len, parts))):
            cells = [part[number] if number < len(part) else "" for part in parts]
            padded = (cell.ljust(size) for cell, size in zip(cells, widths, strict=True))
            yield (" " * INDENT + (" " * GAP).join(padded)).rstrip()


def _by_row(shown: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Each row as a sentence of `head cell` for every column."""
    heads, *rows = shown
    for row in rows:
        told = ", ".join(f"{head} {cell}" for head, cell in zip(heads, row, strict=True))
        first, further = " " * INDENT, " " * 2 * INDENT
        yield from wrap(
            told, max(width, 4 * INDENT), initial_indent=first, subsequent_indent=further
        )
