"""Layers that are applied one after the other where one application would do for all."""

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import Any

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, passed
from perfscope.findings.core.gain import with_error
from perfscope.findings.facts.backward_passes import has_passes
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.shorter_phases import without_share
from perfscope.judging import MAIN
from perfscope.schema.enums import Confidence, PhaseKind, Status
from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.model import Frame
from perfscope.trace.operands import MOST_AXES
from perfscope.units import capitalized, counted, format_count, format_share

_CELL = "Cell.forward"
_CALLS = {
    "Linear": (".Linear.forward", ".linear", _CELL),
    "Embedding": (".Embedding.forward", ".embedding"),
    "Convolution": tuple(f".Conv{axes}d.forward" for axes in (1, 2, 3)),
}
"""How the calls of a layer end, by its kind."""

_LAYERS = {"Linear": "a linear layer", "Embedding": "an embedding", "Convolution": "a convolution"}
_QUARTILES = 3


@dataclass(frozen=True)
class Stacked:
    """A layer of a rank's backward passes, with what both forms of applying it take."""

    rank: int
    looks: int
    kind: str
    times: int  # that it is applied before a backward pass
    layer: tuple[int, ...]  # shape of its parameters
    taken: tuple[int, ...]  # shape of what it is given each time
    is_certain: bool  # no application needs the result of another one
    part: float  # of the passes that were looked at, for it
    apart_ns: tuple[int, ...]  # one by one, both ways: the quartiles
    back_ns: int  # backwards alone
    stacked_ns: tuple[int, ...]

    def share(self, at: int) -> float:
        """What is saved both ways, in parts of the passes: least, usually, most."""
        less_ns = self.apart_ns[at] - self.stacked_ns[-1 - at]
        return self.part * less_ns / self.back_ns


def judge(run: Facts) -> Outcome:
    """Whether applying a layer once in place of many times saves enough of the run."""
    results = run.results
    found = [one for rank in results.trace.ranks if (one := _of(rank.number, rank.frameworks))]
    faster = [one for one in found if one.share(0) > 0.0]
    if not faster:
        return passed(
            "No layer was seen to be applied many times, none of which needs the result of "
            "another one, that would be faster on all of its inputs at once."
        )
    gain = _gain(run, faster)
    status = thresholds.deserved(gain)
    worst = max(faster, key=lambda one: one.share(1))
    if not status.is_fault:
        return passed("Layers that might be applied to stacked inputs take little time.")
    is_certain = all(one.is_certain for one in faster)
    place = _where(run, worst)
    where = place[0] if place else None
    return Finding(
        status=status if is_certain else Status.INFO,
        title=_title(worst, where, is_certain=is_certain),
        summary=_summary(run, worst, gain, is_certain=is_certain),
        gain=gain if is_certain else None,
        confidence=Confidence.MEDIUM if is_certain else Confidence.LOW,
        is_inferred=is_certain,  # what Python decides by an earlier result is in no graph
        ranks=tuple(one.rank for one in faster),
        where=(where,) if where else (),
        evidence=tuple(row for one in faster for row in _evidence(one)),
        actions=(_action(place, worst, is_certain=is_certain),),
        overlaps=("alike_operations", "single_samples", "selected_rows"),
    )


def _gain(run: Facts, faster: list[Stacked]) -> Gain:
    passes = [phase for phase in run.results.phases if phase.kind is PhaseKind.BACKWARD]
    gain = without_share(run, passes, {one.rank: min(one.share(1), 1.0) for one in faster})
    spread = [(one.share(2) - one.share(0)) / one.share(1) / 2 for one in faster]
    return with_error(gain, max(spread))


def _title(worst: Stacked, where: Frame | None, *, is_certain: bool) -> str:
    at = f" in {wording.place(where)}" if where else ""
    return (
        f"{capitalized(_LAYERS[worst.kind])} is applied {worst.times:,} times{at} "
        f"where once {'would' if is_certain else 'might'} do"
    )


def _summary(run: Facts, worst: Stacked, gain: Gain, *, is_certain: bool) -> str:
    looks = counted(worst.looks, "backward pass", "backward passes")
    faster = format_count(worst.apart_ns[1] / worst.stacked_ns[1])
    told = (
        f"In the {looks} that were looked at, {_LAYERS[worst.kind]} of {_shape(worst.layer)} "
        f"parameters was applied {worst.times:,} times, to {_shape(worst.taken)} values each. In "
        "the graph none of these leads to another one. "
        f"{format_share(worst.part)} of the time of the passes went to them. Timed on this CPU "
        f"when the program was over, the layer is {faster} times as fast on all of these at "
        "once: one large product in place of many thin ones, and one gradient of its parameters."
    )
    if not is_certain:
        return (
            f"{told} Whether what comes next depends on a result in another way, as an action or "
            "a word that is chosen by it, is not seen."
        )
    saving = wording.saving(run.results, gain.seconds, is_bound=gain.is_bound)
    return f"{told} It would save {saving}."


