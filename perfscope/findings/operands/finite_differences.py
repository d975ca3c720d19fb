"""Gradients that a library computes by differences: one more call for each variable."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from perfscope import places
from perfscope.arrays import Bools
from perfscope.attribution.stack_rules import is_user_file
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import saved_of_ranks
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Trace
from perfscope.units import NS, format_seconds

_DIFFERENCES = re.compile(r"num_?diff|approx_(?:fprime|derivative|hess)", re.IGNORECASE)
"""What libraries call the functions and modules that do so (SciPy, statsmodels, numdifftools)."""


@dataclass(frozen=True)
class _Way:
    """One way to such a gradient: where the program asks for it, and which function it calls."""

    asked_at: Frame
    library: Frame
    called: Frame


def has_stacks(results: Results) -> bool:
    """Whether samples tell what calls what."""
    return results.trace.has_stacks


def judge(run: Facts) -> Outcome:
    """How long calls take that only differences need."""
    results = run.results
    trace = results.trace
    told = [_is_of_differences(frame) for frame in trace.frames]
    ways = [_way(trace, stack, told) for stack in trace.stacks]
    found = Counter[_Way]()
    for rank in trace.ranks:
        stacks = results.focus.within(rank.main_stacks)["stack"].tolist()
        found.update(way for stack in stacks if (way := ways[stack]) is not None)
    if not found:
        return passed("No library was seen to compute a gradient by finite differences.")
    by_differences, directly = _spent(results, ways, found)
    saved = [max(0.0, a - b) for a, b in zip(by_differences, directly, strict=True)]
    gain = saved_of_ranks(results, saved)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed(
            f"Finite differences take {format_seconds(max(by_differences))} at most on a rank."
        )
    most = found.most_common(1)[0][0]
    most_s, directly_s = max(zip(by_differences, directly, strict=True))
    who, whose = wording.place(most.asked_at), wording.called(most.called)
    return Finding(
        status=status,
        title=f"{who} has derivatives of {whose} computed by finite differences",
        summary=(
            f"For each derivative a library calls {whose} once more for each variable. These calls "
            f"take {format_seconds(most_s)} on the rank with most of them. With a "
            f"gradient that costs as much as {whose} itself, the change would save "
            f"{wording.saving(results, gain.seconds, is_bound=True)}."
        ),
        gain=gain,
        confidence=Confidence.HIGH,
        ranks=tuple(rank.number for rank, s in zip(trace.ranks, saved, strict=True) if s > 0),
        where=(most.asked_at, most.called),
        evidence=_evidence(most, most_s, directly_s),
        actions=(_action(most),),
    )


def _evidence(way: _Way, most_s: float, directly_s: float) -> tuple[Evidence, ...]:
    return (
        Evidence("Calls for differences, on the rank with most", most_s, "s"),
        Evidence("Other calls for the same purpose there", directly_s, "s"),
        Evidence("Made by", f"{way.library.function} ({places.file_name(way.library.file)})"),
    )


def _action(way: _Way) -> str:
    return (
        f"In {wording.place(way.asked_at)}: pass a function that computes the gradient of "
        f"{wording.called(way.called)} (SciPy: `jac=gradient`; or return value and gradient "
        "together and pass `jac=True`), derived by hand or by automatic differentiation (PyTorch, "
        "JAX)."
    )


def _spent(
    results: Results, ways: Sequence[_Way | None], found: Collection[_Way]
) -> tuple[Sequence[float], Sequence[float]]:
    """Seconds of each rank in calls for differences, and in others for the same purpose."""
    stacks = results.trace.stacks
    inside = np.array([way is not None for way in ways], np.bool_)
    called = {(way.asked_at, way.called.key) for way in found}
    direct = np.array([_is_direct(results.trace, one, called) for one in stacks]) & ~inside
    return _seconds(results, inside), _seconds(results, direct)


def _seconds(results: Results, chosen: Bools) -> Sequence[float]:
    """How long the main thread of each rank was in some stacks, in the order of the ranks."""
    found = []
    for rank in results.trace.ranks:
        stacks = results.focus.within(rank.main_stacks)["stack"]
        part = float(chosen[stacks].mean()) if len(stacks) else 0.0
        found.append(part * results.focus.length_ns * NS)
    return found


def _is_direct(
    trace: Trace, stack: Sequence[int], called: Collection[tuple[Frame, Function]]
) -> bool:
    """Whether a line is in a stack that asks for gradients elsewhere, and a function of these."""
    own = [trace.frames[place] for place in stack]
    keys = {one.key for one in own}
    return any(at in own and function in keys for at, function in called)


def _way(trace: Trace, stack: Sequence[int], is_of_differences: Sequence[bool]) -> _Way | None:
    at = next((at for at, place in enumerate(stack) if is_of_differences[place]), 0)
    if not at:
        return None
    own = [trace.frames[place] for place in stack]
    asked = next((one for one in reversed(own[:at]) if is_user_file(one.file)), None)
    called = next((one for one in own[at:] if is_user_file(one.file)), None)
    return None if asked is None or called is None else _Way(asked, own[at], called)


def _is_of_differences(frame: Frame) -> bool:
    """Whether a function of a library is one that computes differences, by its name or module's."""
    module = places.file_name(frame.file)
    return not is_user_file(frame.file) and bool(_DIFFERENCES.search(f"{module} {frame.function}"))


DIAGNOSIS = Diagnosis(
    id="finite_differences",
    title="Gradients are computed by finite differences",
    description=(
        "Looks for stacks in which a library, between two functions of the program, computes "
        "differences: for each gradient it calls the program's function once more for each "
        "variable."
    ),
    judge=judge,
    applies=has_stacks,
    intact=RANK_BY_RANK,
    passed="No library computes gradients by finite differences for long",
    evidence="how long these calls take, and other calls for the same purpose, and who makes them",
    gain_from=(
        "upper bound: the time of these calls on the rank with most of them, less that of the "
        "other calls of the same function for the same purpose, as one gradient costs"
    ),
    rank=277,
    of_work=True,
    references=("SciPy, optimization: https://docs.scipy.org/doc/scipy/tutorial/optimize.html",),
)
