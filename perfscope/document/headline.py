"""The efficiency shown first: that of the devices where they were measured, else of the hosts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from perfscope.attribution.ledger import INDEX
from perfscope.document.standstill import deadlock_s
from perfscope.findings.core import wording
from perfscope.findings.facts.device_facts import has_accelerators
from perfscope.findings.facts.idle_causes import EDGES
from perfscope.metrics.devices.devices import BSC, DevicesResult
from perfscope.metrics.efficiency.pop import are_independent
from perfscope.metrics.results import Results
from perfscope.schema.common import Metric
from perfscope.schema.enums import Absence, Account
from perfscope.schema.run import JudgedEfficiency
from perfscope.structures import dataclass
from perfscope.trace.model import Format
from perfscope.units import NS, format_seconds, format_share

HALF = 0.5
LEAST_TOLD = 0.01
"""Of the run: a smaller part of what passes outside of the analyzed window is not named."""

LEAST_SHARE = 0.001
"""A smaller part of the lost time is not named."""


@dataclass(frozen=True)
class Headline:
    """How well the job used what it ran on, and what the rest was lost to."""

    # `device_efficiency` or `parallel_efficiency`
    id: Literal["device_efficiency", "parallel_efficiency"]
    label: str  # the same in words
    value: float | None  # None with a `reason`
    reason: str | None
    lost_to: str  # a clause on where the rest went, "" where nothing was lost

    @property
    def judged(self) -> JudgedEfficiency:
        """The `efficiency` of the verdict: what gates and headlines look at."""
        return JudgedEfficiency(self.id, self.label, self.value, self.reason)


def headline(results: Results) -> Headline:
    """The efficiency by which the verdict judges a run."""
    found = results.devices
    if found is None:
        whole = _parallel_efficiency(results)
        lost = _communication(results)
        return Headline(
            "parallel_efficiency", "parallel efficiency", whole.value, whole.reason, lost
        )
    tree = found.efficiency[BSC].parallel_efficiency
    return Headline(
        "device_efficiency", "device efficiency", tree.value, tree.reason, _devices(found)
    )


def whole(results: Results) -> tuple[float, str]:
    """What the first screen tells shares of: seconds of a rank, and what they are.

    That is the run, for which its owner pays, and not the part of it that is analyzed; unless that
    part was asked for, or the length of the run is not known, or only kept steps are.
    """
    seconds, name = results.run_s, "run"
    if results.whole_run or results.options.focus is not None or seconds <= 0:
        seconds, name = results.focus.length_ns * NS, "analyzed window"
    return seconds, name


def apart(results: Results) -> str:
    """That the ranks are independent tasks, as a sentence; "" where they are not."""
    if not are_independent(results.trace) or not any(results.efficiency.outside_s):
        return ""
    return f"The {len(results.trace.ranks)} ranks are independent tasks: they never communicate. "


def unwatched(results: Results) -> str:
    """That accelerators were used, or a profiler was there, and nothing tells what they did."""
    if results.devices is not None:
        return ""
    if not results.trace.format.is_profile and not has_accelerators(results):
        return ""
    return (
        " No accelerator activity was recorded: all of this is about the hosts and says little "
        "about a job that computes on devices."
    )


def mostly(results: Results) -> Account | None:
    """The account that took more than half of the ranks' time, None where no account did."""
    return next((one for one in Account if spent(results, one)[1] > HALF), None)


def spent(results: Results, account: Account) -> tuple[float, float]:
    """Seconds of all ranks in an account, and their share of the ranks' time.

    Of a thinned run that is not asked of the kept steps, beside which start-up stands whole.
    """
    if results.whole_run is not None:
        own = (one for one in results.whole_run.accounts if one.account is account)
        return next(((one.seconds, one.share) for one in own), (0.0, 0.0))
    seconds = int(results.ledger.ns[INDEX[account]].sum()) * NS
    return seconds, results.ledger.share(account)


def mean_spent_s(results: Results) -> dict[Account, float]:
    """Seconds in each account, mean of the ranks; without a deadlock at the end of the run."""
    means = {one: spent(results, one)[0] / len(results.trace.ranks) for one in Account}
    means[Account.SHUTDOWN] = max(0.0, means[Account.SHUTDOWN] - deadlock_s(results))
    return means


