"""GPUs in which a kernel runs only a small part of the time, as far as the driver tells."""

from perfscope.attribution.ledger import ACCOUNTS
from perfscope.findings.core import thresholds
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_applicable, not_measured, passed
from perfscope.findings.facts.device_facts import how_to_watch
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.gpu_facts import (
    MOST_GPUS,
    has_gpus,
    loaded_frameworks,
    named,
    not_sampled,
    ranks_of,
)
from perfscope.metrics.devices.gpus import GpuUse
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account, Confidence, Status
from perfscope.units import NS, counted, format_seconds, format_share

GPU_BUSY_WARN = 0.5  # of the time with a kernel: at least half of the accelerator is not used
GPU_BUSY_FAIL = 0.3  # well-fed training is above 0.8; this is a fault and no matter of taste
GPU_WATCHED_LEAST_S = 10.0  # the driver's own intervals last up to 1 s: less is a few numbers
_HINTS = {
    Account.INPUT_WAIT: "their ranks wait for input",
    Account.COMMUNICATION_WAIT: "their ranks wait for other ranks",
    Account.EVALUATION: "their ranks evaluate",
    Account.CHECKPOINT: "their ranks write checkpoints",
    Account.IO: "their ranks read and write files",
}
HINT_SHARE = 0.1


def judge(run: Facts) -> Outcome:
    """Whether the GPUs of the ranks have work most of the time, where only the driver tells."""
    results = run.results
    if unknown := not_sampled(results):
        return _idle_beside_a_framework(results) or unknown
    if results.devices is not None and not results.devices.is_part:
        return not_applicable("A profiler watched the devices: see idle_devices.")
    known = [use for use in results.gpus.used if use.busy is not None]
    if reason := _too_little(known, how_to_watch(results)):
        return not_measured(reason)
    mean = _mean(known)
    worst = min(known, key=lambda use: use.busy or 0.0)
    if mean >= GPU_BUSY_WARN:
        return passed(
            f"A kernel ran {format_share(mean)} of the time watched, on average of "
            f"{counted(len(known), 'GPU')}.",
            Confidence.MEDIUM,
        )
    if results.devices is not None:
        return _beside_a_profile(known, mean)
    hint = _hint(results, ranks_of(known))
    return Finding(
        status=Status.FAIL if mean < GPU_BUSY_FAIL else Status.WARN,
        title=f"GPUs run kernels only {format_share(mean)} of the time watched",
        summary=(
            f"By the driver's samples; the least busy is {named(worst)} with "
            f"{format_share(worst.busy or 0.0)}.{f' Meanwhile {hint}.' if hint else ''} What they "
            "wait for is seen only by a profiler."
        ),
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(known),
        evidence=_evidence(known),
        actions=(
            f"A profiler tells what the GPUs wait for. {how_to_watch(results)}",
            "Larger batches and mixed precision use a GPU better, where its memory allows.",
        ),
        overlaps=(
            *("idle_devices", "data_stall", "load_imbalance", "straggler"),
            "rank_zero_evaluation",
        ),
    )


def _beside_a_profile(known: list[GpuUse], mean: float) -> Finding:
    """Some steps were profiled too, and the finding about them says what the GPUs waited for."""
    return Finding(
        status=Status.INFO,
        title=f"GPUs run kernels only {format_share(mean)} of the time watched",
        summary="By the driver's samples. idle_devices says what they wait for in profiled steps.",
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(known),
        evidence=_evidence(known),
        actions=("Act on what idle_devices says of the profiled steps.",),
        overlaps=("idle_devices",),
    )


def _idle_beside_a_framework(results: Results) -> Finding | None:
    """A job of a framework for GPUs, on a node with GPUs of which none did anything."""
    frameworks = loaded_frameworks(results)
    gpus = results.gpus.gpus
    if not gpus or not frameworks or any(use.busy is None or use.busy > 0 for use in gpus):
        return None
    if max(use.samples for use in gpus) < thresholds.GPU_WATCHED_LEAST_SAMPLES:
        return None
    count = len(gpus)
    return Finding(
        Status.INFO,
        title=f"The {counted(count, 'GPU')} of the node did nothing",
        summary=f"The job uses {frameworks[0]}, and no rank was seen on a GPU.",
        confidence=Confidence.MEDIUM,
        actions=("Move model and batches to the device, or do not ask for GPUs.",),
    )


def _too_little(known: list[GpuUse], how: str) -> str:
    """Why nothing can be said; "" where enough was sampled."""
    if not known:
        return (
            "The driver does not tell the utilization of these GPUs (as of divided ones, MIG). "
            f"{how}"
        )
    samples = max(use.samples for use in known)
    watched_s = max(use.watched_s for use in known)
    if watched_s >= GPU_WATCHED_LEAST_S and samples >= thresholds.GPU_WATCHED_LEAST_SAMPLES:
        return ""
    return (
        f"The GPUs were sampled {samples} times in {format_seconds(watched_s)}, which is too "
        f"little: record at least {format_seconds(GPU_WATCHED_LEAST_S)}. {how}"
    )


def _mean(known: list[GpuUse]) -> float:
    return sum(use.busy or 0.0 for use in known) / len(known)


def _hint(results: Results, ranks: tuple[int, ...]) -> str:
    """What the hosts of the GPUs do for a tenth of the time or more, besides training."""
    places = [place for place, rank in enumerate(results.ledger.ranks) if rank in ranks]
    length_s = results.focus.length_ns * NS * len(places)
    shares = {
        words: sum(results.ledger.ns[ACCOUNTS.index(account)][p] for p in places) * NS / length_s
        for account, words in _HINTS.items()
        if length_s > 0
    }
    words, share = max(shares.items(), key=lambda pair: pair[1], default=("", 0.0))
    return f"{words} for {format_share(share)} of it" if share >= HINT_SHARE else ""


def _evidence(known: list[GpuUse]) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Time with a kernel, mean", _mean(known), "ratio", "above 0.8"),
    ]
    rows += [
        Evidence(f"{named(use)}, {use.samples} samples", use.busy or 0.0, "ratio")
        for use in sorted(known, key=lambda use: use.busy or 0.0)[:MOST_GPUS]
    ]
    powers = [use.power_w / use.gpu.power_w for use in known if use.power_w and use.gpu.power_w]
    if powers:
        rows.append(Evidence("Power of its limit, mean", sum(powers) / len(powers), "ratio"))
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    "gpu_utilization",
    "GPUs have little to do",
    (
        "Share of time in which a kernel runs on the GPUs of the ranks, where the driver's "
        "samples are all there is."
    ),
    judge,
    passed="The GPUs have work",
    applies=has_gpus,
    intact=RANK_BY_RANK,
    evidence="share of time with a kernel by GPU, power of its limit",
    counts_from=(
        f"{GPU_WATCHED_LEAST_S:g} s sampled; below {100 * GPU_BUSY_WARN:g} % warns, below "
        f"{100 * GPU_BUSY_FAIL:g} % fails"
    ),
    rank=310,
    references=(
        (
            "NVML, nvmlDeviceGetUtilizationRates: "
            "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"
        ),
    ),
)
