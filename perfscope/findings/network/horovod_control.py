"""Horovod that spends longer on agreeing what to reduce than on reducing it."""

import math
from dataclasses import replace

import numpy as np

from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Quiet, not_measured
from perfscope.findings.core.gain import saved
from perfscope.findings.core.wording import exported, unset
from perfscope.findings.facts import sampled_places
from perfscope.findings.facts.cpu_contention import told_only
from perfscope.findings.facts.device_facts import variable
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.network_facts import (
    CONTENDED,
    RECORD_HOROVOD,
    Cause,
    confidence,
    mean,
    unknown,
)
from perfscope.judging import MAIN
from perfscope.metrics.communication.horovod import HorovodResult
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.operations import HOROVOD_EXPOSED
from perfscope.units import format_seconds, format_share

MANY_TENSORS = 4  # allreduces of Horovod in a step, or waits of the program for them
USUAL_CYCLE_MS = 1  # of Horovod since 0.19
PASSED = "Horovod's control traffic costs little"
CYCLE, CACHE, FUSION = "HOROVOD_CYCLE_TIME", "HOROVOD_CACHE_CAPACITY", "HOROVOD_FUSION_THRESHOLD"


def uses_horovod(results: Results) -> bool:
    """Whether Horovod communicated."""
    return results.horovod is not None


def judge(run: Facts) -> Outcome:
    """Whether agreeing takes most of what Horovod exposes."""
    results = run.results
    found = results.horovod
    if len(results.trace.ranks) > 1 and (found is None or found.exposed.reason):
        return _not_told(results, found)
    if (quiet := unknown(results)) or found is None:
        return quiet or _not_told(results, found)
    facts = run.network
    status = facts.status_of(Cause.CONTROL)
    rest_s = facts.control_s
    whole_s = sum(found.exposed.transfer_s) / max(1, len(found.exposed.transfer_s))
    share = rest_s / whole_s if whole_s else 0.0
    text = (
        f"Of {format_seconds(whole_s)} in which a rank waits for Horovod alone, "
        f"{format_share(share)} is no moving of tensors."
    )
    if status is Status.PASS:
        evidence = _evidence(results, found)
        return Finding(status, PASSED, text, confidence=confidence(facts), evidence=evidence)
    result = Finding(
        status=status,
        title=_title(results, rest_s),
        summary=f"{text} All ranks wait for it.{sampled_places.waits(results)}"
        f"{CONTENDED if facts.is_contended else ''}",
        gain=saved(results, facts.claim_s(Cause.CONTROL)),
        confidence=Confidence.LOW if facts.is_contended else Confidence.MEDIUM,
        where=sampled_places.frames(results.call_sites.transfer),
        evidence=_evidence(results, found),
        actions=_actions(results, found, rest_s),
        overlaps=(Cause.BANDWIDTH.value, Cause.EXCHANGE.value),
    )
    return told_only(result)


def _not_told(results: Results, found: HorovodResult | None) -> Quiet:
    reason = found.exposed.reason if found and found.exposed.reason else "Horovod was not seen"
    off = (
        f" {CACHE}=0 also makes Horovod send every name in every cycle." if _is_off(results) else ""
    )
    text = f"What agreeing costs is not known: {reason}.{off} {RECORD_HOROVOD}"
    actions = (f"Start with {unset(CACHE)}.",) if off else ()
    return replace(not_measured(text), actions=actions)


def _is_off(results: Results) -> bool:
    return (_setting(results, CACHE) or "").strip() == "0"


def _calls_per_step(results: Results, found: HorovodResult) -> float:
    calls = max((sum(one.data_calls.values()) for one in found.locations), default=0)
    return calls / results.steps.count if results.steps.count else 0.0


def _evidence(results: Results, found: HorovodResult) -> tuple[Evidence, ...]:
    rows = [
        Evidence(
            "Waited for Horovod alone, mean of the ranks", mean(found.exposed.transfer_s), "s"
        ),
        Evidence("Of it in calls that carry tensors", mean(found.exposed.data_s), "s"),
        Evidence(
            "Control messages, mean of the ranks", mean([x.control_s for x in found.locations]), "s"
        ),
        Evidence("Calls that carry tensors", mean([x.data_s for x in found.locations]), "s"),
        Evidence("Cycles, mean of the ranks", mean([x.control_cycles for x in found.locations])),
    ]
    if per_step := _calls_per_step(results, found):
        rows.append(Evidence("Reductions in each step", per_step))
    rows += [
        Evidence(f"{name} in this run", value)
        for name in (CYCLE, CACHE, FUSION)
        if (value := _setting(results, name))
    ]
    new = [int(rank.readiness["uncached"].sum()) for rank in results.trace.ranks]
    if any(new):
        rows.append(Evidence("Cycles with tensors that Horovod had not met before", max(new)))
    return tuple(rows)


