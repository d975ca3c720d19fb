"""What of an exchange of gradients nothing uses, and how not to send it."""

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from perfscope.findings.core.finding import Evidence, Gain
from perfscope.findings.core.gain import as_bare_bound, bound_s, predicted_gain, replayed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.node_threads import status_of
from perfscope.judging import MAIN, MOST_LOST, NEGLIGIBLE
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.units import format_bytes, format_seconds, format_share

FIRST_BUCKET_BYTES, BUCKET_BYTES = 1 << 20, 25 << 20
"""Of DistributedDataParallel, unless it is told otherwise."""

OF_THREADS = "It is {} of transfer and {} of CPU time for it"
BOTH_ENDS = "from the transfer alone to all of both, as the steps vary"


@dataclass(frozen=True)
class Needless:
    """A part of what is exchanged that nothing needs."""

    title: str  # of a finding: what is exchanged for nothing
    share: float  # of what is exchanged
    action: str
    evidence: Evidence
    is_computed: bool = False  # for nothing as well: most of the backward pass may be needless
    is_updated: bool = False  # for nothing as well: so much of the optimizer's step is needless
    is_counted: bool = False  # exchange by exchange: all of that part is saved, and what it takes

    @property
    def edit(self) -> Edit:
        """The exchange without it."""
        return Edit(factor=1.0, network=1.0 / max(1.0 - self.share, NEGLIGIBLE))


def needless_work(run: Facts, needless: Needless) -> Gain | None:
    """What it saves at most neither to exchange such gradients nor to work on them.

    That is all of the backward pass where they are computed for nothing, as it may end before them,
    and their part of the optimizer's step where that walks through them. None where they take no
    work beside their exchange, or no such phase is known.
    """
    results = run.results
    kind = PhaseKind.BACKWARD if needless.is_computed else PhaseKind.OPTIMIZER
    phase = next((one for one in results.phases if one.kind is kind), None)
    if not (needless.is_computed or needless.is_updated) or phase is None:
        return None
    left = 0.0 if needless.is_computed else 1.0 - needless.share
    edits = (Edit(phase=phase.id, factor=left), needless.edit)
    by_rank = dict(zip(phase.ranks, phase.seconds_by_rank, strict=True))
    gone_s = [(1.0 - left) * by_rank.get(rank, 0.0) for rank in results.ledger.ranks]
    gain = predicted_gain(
        results, run.replay, edits, bound_s=bound_s(results, gone_s), is_planned=True
    )
    return as_bare_bound(gain)


def without(run: Facts, needless: Needless) -> Gain | None:
    """What a run without an exchange saves that is counted; None where it cannot be replayed.

    Threads that copy and add up what is exchanged take CPUs from the backward passes beside them.
    Where nothing else of the job does, main threads wait for these: as large a part of that ends as
    of the exchanges. The least is what the transfer alone saves.
    """
    alone = run.replay.predict([needless.edit])
    edits = (needless.edit, *_beside(run, needless.share))
    found = run.replay.predict(edits)
    if alone is None or found is None:
        return None
    gain = replayed(run.results, found, edits, is_planned=True)
    if alone.interval_s is None or found.interval_s is None:
        return replace(gain, interval_s=None)
    ends = (
        min(alone.interval_s[0], found.interval_s[0]),
        max(alone.interval_s[1], found.interval_s[1]),
    )
    is_by_assumption = len(edits) > 1
    own_s = min(alone.gain_s, gain.seconds)
    parts = format_seconds(own_s), format_seconds(gain.seconds - own_s)
    gain = replace(gain, interval_s=ends)
    if not is_by_assumption:
        return gain
    bridge = OF_THREADS.format(*parts)
    return replace(gain, is_by_assumption=True, assumed=BOTH_ENDS, bridge=bridge)


def _beside(run: Facts, share: float) -> list[Edit]:
    """Work without that share of what main threads wait in it for threads of the exchange."""
    if any(load.has_workers or status_of(load).is_fault for load in run.node_loads):
        return []
    waits = [one.part(is_of_others=False) for one in run.results.resources.cpu_waits]
    return [
        Edit(ranks=(one.rank,), factor=1.0 - share * min(one.in_work_share, MOST_LOST))
        for one in waits
        if one.in_work_share > 0
    ]


def needless_exchange(results: Results) -> tuple[Needless, ...]:
    """The parts of the exchanged gradients that nothing needs, the largest first."""
    told = [_noted(rank.frameworks) for rank in results.trace.ranks]
    least = min(told, key=lambda one: _number(one, "bytes"), default={})
    found = (_again(results), _empty(least), _unheld(least), _in_pieces(least))
    return tuple(sorted((one for one in found if one), key=lambda one: -one.share))


