"""What findings about accelerators have in common: whether there are any, and what time costs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perfscope.attribution.soundness import why_spoiled
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.finding import Gain, Quiet, not_measured
from perfscope.findings.core.gain import saved
from perfscope.metrics.devices.devices import DevicesResult
from perfscope.metrics.results import Results
from perfscope.schema.enums import Status
from perfscope.structures import dataclass
from perfscope.trace.damage import Need
from perfscope.trace.metadata import noted_environment, noted_framework
from perfscope.units import NS, capitalized, format_seconds

NO_COMMON_MOMENT = (
    "What profilers watched has no moment in common with all these ranks and with the analyzed "
    "time: record the same steps on all ranks, inside of it."
)
OF_TENSORFLOW = f"TensorFlow's own profiler shows it: {wording.IN_TENSORBOARD}."
HOW = (
    "Record some steps with PyTorch's profiler: perfscope run --torch-profiler 20:30. "
    "Traces of other profilers (Kineto, OTF2) can be given beside the recording."
)


@dataclass(frozen=True)
class DeviceLoss:
    """What time of devices is worth: a bound for the run, or nothing where a part was watched.

    `status` is by the share of the time that was watched; of steps that a profiler watched nobody
    knows how like the others they are, so that there are no seconds of the run. Nor are there any
    where ranks are missing: the run may wait for one of these.
    """

    gain: Gain | None
    status: Status
    during: str

    def about(self, text: str) -> str:
        """The beginning of a sentence: when it was so, and what."""
        return self.during + text if self.during else capitalized(text)

    @property
    def bound(self) -> str:
        """A sentence about the bound, "" where there is none."""
        if self.gain is None:
            return ""
        return (
            f" The gain is all that this concerns: about {format_seconds(self.gain.seconds)}, of "
            "the device that would save most."
        )


def device_gain(results: Results, found: DevicesResult, seconds: Sequence[float]) -> DeviceLoss:
    """The price of time that each device would save."""
    most = max(seconds, default=0.0)
    window_s = (found.window_ns[1] - found.window_ns[0]) * NS
    share = most / window_s if window_s > 0 else 0.0
    status = thresholds.by_bound(share)
    if found.is_part:
        during = f"In the {format_seconds(window_s)} that a profiler watched, "
        return DeviceLoss(None, status, during)
    if why_spoiled(results.damage, Need.EVERY_RANK):
        return DeviceLoss(None, status, "")
    return DeviceLoss(saved(results, most), status, "")


def unpriced(worth: DeviceLoss) -> DeviceLoss:
    """Of time whose cause is not known: nobody can say what would be gained, or that it is bad."""
    status = Status.WARN if worth.status is Status.FAIL else worth.status
    return replace(worth, gain=None, status=status)


def has_accelerators(results: Results) -> bool:
    """Whether a rank uses an accelerator, as far as anything tells."""
    if results.devices is not None or results.gpus.used:
        return True
    return any(torch_devices(rank.metadata) for rank in results.trace.ranks)


def torch_devices(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The devices on which PyTorch held memory in a rank."""
    told = noted_framework(metadata, "torch").get("devices")
    found = [one for one in told if isinstance(one, Mapping)] if isinstance(told, list) else []
    return [one for one in found if one.get("reserved_bytes")]


def variable(results: Results, name: str) -> str | None:
    """An environment variable of the first rank that has it."""
    for rank in results.trace.ranks:
        environment = noted_environment(rank.metadata)
        if name in environment:
            return environment[name]
    return None


def how_to_watch(results: Results) -> str:
    """The profiler that would show what the accelerators did, for the framework of the job."""
    return OF_TENSORFLOW if is_of_tensorflow(results) else HOW


def is_of_tensorflow(results: Results) -> bool:
    """Whether the job computes with TensorFlow, and not with PyTorch."""
    return "tensorflow" in results.libraries and "torch" not in results.libraries


def is_of_torch(results: Results) -> bool:
    """Whether the job computes with PyTorch: only then its functions are any advice."""
    return "torch" in results.libraries


def not_watched(results: Results) -> Quiet:
    """That no profiler watched the accelerators of this run, and what would."""
    if any(rank.devices is not None and rank.devices.numbers for rank in results.trace.ranks):
        text = NO_COMMON_MOMENT
    else:
        text = f"No profiler watched the accelerators. {how_to_watch(results)}"
    return not_measured(text)


def need_devices(results: Results) -> Quiet | None:
    """Why a finding about what accelerators did cannot be made; None where they were watched."""
    found = results.devices
    if found is not None and (reason := found.partial_reason):
        return not_measured(f"{capitalized(reason)}. Record all kernels.")
    return None if found is not None else not_watched(results)
