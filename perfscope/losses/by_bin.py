"""Which cause takes each bin of the timelines: the loss account, told apart by time.

Most causes are known by the moment: a stack shows what was done in place of training. Of what holds
work up, as a missing CPU, only sums are known, at the samples of a rank: a bin of such work shows
one of its causes, and neighboring bins show each of them as often as it has of their time.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, counter_growth
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.ledger import ACCOUNTS, INDEX
from perfscope.attribution.zoom import FINER, NOBODY, Cells, Level
from perfscope.engine import engine
from perfscope.losses.held_up import Seconds, held_up, held_up_s
from perfscope.losses.own_time import Moments
from perfscope.losses.places import Functions
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account, LossKind
from perfscope.schema.losses import OF_FUNCTIONS, SLOWED
from perfscope.structures import dataclass

COUNTERS = {
    LossKind.THROTTLED: "queue_delay_ns",
    LossKind.OTHER_PROCESSES: "queue_delay_ns",
    LossKind.CPU_WAIT: "queue_delay_ns",
    LossKind.PAGE_FAULTS: "minor_faults",
}
"""What of a main thread's samples tells when a cause held work up; of other causes nothing does."""

GOLDEN = (5**0.5 - 1) / 2
"""Its multiples are spread evenly over a unit, however many there are."""

FIRST = NOBODY + 1
"""The code of the first of the causes that are told apart, behind the accounts."""


@dataclass(frozen=True)
class Told:
    """A cause that has a color of its own: the value of a kind of loss, or of an activity.

    `cause` None stands for all others of the account together.
    """

    account: Account
    cause: str | None


def loss_levels(results: Results, told: Sequence[Told]) -> tuple[Level, ...]:
    """The zoom of a run with the causes in the cells: `FIRST` is the first of `told`."""
    zoom = results.zoom
    if zoom is None or not told:
        return zoom.levels if zoom else ()
    making = _Making(results, told)
    bin_ns = zoom.levels[-1].bin_ns
    of_rows = [making.levels(row, bin_ns, len(zoom.levels)) for row in zoom.rows]
    return tuple(
        Level(level.bin_ns, np.stack(cells))
        for level, cells in zip(zoom.levels, zip(*of_rows, strict=True), strict=True)
    )


