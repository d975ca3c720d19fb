"""Buffers that a data-parallel model sends in each forward pass without being seen to change."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core import wording
from perfscope.findings.core.finding import Evidence, Gain
from perfscope.findings.core.gain import most_moving, predicted_gain
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.needless import Needless
from perfscope.judging import ALONE, MAIN
from perfscope.metrics.communication.call_sites import MOST_PLACES
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.replay.model import Edit
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.trace.sent_buffers import SentBuffer, SentBuffers, sent_buffers
from perfscope.units import counted, format_bytes, format_share, listed

BROADCAST = "torch.distributed.broadcast_buffers"
NEWEST = "forward_sync_buffers"
"""The argument by which a model still sends its buffers once, when it is made."""

OLD_NAME = "broadcast_buffers=False before PyTorch 2.13"
NEW_NAME = "from PyTorch 2.13 on forward_sync_buffers=False"
"""What the same is called in other releases."""

UNWRITTEN = "if nothing writes them through .data or NumPy"
"""What nobody counts: ranks would differ from then on without a word."""


@dataclass(frozen=True)
class ResentBuffers:
    """What is sent in each forward pass and was not seen to change."""

    argument: str  # of DistributedDataParallel
    made_at: Frame | None
    syncs: int
    buffers: tuple[SentBuffer, ...]  # not seen to change, the largest first; looks of all ranks
    is_all: bool  # no other buffer is sent with them
    share: float  # of all that this operation moves

    @property
    def names(self) -> str:
        """The largest ones, with their sizes: "`table` (19.5 MiB) and 2 more"."""
        named = [f"`{one.name}` ({format_bytes(one.bytes)})" for one in self.buffers[:MOST_PLACES]]
        left = len(self.buffers) - len(named)
        return listed([*named, *([f"{left} more"] if left else [])])


def resent_buffers(run: Facts) -> ResentBuffers | None:
    """Most of what is moved are such buffers; None where they are not, or nobody has looked."""
    if most_moving(run.results) != BROADCAST:
        return None
    models = [model for model in _models(run) if model]
    told = [(_unchanged(ranks), ranks[0]) for ranks in models]
    whole = sum(first.bytes * first.syncs for _, first in told)
    if not whole or sum(one.syncs for model in models for one in model) < MAIN * _calls(run):
        return None
    kept, most = max(told, key=lambda pair: sum(one.bytes for one in pair[0]) * pair[1].syncs)
    size = sum(one.bytes for one in kept)
    share = min(1.0, size * most.syncs / whole)
    if share <= ALONE:
        return None
    is_all = size == most.bytes
    return ResentBuffers(most.argument, most.made_at, most.syncs, kept, is_all, share)


def _calls(run: Facts) -> int:
    """How often ranks took part in such a broadcast, also of models that were not looked at."""
    rows = run.results.communication.operations
    return sum(row.calls for row in rows if row.name == BROADCAST)


def _models(run: Facts) -> list[list[SentBuffers]]:
    """Each model as all ranks tell it, the first rank first.

    Those that some rank lacks are out, and those whose numbers cannot be: ranks that sent it not
    equally often or not as much, or buffers larger than all of them.
    """
    ranks = [{one.model: one for one in sent_buffers(rank)} for rank in run.results.trace.ranks]
    shared = [number for number in ranks[0] if all(number in rank for rank in ranks)]
    models = [[rank[number] for rank in ranks] for number in shared]
    return [model for model in models if _can_be(model)]


def _can_be(ranks: Sequence[SentBuffers]) -> bool:
    is_alike = len({(one.syncs, one.bytes) for one in ranks}) == 1
    return is_alike and all(sum(row.bytes for row in one.buffers) <= one.bytes for one in ranks)


def _unchanged(ranks: Sequence[SentBuffers]) -> tuple[SentBuffer, ...]:
    """The buffers that no rank was seen to write, and that receivers held when they looked."""
    by_name: defaultdict[str, list[SentBuffer]] = defaultdict(list)
    for rank in ranks:
        for one in rank.buffers:
            by_name[one.name].append(one)
    found = []
    for seen in by_name.values():
        looks, same = sum(one.looks for one in seen), sum(one.same for one in seen)
        is_known = len(seen) == len(ranks) and looks >= FEWEST_LOOKS
        if is_known and same == looks and all(map(_is_kept, seen)):
            found.append(replace(seen[0], looks=looks, same=same))
    return tuple(sorted(found, key=lambda one: -one.bytes))


def _is_kept(one: SentBuffer) -> bool:
    """Whether a rank holds what it held before, as far as it was looked at."""
    return not one.written and one.kept == one.revisits >= FEWEST_LOOKS


def needless_buffers(run: Facts, whole_s: float) -> Needless | None:
    """Most of what is moved are buffers of the model that are where they go already.

    `whole_s` is what all transfer costs.
    """
    found = resent_buffers(run)
    if found is None:
        return None
    gain = saved_without(run, found, whole_s)
    least = min(one.looks for one in found.buffers)
    size = format_bytes(sum(one.bytes for one in found.buffers))
    part = "all" if found.is_all else format_share(found.share)
    return Needless(
        told=f" that were not seen to change: {found.names}",
        summary=(
            f"Each of {counted(found.syncs, 'forward pass', 'forward passes')} begins with a "
            f"broadcast of the model's buffers from its first rank. {found.names} are "
            f"{part} of that. No rank was seen to write them between two passes, and in "
            f"each of {counted(least, 'look')} receivers already held the data they were sent. "
            "Writes through .data or NumPy are not counted, and looks are at some of the data in "
            "some of the passes. If nothing writes them that way, without the broadcasts "
            "the run would take about "
            f"{wording.saving(run.results, gain.seconds, is_bound=False)} less."
        ),
        gain=gain,
        rows=(
            Evidence("Sent in each forward pass, and not seen to change", size),
            Evidence("Looks at what receivers held, by samples", least),
            Evidence("Of these, the broadcast changed nothing", least),
        ),
        action=_action(found),
        where=(found.made_at,) if found.made_at else (),
        confidence=Confidence.MEDIUM,
        is_alone=True,
    )


def _action(found: ResentBuffers) -> str:
    """What has them sent no more; the others, which change, have to be sent on."""
    at = f"In {wording.place(found.made_at)}" if found.made_at else ""
    every = f"DistributedDataParallel sends {found.names} in every forward pass"
    apart = (
        "make its constant buffers plain attributes (no register_buffer; .to() and state_dict() "
        "then leave them out)"
    )
    if not found.is_all:
        kept = f"{every}: {apart}, {UNWRITTEN}; keep its other buffers registered."
        return wording.there(at, kept)
    is_new = found.argument == NEWEST
    once = "" if is_new else ", and give every rank the same ones at the beginning"
    name = OLD_NAME if is_new else NEW_NAME
    return wording.there(
        at, f"Pass {found.argument}=False ({name}){once}, or {apart}, {UNWRITTEN}. {every}."
    )


def saved_without(run: Facts, found: ResentBuffers, whole_s: float) -> Gain:
    """What is saved at most: their part of the transfer of these broadcasts."""
    edit = Edit(factor=1.0, network=math.inf, operation=BROADCAST)
    gain = predicted_gain(run.results, run.replay, [edit], bound_s=whole_s, is_planned=True)
    return replace(gain.of(found.share * gain.seconds), interval_s=None)
