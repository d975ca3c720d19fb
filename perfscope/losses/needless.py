"""Training work that need not be done, or not so: the same again, and on slow operands."""

from collections import defaultdict
from collections.abc import Iterator

from perfscope.judging import MOST_LOST
from perfscope.losses.cause import LossCause
from perfscope.metrics.host.hot_lines import (
    HotLine,
    LineSamples,
    hot_lines,
    queued_by_job,
    repeated,
)
from perfscope.metrics.host.run_queue import CpuWait
from perfscope.metrics.host.slow_operands import PARTS, part_of, slowed
from perfscope.metrics.results import Results
from perfscope.schema.enums import LossKind

Seconds = defaultdict[int, defaultdict[LossCause, float]]
"""By the number of a rank the seconds that causes took."""


def needless_s(results: Results) -> Seconds:
    """What of each rank's work was needless, by kind and function, while it had a CPU.

    What repeats itself counts as that, on whatever operands it works.
    """
    told = results.worked_on
    found: Seconds = defaultdict(lambda: defaultdict(float))
    if not any(told):
        return found
    had_a_cpu = {one.rank: _left(one) for one in results.resources.cpu_waits}
    samples = LineSamples(results)
    lines = hot_lines(results, told, samples)
    again = repeated(results, told, lines, samples)
    repeats = [one for own in again.values() for one in own]
    for cause, line in _causes(lines, repeats, samples):
        found[line.rank.number][cause] += had_a_cpu.get(line.rank.number, 1.0) * line.seconds
    return found


def _left(waits: CpuWait) -> float:
    """Of a line's time without waiting for threads of the job, what others did not have either."""
    return (1.0 - min(waits.in_work_share, MOST_LOST)) / (1.0 - queued_by_job(waits))


def _causes(
    lines: tuple[HotLine, ...], again: list[HotLine], samples: LineSamples
) -> Iterator[tuple[LossCause, HotLine]]:
    """What is needless of lines, with the seconds of that."""
    sites = {(line.rank.number, id(line.site)) for line in again}
    for line in again:
        yield LossCause(LossKind.REPEATED_WORK, function=line.function), line
    for line in lines:
        part = max(part_of(line, cause) for cause in PARTS)
        if part > 0.0 and (line.rank.number, id(line.site)) not in sites:
            slow = slowed(line, part, samples)
            yield LossCause(LossKind.SLOW_OPERANDS, function=line.function), slow