def outside_s(results: Results, means: Mapping[Account, float]) -> list[tuple[Absence, float]]:
    """Seconds of the run that are in no account, by what is there instead.

    `means` is what `mean_spent_s` tells.
    """
    stuck_s = deadlock_s(results)
    whole_s = max(0.0, results.run_s - sum(means.values()) - stuck_s)
    elsewhere_s = min(whole_s, results.trace.elsewhere_ns * NS)
    is_own = results.trace.format is Format.PERFSCOPE
    rest = Absence.OUTSIDE if is_own else Absence.NOT_IN_TRACE
    return [
        (Absence.DEADLOCK, stuck_s),
        (Absence.ELSEWHERE, elsewhere_s),
        (rest, whole_s - elsewhere_s),
    ]


def outside(results: Results, worth_s: float) -> str:
    """That most of the run passes before and after what is analyzed, and more than a fix is worth.

    `worth_s` is what the best fix of the analyzed window saves; 0 without any.

    Returns:
        A sentence with its parts, and where the program was meanwhile; "" where it is not so.
    """
    run_s = results.run_s
    # files that tell sums have no moments, and so nothing before or after
    if run_s <= 0 or not results.trace.ranks or results.trace.format.is_report:
        return ""
    if results.options.focus is not None:
        return ""  # around a window that the user chose lie steps as well
    means = mean_spent_s(results)
    parts = {one.label.lower(): means[one] for one in (Account.START_UP, Account.SHUTDOWN)}
    parts |= {one.label.lower(): seconds for one, seconds in outside_s(results, means)}
    whole_s = sum(parts.values())
    if whole_s <= max(HALF * run_s, worth_s):
        return ""
    told = [f"{name} {format_seconds(s)}" for name, s in parts.items() if s >= LEAST_TOLD * run_s]
    frames = [one for one in results.start_up.before if one is not None]
    place = wording.place(frames[0]) if frames else ""
    return (
        f"Most of the run, {format_seconds(whole_s)} ({format_share(whole_s / run_s)} of the "
        f"{format_seconds(run_s)} run), is start-up and end. "
        f"{', '.join(told).capitalize()}{f'; start-up mainly in {place}' if place else ''}."
    )


def _communication(results: Results) -> str:
    """How much of the ranks' time went into communication, and which part of it."""
    found = results.communication
    whole = results.focus.length_ns * NS * len(results.trace.ranks)
    parts = {
        "waiting for others": sum(found.wait_s_by_rank),
        "transfer": sum(found.transfer_s_by_rank),
        "other": sum(found.other_s_by_rank),
    }
    return _clause("communication took {} of their time", parts, whole)


def _devices(found: DevicesResult) -> str:
    """How much of the devices' time no kernel of the job computed in, and why."""
    uses = [device.use for device in found.devices]
    start, end = found.window_ns
    edges_ns = sum(
        device.causes_s.get(cause, 0.0) / NS for device in found.devices for cause in EDGES
    )
    parts = {
        "idle": sum(use.idle_ns for use in uses) - edges_ns,
        "before their first and after their last work": edges_ns,
        "communication alone": float(sum(use.exposed_communication_ns for use in uses)),
        "copies alone": float(sum(use.exposed_memory_ns for use in uses)),
    }
    return _clause(
        "the devices did not compute for {} of their time", parts, (end - start) * len(uses)
    )


def _clause(text: str, parts: dict[str, float], whole: float) -> str:
    """The parts and their sum as shares of the whole; "" where there is nothing to tell."""
    if whole <= 0 or sum(parts.values()) < LEAST_SHARE * whole:
        return ""
    told = [
        f"{name} {format_share(s / whole)}" for name, s in parts.items() if s >= LEAST_SHARE * whole
    ]
    detail = f" ({', '.join(told)})" if told else ""
    return text.format(format_share(sum(parts.values()) / whole)) + detail


def _parallel_efficiency(results: Results) -> Metric:
    """That of the whole run, where totals hold it and the rest is of some steps alone."""
    own = results.efficiency.parallel_efficiency
    for factor in results.whole_run.efficiencies if results.whole_run else ():
        if factor.id == "parallel_efficiency":
            return replace(own, value=factor.value, reason=None)
    return own
