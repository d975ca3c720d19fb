"""What one line takes by several activities, or once, in closed form."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.findings.losses import one_place
from perfscope.findings.losses.one_place import AT_ONCE, KEPT
from perfscope.losses.cause import LossCause
from perfscope.losses.entry import Entry
from perfscope.schema.enums import Activity, Basis, LossKind, Status
from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import RankBuilder, TraceBuilder

STEPS = 40
STEP_S = 0.5
SOLVES = (("main", "/job/index.py", 40), ("numpy.linalg.solve", "<built-in>", 0))
LINE = ("main", "/job/index.py", 66)
DUMPS = ("dump", "/usr/lib/python3.11/json/__init__.py", 179)
MAKES = (LINE, DUMPS, ("_iterencode", "/usr/lib/python3.11/json/encoder.py", 430))
WRITES = (LINE, DUMPS, ("io.TextIOWrapper.write", "<built-in>", 0))
LOADS = ("loads", "/usr/lib/python3.11/json/__init__.py", 299)
PARSES = (LINE, LOADS, ("raw_decode", "/usr/lib/python3.11/json/decoder.py", 353))
READS = (
    LINE,
    ("Path.read_text", "/usr/lib/python3.11/pathlib.py", 1059),
    ("io.TextIOWrapper.read", "<built-in>", 0),
)
Stack = tuple[tuple[str, str, int], ...]


def write(rank: RankBuilder, begin: float, seconds: float, *stacks: Stack) -> None:
    """Objects become text and text is written, by turns."""
    for tick in range(round(seconds / 0.01)):
        rank.stack(begin + 0.01 * tick, stacks[tick % 2])


def written(
    *,
    end_s: float = 0.0,
    step_s: float = 0.0,
    start_s: float = 0.0,
    stacks: tuple[Stack, Stack] = (MAKES, WRITES),
) -> dict[str, Finding]:
    """Two ranks that write at the start, at the end of each step, and at the end of the run."""
    length_s = start_s + STEPS * (STEP_S + step_s) + end_s
    builder = TraceBuilder(2, end_s=2.0 + length_s)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + length_s)
        write(rank, 1.0, start_s, *stacks)
        for step in range(STEPS):
            begin = 1.0 + start_s + step * (STEP_S + step_s)
            for tick in range(40):
                rank.stack(begin + 0.01 * tick, SOLVES)
            write(rank, begin + 0.4, step_s, *stacks)
            end = begin + STEP_S + step_s
            first = begin - (start_s if step == 0 else 0.0)
            rank.step(step, first, end).op("MPI_Allreduce", end - 0.1, end, comm=0, seq=step)
        write(rank, 1.0 + length_s - end_s, end_s, *stacks)
    return analyze_trace(builder.build()).findings


def loud(findings: dict[str, Finding]) -> list[Finding]:
    return [one for one in findings.values() if one.status.is_fault and "index.py:66" in one.title]


def test_what_is_written_once_at_the_end_is_told() -> None:
    (found,) = loud(written(end_s=4.0))
    assert found.status is Status.FAIL
    assert "json.dump takes " in found.title
    assert "once" in found.title
    assert found.actions[0].endswith(AT_ONCE[1:])
    assert found.actions[0].startswith(f"In {LINE[0]}() (")
    assert found.gain_basis is Basis.UPPER_BOUND
    assert found.gain_s == pytest.approx(4.0, rel=0.01)
    assert not loud(written(end_s=0.2))


@pytest.mark.parametrize("called", ["time.sleep", "subprocess.run"])
def test_what_a_program_waits_for_once_behind_its_steps_is_told(called: str) -> None:
    """Nothing is done meanwhile: a rank that sleeps before the last barrier, for example."""
    stack = (LINE, (called, "<built-in>", 0))
    (found,) = loud(written(end_s=4.0, stacks=(stack, stack)))
    assert found.status is Status.FAIL
    assert found.title == f"{called} takes 4.00 s per rank, once, in main() (index.py:66)"
    assert found.gain_s == pytest.approx(4.0, rel=0.01)
    assert not loud(written(start_s=4.0, stacks=(stack, stack)))


def test_two_lines_that_sleep_are_both_told() -> None:
    """By turns, each for half of the time."""
    first, second = ((line, ("time.sleep", "<built-in>", 0)) for line in (LINE, (*LINE[:2], 68)))
    found = written(end_s=4.0, stacks=(first, second))["lost_to_sleep"]
    lines = [one.line for one in found.where]
    assert sorted(lines) == [66, 68]
    where = f"in main() (index.py:{lines[0]}) and line {lines[1]}"
    assert found.title == f"time.sleep takes 4.00 s per rank, once, {where}"
    assert found.actions[0].startswith(f"I{where[1:]}")


def test_two_activities_at_a_line_are_worth_a_word_together() -> None:
    """Of the 2 to 3 % that each of them takes of the run nothing is told by itself.

    The first sample of a step speaks for 5 ms before it as well.
    """
    (found,) = loud(written(step_s=0.02))
    assert found.gain_s == pytest.approx(STEPS * 0.025, rel=0.01)
    assert "once" not in found.title


def test_what_sets_the_job_up_is_told_where_it_is_much_of_the_run() -> None:
    """A sixth of it comes with every job, a third is worth a look."""
    assert not loud(written(start_s=4.0))
    (found,) = loud(written(start_s=10.0))
    assert "once" in found.title
    assert found.gain_s == pytest.approx(10.0, rel=0.01)


def test_what_is_made_and_written_in_each_step_is_one_finding() -> None:
    """Each of the two would be a finding by itself, of the same calls."""
    findings = written(step_s=0.2)
    (found,) = loud(findings)
    assert found.gain_s == pytest.approx(STEPS * 0.2, rel=0.05)
    assert found.actions[0].endswith(AT_ONCE[1:])
    assert found.actions[0].startswith(f"In {LINE[0]}() (")


def test_what_is_read_and_parsed_is_to_be_kept_and_not_written_at_once() -> None:
    (found,) = loud(written(step_s=0.2, stacks=(PARSES, READS)))
    assert found.actions[0].endswith(KEPT[1:])


def entry(activity: Activity, own_s: float, *ranks: int) -> Entry:
    cause = LossCause(LossKind.OTHER_WORK, activity=activity)
    return Entry(cause, round(own_s * 1e9), 0, ranks, frame=Frame(*LINE))


def test_seconds_per_rank_are_of_all_ranks_that_do_any_of_it() -> None:
    """Rank 0 makes for 4 s what both write, for 1 s each: 6 s of two ranks."""
    entries = [entry(Activity.SERIALIZATION, 4.0, 0), entry(Activity.FILES, 2.0, 0, 1)]
    told = one_place._title(entries, (0, 1), None, "Both", verb="take", is_once=False)
    assert told == "Both take 3.00 s per rank, in main() (index.py:66)"
    alone = one_place._title(entries[:1], (0,), None, "It", verb="takes", is_once=True)
    assert alone == "It takes 4.00 s, once, in main() (index.py:66)"


def test_of_one_rank_nothing_is_added_up() -> None:
    assert one_place._take(("One",), (0,)) == "takes"
    assert one_place._take(("One", "Other"), (0,)) == "take"
    assert one_place._take(("One",), (0, 1)) == "takes the ranks together"


def test_one_activity_in_several_patterns_is_told_once() -> None:
    """At a line it may be lost in each step, and once more at the end."""
    entries = [entry(Activity.FILES, 2.0, 0), entry(Activity.FILES, 0.5, 0)]
    entries += [entry(Activity.SERIALIZATION, 1.0, 0)]
    kinds = one_place._kinds(entries)
    assert len(kinds) == 2
    assert [one_place._lost_s(entries, kind) for kind in kinds] == pytest.approx([2.5, 1.0])
