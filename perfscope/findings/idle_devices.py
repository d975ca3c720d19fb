"""Accelerators that have nothing to do, and what their host does meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfscope.findings import thresholds
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.findings.thresholds import judge as status_of
from perfscope.metrics.ledger import Account
from perfscope.units import format_share

if TYPE_CHECKING:
    from perfscope.metrics.devices import DeviceUse
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

ID = "idle_devices"

_WHAT: dict[Account, tuple[str, str]] = {
    Account.INPUT_WAIT: (
        "the host waits for input",
        (
            "Prepare batches ahead in more worker processes (DataLoader: num_workers, "
            "prefetch_factor, pin_memory), or store the data so that a sample needs less work."
        ),
    ),
    Account.TRAINING: (
        "the host prepares and launches the next work",
        (
            "Give each launch more work (larger batches, torch.compile, CUDA graphs), and keep the "
            "host from waiting inside a step (.item(), printing a loss, copies to the host)."
        ),
    ),
    Account.EVALUATION: (
        "the host evaluates",
        "Evaluate on all ranks and on the devices, or less often.",
    ),
    Account.CHECKPOINT: (
        "a checkpoint is written",
        "Write checkpoints in the background, or less often.",
    ),
    Account.COMMUNICATION_WAIT: (
        "the host waits for other ranks",
        "Look at the rank that arrives late, under Communication.",
    ),
    Account.COMMUNICATION_TRANSFER: (
        "the host communicates",
        "Let the devices communicate (backend nccl) while they compute.",
    ),
}
_OTHER = ("the host does something that has no name", "Mark phases, so that this time has a name.")


def judge(results: Results, _: Replay) -> Finding:
    """Whether devices are idle long enough to act on, and while the host does what."""
    assert results.devices is not None
    devices = results.devices.devices
    window_s = sum(device.use.window_ns for device in devices) * 1e-9
    idle_s = sum(device.use.idle_ns for device in devices) * 1e-9
    share = idle_s / window_s if window_s else 0.0
    if share < thresholds.IDLE_DEVICES_SHARE:
        return Finding(
            ID,
            Status.PASS,
            title="The devices are busy",
            summary=f"They were idle for {format_share(share)} of the time.",
        )
    account = _main_cause(devices)
    what, action = _WHAT.get(account, _OTHER)
    gain_s = max(device.idle_s.get(account, 0.0) for device in devices)
    gain_share = gain_s / (results.focus.length_ns * 1e-9)
    of_idle = sum(device.idle_s.get(account, 0.0) for device in devices) / idle_s
    return Finding(
        id=ID,
        status=status_of(None, gain_share),
        title=f"Devices are idle {format_share(share)} of the time, mostly while {what}",
        summary=(
            f"In {format_share(of_idle)} of the idle time {what}. The gain is an upper bound: "
            "the time that the device that waited longest would save if this took no time."
        ),
        gain_s=gain_s,
        gain_share=gain_share,
        gain_basis="upper_bound",
        confidence=Confidence.HIGH if of_idle > 0.5 else Confidence.MEDIUM,
        ranks=tuple(sorted({device.rank for device in devices})),
        evidence=_evidence(devices, share),
        actions=(action,),
    )


def _main_cause(devices: tuple[DeviceUse, ...]) -> Account:
    """What the hosts did during most of the idle time."""
    totals: dict[Account, float] = {}
    for device in devices:
        for account, seconds in device.idle_s.items():
            totals[account] = totals.get(account, 0.0) + seconds
    return max(totals, key=lambda account: totals[account])


def _evidence(devices: tuple[DeviceUse, ...], share: float) -> tuple[Evidence, ...]:
    compute = sum(device.use.compute_ns for device in devices)
    window = sum(device.use.window_ns for device in devices)
    exposed = sum(device.use.exposed_communication_ns for device in devices)
    return (
        Evidence("Idle", share, "ratio", f"below {thresholds.IDLE_DEVICES_SHARE:g}"),
        Evidence("Computing", compute / window, "ratio"),
        Evidence("Communicating without computing", exposed / window, "ratio"),
    )


def _is_measured(results: Results) -> bool:
    return results.devices is not None


DIAGNOSIS = Diagnosis(
    ID,
    "Devices have nothing to do",
    "Time in which an accelerator runs nothing, by what its host does meanwhile.",
    judge,
    applies=_is_measured,
)
