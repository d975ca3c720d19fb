"""Collectives that bring what their receivers hold already: what is left without them."""

import math
from dataclasses import replace

from perfscope.findings.core import wording
from perfscope.findings.core.finding import Evidence, Gain
from perfscope.findings.core.gain import most_moving, predicted_gain
from perfscope.findings.facts import sampled_places
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.needless import Needless
from perfscope.judging import ALONE, MAIN
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.replay.model import Edit
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.received import received_again
from perfscope.units import counted, format_share


@dataclass(frozen=True)
class RepeatedMessage:
    """The collective that most time goes to, where nearly all of it changes nothing."""

    operation: str
    looks: int
    same: int  # looks in which the receiver held already what came
    share: float  # of the bytes


def repeated_message(run: Facts) -> RepeatedMessage | None:
    """What most transfer goes to is there already; None where it is not, or nobody has looked."""
    operation = most_moving(run.results)
    told = [row for rank in run.results.trace.ranks for row in received_again(rank.metadata)]
    rows = [row for row in told if row.operation == operation]
    known = [row for row in rows if row.looks >= FEWEST_LOOKS]
    moved = sum(row.bytes * row.calls for row in rows)
    received = sum(
        row.bytes_received or 0
        for row in run.results.communication.operations
        if row.name == operation
    )
    if not moved or not known or moved < MAIN * received:
        return None
    share = sum(row.bytes * row.calls * row.same / row.looks for row in known) / moved
    looks, same = sum(row.looks for row in known), sum(row.same for row in known)
    return RepeatedMessage(operation, looks, same, share) if share > ALONE else None


def needless_repeats(run: Facts, whole_s: float) -> Needless | None:
    """Most of what is moved is where it goes already; `whole_s` is what all transfer costs."""
    found = repeated_message(run)
    if found is None:
        return None
    name, looks = found.operation, counted(found.looks, "look")
    gain = saved_without_repeats(run, found, whole_s)
    at = sampled_places.calls(run.results, "In")
    less = f"leave out {name} where nothing has changed since the last one"
    return Needless(
        told=", of what its receivers hold already",
        summary=(
            f"In {found.same} of {looks} at some values of the buffers that {name} receives into, "
            f"a call changed none of them: {format_share(found.share)} of the bytes. "
            "Without them the run would take about "
            f"{wording.saving(run.results, gain.seconds, is_bound=False)} less."
        ),
        gain=gain,
        rows=(
            Evidence(f"Looks at what {name} received, by samples", found.looks),
            Evidence("Of these, the call changed nothing", found.same),
        ),
        action=(
            f"{wording.there(at, less)}: once before the loop, and again only after one rank "
            f"alone has changed it; where little of it changes, send that alone. In {found.same} "
            f"of {looks} the receiver held already what came."
        ),
        confidence=Confidence.HIGH,
    )


def saved_without_repeats(run: Facts, found: RepeatedMessage, whole_s: float) -> Gain:
    """What is saved at most: the transfer of those calls that change nothing."""
    edit = Edit(factor=1.0, network=math.inf, operation=found.operation)
    gain = predicted_gain(run.results, run.replay, [edit], bound_s=whole_s, is_planned=True)
    return replace(gain.of(found.share * gain.seconds), interval_s=None)