class _Making:
    """Tells the bins of one rank after the other."""

    def __init__(self, results: Results, told: Sequence[Told]) -> None:
        self._results, self._functions = results, Functions(results)
        self._told = stack_activities(results.trace)
        self._held = held_up_s(results)
        self._code = {(one.account, one.cause): FIRST + n for n, one in enumerate(told)}
        # behind them a code for each account with work in functions of which a part is lost
        self._temporary = FIRST + len(told)
        self._working = [*dict.fromkeys(one.account for one in told)]
        self._codes = self._temporary + len(OF_FUNCTIONS) * len(ACCOUNTS)
        self._table = self._by_activity()
        self._group = np.arange(self._temporary)
        kinds = {kind.value for kind in SLOWED}
        for one, code in zip(told, range(FIRST, self._temporary), strict=True):
            if one.cause in kinds or one.cause is None:
                self._group[code] = INDEX[one.account]

    def _by_activity(self) -> npt.NDArray[np.uint8]:
        """The code of each account and activity, the last column of none."""
        table = np.repeat(np.arange(len(ACCOUNTS), dtype=np.uint8)[:, None], len(ACTIVITIES) + 1, 1)
        for account in self._working:
            others = self._code.get((account, None), INDEX[account])
            for place, activity in enumerate(ACTIVITIES):
                code = self._code.get((account, activity.value), others)
                table[INDEX[account], place] = code
        return table

    def levels(self, row: int, bin_ns: int, depth: int) -> list[Cells]:
        """The cells of a rank, coarsest level first."""
        spent = self._divided(row, self._spent(row, bin_ns), bin_ns)
        found = [self._chosen(spent)]
        for _ in range(depth - 1):
            missing = -len(spent) % FINER
            whole = np.concatenate([spent, np.zeros((missing, spent.shape[1]))])
            spent = whole.reshape(-1, FINER, spent.shape[1]).sum(axis=1)
            found.append(self._chosen(spent))
        return found[::-1]

    def _spent(self, row: int, bin_ns: int) -> Floats:
        """Nanoseconds by bin and code, temporary ones among them."""
        results, focus = self._results, self._results.focus
        rank, timeline = results.trace.ranks[row], results.timelines[row]
        begins, codes = [], []
        for part in timeline.parts():
            moments = Moments.of([rank], [part], self._functions, self._told)
            found = self._table[moments.all.account, moments.activity]
            for place, here in enumerate(self._in_functions(row, moments)):
                first = self._temporary + place * len(ACCOUNTS)
                found[here] = first + moments.all.account[here]
            begins.append(moments.all.begin)
            codes.append(found)
        boundaries = np.concatenate([*begins, timeline.boundaries[-1:]])
        whole = np.concatenate(codes)
        columns = boundaries, whole, np.full(len(whole), -1, np.int16)
        ends = focus.start_ns, focus.end_ns
        sums = engine.spent_by_bin(columns, *ends, bin_ns, self._codes)
        spent: Floats = sums.reshape(-1, self._codes + 1).astype(np.float64)
        spent[:, NOBODY] = spent[:, self._codes]
        return spent

    def _in_functions(self, row: int, moments: Moments) -> list[Bools]:
        """Which moments are work in functions of which a part is lost, by the kind of that."""
        function = self._functions.functions_of(moments.all.stack)
        wanted = self._wanted(self._held[row])
        is_work = np.isin(moments.all.account, [INDEX[one] for one in self._working])
        is_work &= moments.activity < 0
        return [is_work & np.isin(function, wanted[kind]) for kind in OF_FUNCTIONS]

    def _wanted(self, held: Seconds) -> Mapping[LossKind, list[int]]:
        names = {
            kind: {one.function for one, _ in held if one.kind is kind} for kind in OF_FUNCTIONS
        }
        return {kind: self._functions.places_of(found) for kind, found in names.items()}

    def _divided(self, row: int, spent: Floats, bin_ns: int) -> Floats:
        """Nanoseconds by bin and code, with work divided into what is done and what holds it up."""
        accounts = [INDEX[one] for one in self._working]
        parts = np.stack(
            [
                spent[:, self._temporary + n * len(ACCOUNTS) :][:, accounts]
                for n in range(len(OF_FUNCTIONS))
            ]
        )
        work = spent[:, accounts] + parts.sum(axis=0)
        lost = self._lost(row, work, parts, bin_ns)
        divided = spent[:, : self._temporary].copy()
        for place, account in enumerate(self._working):
            own = INDEX[account]
            divided[:, own] = work[:, place]
            for kind, ns in lost.items():
                code = self._code.get((account, kind.value), self._code.get((account, None), own))
                divided[:, own] -= ns[:, place]
                divided[:, code] += ns[:, place]
        return np.maximum(divided, 0.0)

    def _lost(self, row: int, work: Floats, parts: Floats, bin_ns: int) -> dict[LossKind, Floats]:
        """What is lost of work to each cause, shape (bins, accounts)."""
        sums: dict[LossKind, int] = {}
        for cause, ns in held_up(self._results, row, round(work.sum()), self._held[row]):
            sums[cause.kind] = sums.get(cause.kind, 0) + ns
        left, lost = np.ones(len(work)), {}
        whole = work.sum(axis=1)
        for kind, ns in sums.items():
            if kind in OF_FUNCTIONS or not ns:
                continue
            part = self._when(row, kind, whole, bin_ns)
            share = np.divide(ns * part, whole, out=np.zeros_like(whole), where=whole > 0)
            share = np.minimum(share, left)
            left -= share
            # what has no room where its counter grew is spread over what is left
            rest, room = ns - float((share * whole).sum()), float((left * whole).sum())
            more = left * min(1.0, rest / room) if rest > 0 and room > 0 else 0.0
            left -= more
            lost[kind] = work * (share + more)[:, None]
        for kind, mine in zip(OF_FUNCTIONS, parts * left[:, None], strict=True):
            if mine.any():
                lost[kind] = mine * min(1.0, sums.get(kind, 0) / mine.sum())
        return lost

    def _when(self, row: int, kind: LossKind, work: Floats, bin_ns: int) -> Floats:
        """The part of a cause in each bin: as its counter grows there, else as the work does."""
        samples = self._results.trace.ranks[row].main_samples
        weight = work
        if kind in COUNTERS:
            edges = self._results.focus.start_ns + bin_ns * np.arange(len(work) + 1)
            grown = counter_growth(edges, samples["t"], samples[COUNTERS[kind]])
            weight = np.where(work > 0, grown, 0.0)
        if not weight.any():
            weight = work
        total = float(weight.sum())
        return weight / total if total else weight

    def _chosen(self, spent: Floats) -> Cells:
        """A code for each bin: of the group that has most of it, one as often as it has of that."""
        groups = np.zeros_like(spent)
        for code, group in enumerate(self._group.tolist()):
            groups[:, group] += spent[:, code]
        most = groups.argmax(axis=1)
        mine = np.where(self._group == most[:, None], spent, 0.0)
        reached = np.cumsum(mine, axis=1)
        asked = (np.arange(1, len(spent) + 1) * GOLDEN % 1.0) * reached[:, -1]
        chosen = (reached <= asked[:, None]).sum(axis=1)
        cells: Cells = np.minimum(chosen, self._temporary - 1).astype(np.uint8)
        return cells
