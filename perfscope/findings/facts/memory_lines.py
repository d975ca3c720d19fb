"""The lines that keep memory, for the finding of memory that grows."""

from collections.abc import Sequence

from perfscope.attribution.stack_rules import is_user_file
from perfscope.findings.core.finding import Evidence
from perfscope.metrics.results import Results
from perfscope.schema.resources import MemoryLine, MemoryLinesOfRank
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.units import counted, format_bytes, format_seconds

KEPT_LEAST_BYTES = 1024 * 1024  # below it, and next to libraries of 100 MiB, it is no growth
KEPT_LEAST_SHARE = 0.1  # of all that was kept: three lines at most explain it
KEPT_LEAST_COUNT = 3  # allocated once or twice is a buffer, not a leak
MOST_LINES = 3
KEPT = "what it allocates is kept"


@dataclass(frozen=True)
class MemoryLines:
    """What to add to the finding; empty parts where a rank was watched and no line stands out."""

    where: tuple[Frame, ...] = ()  # functions and lines that kept most, most first
    evidence: tuple[Evidence, ...] = ()  # what each kept
    actions: tuple[str, ...] = ()  # what to do, first of all
    advice: tuple[str, ...] = ()  # how to learn more, last of all


def lines_that_keep(results: Results, ranks: Sequence[int]) -> MemoryLines:
    """The lines that kept memory on a growing rank, or how to find them."""
    if not results.memory_detail:
        rank = ranks[0]
        advice = f"perfscope run --memory-detail {rank} -- ... names the lines that keep it."
        return MemoryLines(advice=(advice,))
    # Ranks run one program: a rank that was watched and has memory left to reuse tells as well.
    detail = max(results.memory_detail, key=lambda found: (found.rank in ranks, _length_s(found)))
    if detail.is_whole_life:
        return MemoryLines()
    lines = [line for line in detail.lines if _stands_out(line, detail)][:MOST_LINES]
    if not lines:
        return MemoryLines()
    place = f"{lines[0].file}:{lines[0].line}"
    return MemoryLines(
        where=tuple(Frame(line.function, line.file, line.line) for line in lines),
        evidence=tuple(_evidence(line, detail) for line in lines),
        actions=(
            (
                f"Free or reuse the memory of {place}: "
                f"{'the process grew there' if detail.is_growth else KEPT}, "
                f"{format_bytes(lines[0].kept_bytes)} in {format_seconds(_length_s(detail))} "
                f"on rank {detail.rank}."
            ),
        ),
    )


def _length_s(detail: MemoryLinesOfRank) -> float:
    start, end = detail.window_s
    return end - start


def _stands_out(line: MemoryLine, detail: MemoryLinesOfRank) -> bool:
    """The user's own, large, a good part of all that was kept, and allocated again and again."""
    share = line.kept_bytes / max(1, detail.kept_bytes)
    return (
        is_user_file(line.file)
        and line.kept_bytes >= KEPT_LEAST_BYTES
        and share >= KEPT_LEAST_SHARE
        and line.count >= KEPT_LEAST_COUNT
    )


def _evidence(line: MemoryLine, detail: MemoryLinesOfRank) -> Evidence:
    name = line.function or "the line"
    times = counted(line.count, "time" if detail.is_growth else "allocation")
    length = format_seconds(_length_s(detail))
    text = f"{format_bytes(line.kept_bytes)} in {times} over {length}"
    what = "Growth at" if detail.is_growth else "Kept by"
    return Evidence(f"{what} {name} ({detail.engine})", text, "", "0 B")
