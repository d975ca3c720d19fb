"""Two activities of one call are one finding with what both take, in closed form."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.losses.entry import NoSaving
from perfscope.losses.savings import Savings
from perfscope.schema.enums import Activity
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 40
MAIN = ("main", "/job/train.py", 40)
SOLVES = ("numpy.linalg.solve", "<built-in>", 0)
TAKE = ("take", "/job/train.py", 37)
OTHER_LINE = ("take", "/job/train.py", 38)
ITEM = ("NpzFile.__getitem__", "/env/site-packages/numpy/lib/npyio.py", 250)
INDEX = ("Index.load", "/env/site-packages/indexed/files.py", 20)
UNPACKS = ("zlib.Decompress.decompress", "<built-in>", 0)
READS = ("io.BufferedReader.read", "<built-in>", 0)
Frames = tuple[tuple[str, str, int], ...]


def loud(unpacks: Frames, reads: Frames) -> list[Finding]:
    """What is told of 40 ms of unpacking and 20 ms of reading in each step of 200 ms."""
    builder = TraceBuilder(2, end_s=3.0 + 0.2 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.2):
        for tick in range(19):
            work = unpacks if tick in (3, 4, 9, 10) else reads if tick in (6, 7) else (SOLVES,)
            rank.stack(begin + 0.01 * tick, (MAIN, *work))
        rank.op("MPI_Allreduce", begin + 0.19, begin + 0.1999, seq=step)
    told = analyze_trace(builder.build()).findings.values()
    return [one for one in told if one.status.is_fault and "take()" in one.title]


def test_what_one_call_unpacks_and_reads_is_one_finding_with_the_sum() -> None:
    (found,) = loud((TAKE, ITEM, UNPACKS), (TAKE, ITEM, READS))
    assert found.title.startswith("Decompressing data and file I/O take 2.40 s per ")
    assert found.gain_s == pytest.approx(0.06 * STEPS, rel=0.01)
    assert found.actions[0].startswith("In take() (train.py:37)")
    assert [one.label for one in found.evidence] == [
        f"{one.label} at take() (train.py:37)" for one in (Activity.UNPACKING, Activity.FILES)
    ]
    assert [one.value for one in found.evidence] == [
        pytest.approx(2 * share * STEPS, rel=0.01) for share in (0.04, 0.02)
    ]


@pytest.mark.parametrize(
    "reads",
    [
        (OTHER_LINE, ITEM, READS),
        (TAKE, INDEX, READS),
    ],
)
def test_other_lines_and_other_calls_are_findings_by_themselves(reads: Frames) -> None:
    first, second = loud((TAKE, ITEM, UNPACKS), reads)
    assert first.gain_s == pytest.approx(0.04 * STEPS, rel=0.01)
    assert second.gain_s == pytest.approx(0.02 * STEPS, rel=0.01)


def test_both_are_told_where_nothing_can_be_said_of_what_they_save_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound = Savings.bound
    monkeypatch.setattr(
        Savings,
        "bound",
        lambda self, edits, *, after=(): (
            bound(self, edits, after=after) if len(edits) < 2 else NoSaving("planted")
        ),
    )
    first, second = loud((TAKE, ITEM, UNPACKS), (TAKE, ITEM, READS))
    assert first.gain_s == pytest.approx(0.04 * STEPS, rel=0.01)
    assert second.gain_s == pytest.approx(0.02 * STEPS, rel=0.01)