def _noted(frameworks: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    found = frameworks.get("torch.distributed", {}).get("gradients")
    return found if isinstance(found, dict) else {}


def _again(results: Results) -> Needless | None:
    """Gradients that are exchanged several times before an optimizer uses them."""
    exchange = results.gradient_exchange
    times = round(exchange.per_update or 0.0) if exchange else 0
    if times < 2:
        return None
    return Needless(
        title=f"Gradients are exchanged {times} times per optimizer step",
        share=1.0 - 1.0 / times,
        action=(
            f"Exchange once: in the loop around the backward pass, run {_all_but_one(times)} of "
            f"the {times} passes, forward and backward, inside `with model.no_sync():` of "
            "DistributedDataParallel. The result is the same up to rounding."
        ),
        evidence=Evidence("Exchanges per optimizer step", times, "", "1"),
        is_counted=True,
    )


def _all_but_one(times: int) -> str:
    return "the first" if times == 2 else f"the first {times - 1}"


def _empty(told: Mapping[str, Any]) -> Needless | None:
    """Gradients of tables most of whose rows no batch touches."""
    share = _share(told, "empty_bytes")
    if share < MAIN:
        return None
    name = told.get("empty_name", "")
    lookup = str(told.get("empty_module", ""))
    cure = (
        f"Give `{lookup}` of {name} sparse=True and its weights an optimizer for sparse gradients "
        "(torch.optim.SparseAdam, SGD or Adagrad): only the rows that the batch looked up are then "
        "exchanged and updated."
        if lookup.startswith("Embedding")
        else f"Exchange and update only the rows of {name} that the batch used."
    )
    return Needless(
        title=f"The gradients that are exchanged are mostly rows of zeros, mainly of {name}",
        share=share,
        action=cure,
        is_updated=True,
        evidence=Evidence(
            "Rows of zeros in the exchanged gradients, of some rows",
            _of_all(told, share),
        ),
    )


def _unheld(told: Mapping[str, Any]) -> Needless | None:
    """Gradients of parameters that no optimizer updates.

    Bytes do not tell what computing them costs: where they are the main part, all of the backward
    pass may be needless, which ends at the first parameter that is trained.
    """
    share = _share(told, "unheld_bytes")
    if share <= 0.0:
        return None
    name = told.get("unheld_name", "")
    return Needless(
        title=f"Gradients that no optimizer uses are computed and exchanged, mainly of {name}",
        share=share,
        action=(
            f"Set requires_grad_(False) on {name} and any other parameter that no optimizer was "
            "given, before DistributedDataParallel wraps the model, or give them to the optimizer. "
            "That saves their part of the backward pass as well."
        ),
        is_computed=share > MAIN,
        evidence=Evidence(
            "Gradients of parameters that no optimizer holds",
            _of_all(told, share),
        ),
    )


def has_small_buckets(results: Results) -> bool:
    """Whether gradients are exchanged in smaller pieces than DistributedDataParallel makes."""
    return any(_in_pieces(_noted(rank.frameworks)) for rank in results.trace.ranks)


def _in_pieces(told: Mapping[str, Any]) -> Needless | None:
    """Gradients that are exchanged in many small collectives.

    Each costs its latency, and starting it, whatever it carries. By itself
    DistributedDataParallel fills a small bucket first, so that the exchange begins early, and large
    ones then: where even the mean bucket is smaller than that first one, it was told to.
    """
    whole, count = _number(told, "bytes"), _number(told, "buckets")
    usual = 1 + max(0, math.ceil((whole - FIRST_BUCKET_BYTES) / BUCKET_BYTES))
    if not 0 < whole < count * FIRST_BUCKET_BYTES or count <= usual:
        return None
    return Needless(
        title=f"Gradients are exchanged in {count:,.0f} pieces of {format_bytes(whole / count)}",
        share=1.0 - usual / count,
        action=(
            "Let DistributedDataParallel put more gradients into one collective: leave "
            "bucket_cap_mb at its default of 25 MiB."
        ),
        evidence=Evidence("Collectives in each exchange of gradients", count, "", str(usual)),
    )


def _of_all(told: Mapping[str, Any], share: float) -> str:
    return f"{format_share(share)} of {format_bytes(_number(told, 'bytes'))}"


def _share(told: Mapping[str, Any], part: str) -> float:
    whole = _number(told, "bytes")
    return min(1.0, _number(told, part) / whole) if whole > 0 else 0.0


def _number(told: Mapping[str, Any], name: str) -> float:
    value = told.get(name)
    if isinstance(value, (int, float)) and 0 <= value <= sys.maxsize:  # NaN is not
        return float(value)
    return 0.0
