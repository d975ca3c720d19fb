"""Keys of tables that are hashed anew with each call that groups by them.

pandas numbers the values of a column before it groups by it. Of strings and other objects it hashes
each one for that; a categorical column, or one of integers, has its numbers already, or nearly so.
The library's own frames below the program's function tell it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.attribution.stack_rules import is_user_file
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.finding import Evidence, Finding, Gain
from perfscope.findings.core.gain import as_bare_bound, saved
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.groups import Group
from perfscope.judging import FEWEST_SAMPLES
from perfscope.losses.entry import Saving
from perfscope.replay.model import Edit
from perfscope.trace.model import Frame, Trace
from perfscope.units import NS, format_seconds, format_share

_NUMBERS = re.compile(r"\b(String|PyObject)HashTable\.|(^|\.)_check_object_for_strings$")
"""What hashes values that are Python objects, and looks whether all of them are strings."""

_GROUPS = re.compile(r"(^|\.)(Base)?Group(er|ing|By)\.")


def with_numbered_keys(run: Facts, group: Group, finding: Finding) -> Finding:
    """The finding, with keys that are hashed in each call as the first thing to do."""
    first = group.entries[0]
    frame, labels = first.frame, run.results.labels
    if frame is None or labels is None or finding.first is not None:
        return finding
    results, trace = run.results, run.results.trace
    here = np.array([one.key == frame.key for one in trace.frames], np.bool_)
    inside = here[labels.user_frame]
    hashes = np.array([_hashes(trace, stack) for stack in trace.stacks], np.bool_) & inside
    ranks = [one for one in trace.ranks if one.number in first.ranks]
    seen = [int(hashes[results.focus.within(one.main_stacks)["stack"]].sum()) for one in ranks]
    if not ranks or min(seen) < FEWEST_SAMPLES:
        return finding
    shares, seconds = {}, []
    for rank, timeline in zip(trace.ranks, results.timelines, strict=True):
        if rank.number in first.ranks:
            spent = timeline.by_stack(timeline.work(results.focus), len(trace.stacks))
            shares[rank.number] = float(spent[hashes].sum() / max(spent[inside].sum(), 1.0))
            seconds.append(float(spent[hashes].sum()) * NS)
    gain = _gain(run, frame, shares)
    if gain is None or gain.share < thresholds.WARN_SHARE:
        return finding
    mean_s = sum(seconds) / len(seconds)
    share = format_share(sum(shares.values()) / len(shares))
    row = Evidence("Of it, hashing keys that are objects, per rank", mean_s, "s")
    action = (
        f"In {wording.place(frame)}: convert the column that is grouped by once, before the loop, "
        'to a category (`table[key] = table[key].astype("category")`, and `observed=True` where it '
        "is grouped by) or to integer codes: its values are strings or other objects, which each "
        f"call hashes anew, {format_seconds(mean_s)} per rank and {share} of this function's time."
    )
    return replace(
        finding,
        evidence=(*finding.evidence, row),
        actions=(action, *finding.actions),
        first=gain,
    )


def _gain(run: Facts, frame: Frame, shares: dict[int, float]) -> Gain | None:
    """What is saved at most without the hashing; None where nobody can tell."""
    edits = [
        Edit(function=frame.key, ranks=(rank,), factor=1.0 - part) for rank, part in shares.items()
    ]
    saving = run.savings.bound(edits)
    if not isinstance(saving, Saving):
        return None
    return as_bare_bound(saved(run.results, saving.seconds, edits=saving.edits))


def _hashes(trace: Trace, stack: Sequence[int]) -> bool:
    """Whether a stack hashes objects for a call that groups by them."""
    groups = False
    frames = [trace.frames[one] for one in stack]
    own = max((at for at, one in enumerate(frames) if is_user_file(one.file)), default=-1)
    for one in frames[own + 1 :]:
        groups = groups or _GROUPS.search(one.function) is not None
        if groups and _NUMBERS.search(one.function):
            return True
    return False