def _shape(sizes: tuple[int, ...]) -> str:
    return " × ".join(f"{size:,}" for size in sizes)


def _action(place: tuple[Frame, str] | None, worst: Stacked, *, is_certain: bool) -> str:
    at = f"In {wording.place(place[0])}: " if place else ""
    unless = "" if is_certain else ", unless the next input is chosen by the result"
    if place and place[1].endswith(_CELL):
        return (
            f"{at}have `torch.nn.GRU`, `LSTM` or `RNN` take all steps in place of a cell in a loop"
            f"{unless}: it multiplies the inputs of all steps at once."
        )
    if worst.kind == "Embedding":
        return (
            f"{at}look all rows up at once before the loop (`rows = embedding(indices)`), and "
            f"select from them in each turn (`rows[:, t]`){unless}."
        )
    if worst.kind == "Linear":
        return (
            f"{at}apply the layer once to all that it is given "
            f"(`layer(torch.stack(states, dim=1))`){unless}: before the loop where turns use its "
            "results, else behind it."
        )
    return (
        f"{at}apply the layer once, to all that it is given (`layer(torch.cat(inputs))`), and take "
        f"the result apart (`.chunk({worst.times})`){unless}."
    )


def _evidence(one: Stacked) -> tuple[Evidence, ...]:
    of = f"of rank {one.rank}"
    return (
        Evidence(f"Of the backward pass {of}, for this layer", format_share(one.part)),
        Evidence(
            f"Timed {of}, applied once it takes of what it takes apart",
            format_share(one.stacked_ns[1] / one.apart_ns[1]),
        ),
    )


def _where(run: Facts, worst: Stacked) -> tuple[Frame, str] | None:
    """The line that applies it and what that calls: by what it works on, and where most is spent.

    None where no line has most of the time of such calls.
    """
    spent = Counter[tuple[Frame, str]]()
    for row in run.results.activities.rows:
        if row.where is not None and row.calls.endswith(_CALLS[worst.kind]):
            spent[row.where, row.calls] += row.ns
    fitting = {
        line.site.frame
        for line in run.hot_lines
        for one in line.site.operands
        if one.elements == prod(worst.taken)
    }
    known = [one for one in spent if one[0] in fitting]
    most = max(known, key=lambda one: spent[one], default=None)
    is_main = most is not None and spent[most] > MAIN * sum(spent[one] for one in known)
    return most if is_main else None


def _of(rank: int, frameworks: Mapping[str, Mapping[str, Any]]) -> Stacked | None:
    told = frameworks.get("torch", {}).get("stacked")
    if not isinstance(told, Mapping) or told.get("kind") not in _LAYERS:
        return None
    looks, times, part_ns, whole_ns = (
        whole(told.get(name)) for name in ("looks", "times", "parts_ns", "whole_ns")
    )
    names = "apart_ns", "apart_back_ns", "stacked_ns", "layer", "taken"
    apart, back, stacked, layer, taken = (_sizes(told.get(name)) for name in names)
    is_timed = all(len(own) == _QUARTILES and min(own) > 0 for own in (apart, back, stacked))
    if not looks or times < len("xx") or not 0 < part_ns <= whole_ns or not is_timed:
        return None
    return Stacked(
        rank=rank,
        looks=looks,
        kind=told["kind"],
        times=times,
        layer=layer,
        taken=taken,
        is_certain=told.get("certain") is True,
        part=part_ns / whole_ns,
        apart_ns=apart,
        back_ns=back[1],
        stacked_ns=stacked,
    )


def _sizes(told: object) -> tuple[int, ...]:
    return tuple(map(whole, told[:MOST_AXES])) if isinstance(told, list) else ()


DIAGNOSIS = Diagnosis(
    id="stacked_layers",
    title="A layer is applied many times where once, to stacked inputs, would do",
    description=(
        "The graphs of a few backward passes of PyTorch on CPUs are walked before they begin. "
        "Applications of a linear layer, a convolution or an embedding that share its parameters, "
        "none of which is reached from another one, may be one application to all of their inputs. "
        "Where an input may come around the graph from an earlier result, as a word or an action "
        "that is chosen by it, that is only noted: tensors without a gradient have to be parts of "
        "what was there before, and unchanged. Both forms are timed when the program is over, "
        "forwards and backwards, a few times in turn."
    ),
    judge=judge,
    applies=has_passes,
    intact=RANK_BY_RANK,
    passed="No layer is applied many times where once would do",
    evidence="the share of the backward passes, and what the other form takes of the time",
    gain_from=(
        "replay of backward passes that are shorter by what was timed; the range takes the "
        "quartiles of these times in"
    ),
    rank=272,
    of_work=True,
    references=(
        "PyTorch, torch.stack: https://docs.pytorch.org/docs/stable/generated/torch.stack.html",
    ),
)
