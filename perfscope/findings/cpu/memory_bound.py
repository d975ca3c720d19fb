"""Phases in which the CPUs wait for memory, where hardware counters tell."""

from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.core.wording import exported
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.host.counted_work import CountedWork, counted_work
from perfscope.schema.enums import Confidence, Status
from perfscope.units import format_ratio, format_seconds, format_share

LOW_IPC = 0.7  # instructions per cycle: current CPUs do 2 to 4 in work that fits the cache
MANY_MISSES = 10.0  # misses of the last cache per 1,000 instructions: bound by memory
COUNTED_LEAST_SHARE = 0.05  # of the cycles, below which a phase is not looked at
COUNTERS = "SCOREP_METRIC_PAPI=PAPI_TOT_INS,PAPI_TOT_CYC,PAPI_L3_TCM"
HOW = (
    f"Hardware counters were not recorded: measure with Score-P ({exported(COUNTERS)}) or Extrae, "
    "and give that trace to perfscope analyze."
)


def judge(run: Facts) -> Outcome:
    """Which phase retires few instructions in a cycle, and whether cache misses explain it."""
    results = run.results
    work = counted_work(results)
    if not work:
        return not_measured(HOW)
    cycles = sum(one.cycles for one in work)
    heavy = [one for one in work if one.cycles >= COUNTED_LEAST_SHARE * cycles]
    slow = [one for one in heavy if one.ipc < LOW_IPC]
    if not slow:
        return passed(
            f"{format_ratio(sum(o.instructions for o in work) / cycles)} instructions per cycle.",
            Confidence.MEDIUM,
        )
    worst = max(slow, key=lambda one: one.cycles)
    misses = worst.misses_per_1000
    is_memory = misses is not None and misses >= MANY_MISSES
    return Finding(
        status=Status.WARN if is_memory else Status.INFO,
        title=f"The CPUs wait for memory in {worst.name}"
        if is_memory
        else f"Few instructions per cycle in {worst.name}",
        summary=_summary(worst, worst.cycles / cycles),
        confidence=Confidence.HIGH if is_memory else Confidence.LOW,
        evidence=tuple(_row(one) for one in sorted(heavy, key=lambda one: -one.cycles)[:8]),
        actions=_actions(is_known=misses is not None),
    )


def _summary(worst: CountedWork, share: float) -> str:
    text = (
        f"{worst.name} takes {format_share(share)} of the cycles that were counted and retires "
        f"{worst.ipc:.2f} instructions in each"
    )
    if worst.misses_per_1000 is None:
        return f"{text}. Misses of the last cache were not counted, so the reason is not known."
    return f"{text}, with {worst.misses_per_1000:.1f} misses of the last cache in 1,000."


def _row(one: CountedWork) -> Evidence:
    text = f"{one.ipc:.2f} instructions per cycle"
    if one.misses_per_1000 is not None:
        text += f", {one.misses_per_1000:.1f} misses in 1,000"
    if one.seconds:
        text += f", {format_seconds(one.seconds)}"
    return Evidence(one.name, text, expected=f"above {LOW_IPC:g}")


def _actions(*, is_known: bool) -> tuple[str, ...]:
    if not is_known:
        return (f"Count misses of the last cache as well: {exported(COUNTERS)}.",)
    return (
        (
            "Move less data: smaller types (float32 instead of float64, bfloat16), operations "
            "fused (torch.compile, XLA), blocks that fit the cache."
        ),
        (
            "Use fewer ranks or threads of a socket on this phase: memory that is saturated "
            "serves more of them no faster."
        ),
    )


DIAGNOSIS = Diagnosis(
    id="memory_bound",
    title="The CPUs wait for memory",
    description=(
        "Instructions per cycle and misses of the last cache per thousand instructions, by phase, "
        "where a trace holds hardware counters (PAPI in Score-P's OTF2 and Extrae's Paraver "
        "traces)."
    ),
    judge=judge,
    intact=RANK_BY_RANK,
    passed="Where counters were read, the CPUs do not wait for memory",
    evidence="both, by phase or rank",
    counts_from=(
        f"{LOW_IPC:g} instructions per cycle; {MANY_MISSES:g} misses in 1,000 instructions, "
        "else it is reported (info)"
    ),
    rank=390,
    references=(
        (
            "POP Centre of Excellence, IPC scaling: "
            "https://co-design.pop-coe.eu/metrics/ipc_scaling.html"
        ),
        (
            "PAPI, preset events: "
            "https://icl.utk.edu/projects/papi/wiki/PAPIC:Preset_Event_Definitions"
        ),
    ),
)
