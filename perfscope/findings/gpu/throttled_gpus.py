"""GPUs that clock lower than they could, for heat or for power that is not there."""

from perfscope.findings.core import thresholds
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.gpu_facts import MOST_GPUS, has_gpus, named, not_sampled
from perfscope.metrics.devices.gpus import GpuUse
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.devices import HEAT, POWER, Throttling
from perfscope.units import format_share

THROTTLED_WARN = 0.1  # of the busy samples, slowed for heat or for power that is not there
THROTTLED_FAIL = 0.5


def judge(run: Facts) -> Outcome:
    """Whether GPUs with work were slowed for heat or a power brake, and for how long."""
    results = run.results
    judged = [
        use
        for use in results.gpus.used
        if use.judged_samples >= thresholds.GPU_WATCHED_LEAST_SAMPLES
    ]
    if not judged:
        return not_measured(
            "The driver told in too few samples of busy GPUs whether they are slowed down: record "
            "at least 10 s of work. Divided GPUs (MIG) and old drivers do not tell it."
        )
    worst = max(judged, key=slowed)
    share = slowed(worst)
    if share < THROTTLED_WARN:
        return passed(
            f"At most {format_share(share)} of a GPU's busy samples were slowed by heat or power.",
            Confidence.MEDIUM,
        )
    heat = _share(worst, HEAT)
    cause = "heat" if heat >= _share(worst, POWER) else "a power brake"
    return Finding(
        status=Status.FAIL if share >= THROTTLED_FAIL else Status.WARN,
        title=f"{named(worst)} is slowed down by {cause} {format_share(share)} of its busy time",
        summary=f"{_clocks(worst)}All ranks wait for the slowest GPU when they exchange gradients.",
        confidence=Confidence.HIGH,
        ranks=worst.ranks,
        evidence=_evidence(results),
        actions=(
            "Have the cooling of this node looked at; nvidia-smi -q -d PERFORMANCE,TEMPERATURE "
            "shows it."
            if cause == "heat"
            else "Have the power supply of this node looked at: nvidia-smi -q -d POWER.",
            "Until then leave the node out of the job.",
        ),
        overlaps=("load_imbalance", "straggler"),
    )


def slowed(use: GpuUse) -> float:
    """Share of the busy samples with a reason that is a fault; reasons may come together."""
    return max(_share(use, HEAT), _share(use, POWER))


def _share(use: GpuUse, reasons: Throttling) -> float:
    return max((share for reason, share in use.throttled.items() if reason & reasons), default=0.0)


def _clocks(use: GpuUse) -> str:
    if use.sm_mhz is None or not use.gpu.sm_mhz:
        return ""
    return f"Its processors ran at {use.sm_mhz:,.0f} of {use.gpu.sm_mhz:,.0f} MHz on average. "


def _evidence(results: Results) -> tuple[Evidence, ...]:
    rows = []
    for use in sorted(results.gpus.used, key=slowed, reverse=True)[:MOST_GPUS]:
        rows.append(Evidence(f"Slowed, {named(use)}", slowed(use), "ratio", "0"))
        if use.celsius is not None:
            rows.append(Evidence(f"Highest temperature of {named(use)}", use.celsius, "degrees C"))
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    "throttled_gpus",
    "GPUs are slowed down",
    "Counts samples in which the driver slowed a GPU with work for heat or for a power brake.",
    judge,
    passed="The GPUs keep their clocks",
    applies=has_gpus,
    intact=RANK_BY_RANK,
    needs=(not_sampled,),
    evidence="share of the busy samples, clocks, temperature",
    counts_from=f"{100 * THROTTLED_WARN:g} % warns, {100 * THROTTLED_FAIL:g} % fails",
    rank=340,
    references=(
        (
            "NVML, clocks event reasons: "
            "https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html"
        ),
    ),
)
