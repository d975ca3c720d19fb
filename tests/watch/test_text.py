"""What a terminal shows of a picture, however wide it is."""

import pytest

from perfscope.watch.blocks import Block
from perfscope.watch.text import lines

HEADS = ("rank", "now", "for", "line")
ROWS = [
    ("0", "MPI_Allreduce #300 on MPI_COMM_WORLD", "3 min 01 s", "<module> (job.py:19)"),
    ("1", "computing", "190 ms", "–"),
]


@pytest.mark.parametrize("width", [120, 80, 62, 40, 24])
def test_a_table_fits_its_line_and_loses_nothing(width: int) -> None:
    shown = [line.plain for line in lines([Block("Ranks", heads=HEADS, rows=ROWS)], width)]
    assert max(map(len, shown)) <= width
    words = " ".join(shown).replace(",", "").split()
    for cell in (*HEADS, *(cell for row in ROWS for cell in row)):
        assert set(cell.split()) <= set(words)


def test_a_table_is_as_wide_as_it_is_where_there_is_no_line() -> None:
    [_, heads, first, second] = lines([Block("Ranks", heads=HEADS, rows=ROWS)])
    assert heads.plain.index("line") == first.plain.index("<module>") == second.plain.index("–")