def _setting(results: Results, name: str) -> str | None:
    """A variable as Horovod found it: the program may have set it after its start."""
    for rank in results.trace.ranks:
        told = rank.framework("horovod").get("settings")
        if isinstance(told, dict) and isinstance(value := told.get(name), str):
            return value
    return variable(results, name)


def _long_cycle(results: Results, rest_s: float) -> str | None:
    """The cycle time in ms, as it is set, where it can be what ranks mainly wait for.

    It is longer than that which Horovod has unless told, and for each exchange of gradients one
    cycle is waited for at most.
    """
    try:
        value = float(_setting(results, CYCLE) or "")
    except ValueError:
        return None
    exchanges = int(np.count_nonzero(results.trace.ranks[0].operations["op"] == HOROVOD_EXPOSED))
    can_be = exchanges * value * 1e-3 >= MAIN * rest_s
    return f"{value:g}" if USUAL_CYCLE_MS < value < math.inf and can_be else None


def _waits_per_step(results: Results) -> int:
    """How often a step waits for Horovod, where that is more often than for its gradients."""
    rank, count = results.trace.ranks[0], results.steps.count
    waits = int(np.count_nonzero(rank.operations["op"] == HOROVOD_EXPOSED))
    per_step = round(waits / count) if count else 0
    return per_step if per_step >= MANY_TENSORS else 0


def _title(results: Results, rest_s: float) -> str:
    spent = format_seconds(rest_s)
    if often := _waits_per_step(results):
        return f"Each step waits {often} times for Horovod, {spent} in all without moving tensors"
    if cycle := _long_cycle(results, rest_s):
        return f"Reductions wait {spent} for Horovod's next cycle: {CYCLE} is {cycle} ms"
    return f"Horovod spends {spent} on agreeing what to reduce and on sleep between its cycles"


def _actions(results: Results, found: HorovodResult, rest_s: float) -> tuple[str, ...]:
    cycle = _setting(results, CYCLE)
    set_to = f" (it is {cycle})" if cycle else f" ({USUAL_CYCLE_MS} ms unless set)"
    if often := _waits_per_step(results):
        actions = [
            (
                f"Wait less often: each of the {often} calls in a step that the program waits in "
                f"takes a cycle of Horovod at least{set_to}, however little it sends. Put what "
                "they send into one array, or into one hvd.grouped_allreduce; or ask less often "
                "than in each step."
            )
        ]
    elif _long_cycle(results, rest_s):
        who = "" if variable(results, CYCLE) else ": the program sets it before hvd.init()"
        actions = [f"Set {CYCLE}={USUAL_CYCLE_MS}, which Horovod has unless told{set_to}{who}."]
    else:
        actions = [
            (
                f"Try other cycle times{set_to}: a shorter {CYCLE} answers sooner, a longer one "
                f"needs fewer messages; {exported('HOROVOD_AUTOTUNE=1')} searches, or "
                f"`perfscope sweep --env {CYCLE}=0.5,1,2,5`."
            )
        ]
    if _is_off(results):
        actions.insert(0, f"Start with {unset(CACHE)}: at {CACHE}=0 names are sent in every cycle.")
    if _calls_per_step(results, found) >= MANY_TENSORS and not _waits_per_step(results):
        actions.append(
            f"Let more tensors travel together: a larger {FUSION}, or num_groups of "
            "DistributedOptimizer."
        )
    return tuple(actions)


DIAGNOSIS = Diagnosis(
    id=Cause.CONTROL.value,
    title="Horovod agrees longer than it reduces",
    description=(
        "Splits what a rank waits for Horovod, once the slowest rank is ready, into calls that "
        "carry tensors and the rest: the control messages by which the ranks agree on what is "
        "ready, the sleep between two of Horovod's cycles, and copying. The rest is Horovod's own "
        "cost."
    ),
    judge=judge,
    applies=uses_horovod,
    passed=PASSED,
    evidence="exposed seconds with and without tensors, cycles, settings",
    gain_from="the exposed seconds without tensors: an upper bound",
    counts_from="these as `network_bound`",
    rank=170,
    references=(
        (
            "Horovod, tensor fusion: "
            "https://horovod.readthedocs.io/en/stable/tensor-fusion_include.html"
        ),
        "Horovod, autotune: https://horovod.readthedocs.io/en/stable/autotune_include.html",
    ),
)
