"""Threads of the ranks that have nothing to compute while others compute."""

from dataclasses import replace

from perfscope.findings.core import thresholds
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.core.gain import saved
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.efficiency.hybrid import ThreadWork, has_threads, thread_work
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.units import format_ratio, format_seconds, format_share

IDLE_THREADS_FAIL = 0.2
ACTIONS = (
    (
        "Parallelize the serial parts between parallel regions: a timeline of the threads shows "
        "where one computes alone."
    ),
    (
        "Where threads wait inside a region, deal out smaller chunks (schedule(dynamic)) or look "
        "for a lock that they share."
    ),
    "Or start fewer threads: measure the run with half as many.",
)
MOST_RANKS = 8


def judge(run: Facts) -> Outcome:
    """How much of the run the threads beside the main ones lose; the gain is an upper bound."""
    results = run.results
    work = thread_work(results.trace, results.focus)
    if isinstance(work, str):
        return not_measured(f"Not known: {work}.")
    parallel = work.parallel_efficiency
    ranks = _efficiency_of_ranks(results, work)
    gain_s = max(0.0, work.window_s - max(sum(own) / len(own) for own in work.useful_s))
    share = gain_s / work.window_s
    lost = 1.0 - parallel / ranks if ranks else 0.0
    status = _status(lost, share)
    if status is Status.PASS:
        return passed(f"They compute {format_share(parallel)} of the time.")
    return Finding(
        status=status,
        title=(
            f"{work.threads} threads compute {format_share(parallel)} of the time: work is not "
            "spread over them"
        ),
        summary=(
            f"The busiest thread computes {format_seconds(work.longest_s)}, all together "
            f"{format_seconds(sum(map(sum, work.useful_s)))} of "
            f"{format_seconds(work.threads * work.window_s)}. Spread evenly over the threads of "
            "each rank, without MPI and without any waiting, that would be a run of "
            f"{format_seconds(work.window_s - gain_s)}."
        ),
        gain=replace(saved(results, gain_s), share=share),
        confidence=Confidence.MEDIUM,
        ranks=tuple(rank.number for rank in results.trace.ranks),
        evidence=_evidence(results, work, ranks),
        actions=ACTIONS,
    )


def _efficiency_of_ranks(results: Results, work: ThreadWork) -> float:
    """Efficiency that the ranks would have if all threads computed whenever the rank is not in MPI.

    BSC's MPI parallel efficiency of hybrid runs: M t summed over ranks, of T t.
    """
    counts = [len(own) for own in work.useful_s]
    outside = results.efficiency.outside_s
    spent = sum(seconds * count for seconds, count in zip(outside, counts, strict=True))
    return spent / (work.window_s * sum(counts))


def _status(lost: float, share: float) -> Status:
    if lost < thresholds.FAIL_SHARE_UPPER_BOUND or share < thresholds.WARN_SHARE:
        return Status.PASS
    return Status.FAIL if lost >= IDLE_THREADS_FAIL else Status.WARN


def _evidence(results: Results, work: ThreadWork, ranks: float) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Parallel efficiency of all threads", work.parallel_efficiency, "ratio", "1"),
        Evidence("Of it, efficiency of the ranks (outside MPI)", ranks, "ratio", "1"),
        Evidence(
            "Of it, efficiency of the threads inside the ranks",
            work.parallel_efficiency / ranks if ranks else 0.0,
            "ratio",
            "1",
        ),
    ]
    pairs = list(zip(results.trace.ranks, work.useful_s, strict=True))
    pairs.sort(key=lambda pair: sum(pair[1]) / len(pair[1]))
    for rank, own in pairs[:MOST_RANKS]:
        busy = ", ".join(format_seconds(seconds) for seconds in own[:MOST_RANKS])
        more = ", ..." if len(own) > MOST_RANKS else ""
        average = format_ratio(sum(own) / len(own) / work.window_s)
        rows.append(
            Evidence(f"Rank {rank.number}, computing by thread", f"{busy}{more} ({average})")
        )
    return tuple(rows)


def _applies(results: Results) -> bool:
    return has_threads(results.trace)


DIAGNOSIS = Diagnosis(
    id="idle_threads",
    title="Threads of the ranks have nothing to compute",
    description=(
        "Compares the time that each thread of a rank computed with the time that the rank "
        "was outside MPI, in traces that show several threads (Paraver, OTF2)."
    ),
    judge=judge,
    applies=_applies,
    passed="The threads of the ranks compute nearly all the time",
    evidence=(
        "computing time of each thread, efficiency of all threads, of the ranks, and of the "
        "threads inside them"
    ),
    gain_from=(
        "the run less the longest of the ranks' work spread evenly over its threads: an upper bound"
    ),
    counts_from=(
        f"{100 * thresholds.FAIL_SHARE_UPPER_BOUND:g} % of the time outside MPI warns, "
        f"{100 * IDLE_THREADS_FAIL:g} % fails"
    ),
    rank=230,
    references=(
        "POP Centre of Excellence, hybrid efficiencies: https://co-design.pop-coe.eu/metrics/",
        "OpenMP, OMP_NUM_THREADS: https://www.openmp.org/spec-html/5.2/openmpse62.html",
    ),
)
