"""What a function compiles again and again and could keep, as patterns of text.

The library's own frames below the program's function tell it: one that compiles takes a large part
of the function's time, all through the run.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.arrays import Bools, Floats
from perfscope.attribution.library_calls import called
from perfscope.attribution.stack_rules import NATIVE_FILES, is_user_file, words_of
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.finding import Evidence, Finding, Gain, Spent
from perfscope.findings.core.gain import as_bare_bound, saved
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.groups import Group
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.losses.entry import Saving
from perfscope.replay.model import Edit
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank, Trace
from perfscope.units import NS, format_seconds, format_share

TELLS = (Activity.COMPILING, Activity.IMPORTING)
"""Of which all is that: their own findings tell it."""


@dataclass(frozen=True)
class MadeAnew:
    """What is compiled again and again in the function in which most of a group is lost."""

    name: str  # of the library's function that the program calls, `re.sub`
    share: float  # of the time of the program's function, outside communication
    mean_s: float  # seconds of a rank in it
    gain: Gain  # of keeping what it makes, at most

    def before(self, finding: Finding) -> Finding:
        """A finding that has this as the first thing to do."""
        row = Evidence(f"Of it, compiling in {self.name}(), per rank", self.mean_s, "s")
        return replace(
            finding,
            title=(
                f"{wording.place(finding.where[0])} compiles anew all through the run, for "
                f"{format_seconds(self.mean_s)} per rank"
            ),
            summary=f"{finding.title}. {finding.summary}",
            evidence=(*finding.evidence, row),
            actions=(self.action, *finding.actions),
            first=self.gain,
        )

    @property
    def action(self) -> str:
        """What to keep, and how long it takes; its gain is told as that of the first action."""
        part = format_share(self.share)
        return (
            f"Compile once, before the loop, and keep the result: calls of {self.name}() compile "
            f"anew all through the run, for {part} of this function's time. (A cache of the "
            "library does not help where more is compiled by turns than it holds.)"
        )


def with_made_anew(run: Facts, group: Group, finding: Finding) -> Finding:
    """The finding, with what is compiled again and again as the first thing to do."""
    found = made_anew(run, group)
    return finding if found is None else found.before(finding)


def made_anew(run: Facts, group: Group) -> MadeAnew | None:
    """What the function in which most is lost compiles anew; None where that is little."""
    results, first = run.results, group.entries[0]
    labels, activity = results.labels, first.cause.activity
    if labels is None or first.frame is None or activity is None or activity in TELLS:
        return None
    trace, key = results.trace, first.frame.key
    here = np.array([frame.key == key for frame in trace.frames], np.bool_)[labels.user_frame]
    ranks = [
        (rank, timeline.by_stack(timeline.work(results.focus), len(trace.stacks)))
        for rank, timeline in zip(trace.ranks, results.timelines, strict=True)
        if rank.number in first.ranks
    ]
    spent = sum((ns for _, ns in ranks), np.zeros(len(trace.stacks)))
    name, makes = _most(trace, here, spent)
    if not name or not all(_lasts(run, rank, makes) for rank, _ in ranks):
        return None
    shares = {rank.number: _share(ns, makes, here) for rank, ns in ranks}
    saving = run.savings.bound(
        [Edit(function=key, ranks=(rank,), factor=1.0 - part) for rank, part in shares.items()]
    )
    if not isinstance(saving, Saving):
        return None
    gain = as_bare_bound(saved(results, saving.seconds, edits=saving.edits))
    if gain.share < thresholds.WARN_SHARE:
        return None
    mean_s = float(spent[makes].sum()) * NS / len(ranks)
    gain = replace(gain, spent=Spent(mean_s, is_each=len(ranks) > 1))
    return MadeAnew(name, _share(spent, makes, here), mean_s, gain)


def _most(trace: Trace, here: Bools, spent: Floats) -> tuple[str, Bools]:
    """What compiles most in some stacks, by the time of each, and in which of them; "" nothing."""
    stacks: defaultdict[str, list[int]] = defaultdict(list)
    for at in np.flatnonzero(here & (spent > 0)).tolist():
        stacks[_compiler([trace.frames[one] for one in trace.stacks[at]])].append(at)
    stacks.pop("", None)
    name = max(stacks, key=lambda one: (float(spent[stacks[one]].sum()), one), default="")
    return name, np.isin(np.arange(len(spent)), stacks[name])


def _compiler(frames: Sequence[Frame]) -> str:
    """The function of a library that the program calls and that compiles; "" none."""
    own = max((at for at, one in enumerate(frames) if is_user_file(one.file)), default=-1)
    behind = [one for one in frames[own + 1 :] if one.file not in NATIVE_FILES]
    for at, one in enumerate(behind):
        if "compile" in words_of(one.function.rpartition(".")[2]):
            return called(behind[: at + 1]) or one.function
    return ""


def _lasts(run: Facts, rank: Rank, makes: Bools) -> bool:
    """Whether it is seen in both halves of the window, and mostly in neither alone."""
    focus = run.results.focus
    rows = focus.within(rank.main_stacks)
    at = rows["t"][makes[rows["stack"]]]
    late = int((at > (focus.start_ns + focus.end_ns) / 2).sum())
    fewer = min(late, len(at) - late)
    return fewer >= FEWEST_SAMPLES and fewer >= MAIN / 2 * len(at)


def _share(spent: Floats, makes: Bools, here: Bools) -> float:
    return float(spent[makes].sum() / max(spent[here].sum(), 1.0))
