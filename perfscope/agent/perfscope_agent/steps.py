"""Steps: one iteration of the training loop each, numbered over the life of the process."""

from __future__ import annotations

from . import recorder, sites
from .kinds import Any

MARKER = "marker"

source: str | None = None
"""Who reported the last step: "marker", "keras", "tensorflow", "torch", None nobody."""

is_told = False
"""Whether a framework that tells its own steps is running on another one, as Keras on PyTorch."""

epoch = recorder.NO_EPOCH
"""The running epoch, -1 unknown."""

last_number = -1

window: Any = None
"""The module `window` when only some steps are wanted or the job is to end after one."""
_LIMIT = 16
_MOST_PENDING = 64


def accepts(candidate: str) -> bool:
    """Whether steps of this source are written: from the first marker on, no framework's are."""
    global source
    if source != MARKER:
        source = candidate
    return source == candidate


def emit(
    candidate: str,
    t0_ns: int,
    t1_ns: int,
    *,
    samples: int = 0,
    global_batch: int = 0,
    number: int | None = None,
) -> None:
    """Writes a finished step unless another source reports the steps of this process."""
    global last_number
    rec = recorder.current
    if rec is None or (source != candidate and not accepts(candidate)) or t1_ns <= t0_ns:
        return
    if last_number < 0:
        recorder.trains_here(rec)
    last_number = last_number + 1 if number is None else number
    rec.step(last_number, epoch, max(samples, 0), max(global_batch, 0), t0_ns, t1_ns)
    if window is not None:
        window.recorded(last_number)


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global source, is_told, epoch, last_number
    source, is_told, epoch, last_number = None, False, recorder.NO_EPOCH, -1


class Unit:
    """One call that may be a whole step or a part of one: an optimizer step, a train_on_batch."""

    __slots__ = ("end_ns", "guesses", "key", "samples", "site", "source", "start_ns")

    def __init__(
        self,
        source: str,
        key: object,
        *,
        start_ns: int,
        end_ns: int,
        samples: int,
        guesses: int = 0,
    ) -> None:
        self.source = source
        self.key = key
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.samples = samples
        self.guesses = guesses  # passes over data of which no loader tells the samples
        self.site = sites.of(key)


class Cycle:
    """Groups the calls of a loop body into steps.

    Where calls come from several places of the program, a step is a turn of the innermost loop that
    all of them are in, with what loops inside of that do in it. From one place they may come for
    several models, in a loop of their own: then a step begins when the first one of the running
    step comes round again after a different one. Where the loop of a call is in another one,
    repeated calls are kept back until a different one has been seen, because they may be the first
    half of a longer iteration (a GAN trains two models in one); after 16 of them each is a step of
    its own, after 64 where it was one of several in an iteration before (accumulated gradients).
    """

    def __init__(self, *, sums_samples: bool) -> None:
        self._sums_samples = sums_samples
        self._pending: list[Unit] = []
        self._is_single = False  # every call is a step
        self._iteration: set[object] = set()  # what an iteration that came round was made of

    def add(self, unit: Unit) -> None:
        """Takes the next call; writes the step that it ends, if any."""
        pending = self._pending
        before = pending[0] if len(pending) == 1 else unit
        if (
            self._is_single
            and before is not unit
            and before.key == unit.key
            and (before.site is unit.site or None in (before.site, unit.site))
        ):  # as in each step of most programs
            emit(before.source, before.start_ns, unit.start_ns, samples=before.samples)
            pending.clear()
        elif not pending:
            self._is_single |= unit.site is not None and len(unit.site.loops) <= 1
        elif len(pending) >= self._limit(pending[-1]) <= _runs(pending)[-1]:
            self._settle_on_single(unit.start_ns)
        elif _are_apart([*pending, unit]):
            self._take_turn(unit)
        elif self._is_single:
            if unit.key != pending[0].key:
                self._is_single = False
            else:
                self._flush(unit.start_ns)
        elif unit.key == pending[0].key and not _are_equal(pending):
            self._iteration = {known.key for known in pending}
            self._flush(unit.start_ns)
        pending.append(unit)
        if window is not None and accepts(unit.source):
            # Equal calls that are kept back are steps, as far as is known.
            window.running(last_number + 1 + _are_equal(pending) * len(pending), slack=1)

    def _limit(self, repeated: Unit) -> int:
        """So many equal calls on end are a step each."""
        is_part = len(self._iteration) > 1 and repeated.key in self._iteration
        return _MOST_PENDING if is_part else _LIMIT

    def _take_turn(self, unit: Unit) -> None:
        """Writes the turns that are over of the loop that all calls are in."""
        units = [*self._pending, unit]
        self._pending.clear()
        if len(units) > _MOST_PENDING:  # what came first may be in no turn of what goes on
            self._write(units[:1], units[1].start_ns)
            del units[0]
        places = [one.site for one in units if one.site is not None]
        loop = sites.innermost_shared(places)
        for at, place in enumerate(places[:-1]):
            self._pending.append(units[at])
            if place.ends_turn(places[at + 1], loop):
                self._iteration = {known.key for known in self._pending}
                self._is_single &= len(self._iteration) == 1
                self._write(self._pending, units[at + 1].start_ns)
                self._pending.clear()

    def goes_on_until(self, now_ns: int) -> bool:
        """Lengthens the last call, whose work goes on behind it; False where none is kept."""
        for unit in self._pending[-1:]:
            unit.end_ns = now_ns
        return bool(self._pending)

    def cut(self) -> None:
        """Ends the running step with its last call: something that is no training follows."""
        if self._pending:
            self._is_single = _are_equal(self._pending)
            self._flush(self._pending[-1].end_ns)

    def drop(self) -> None:
        """Forgets the calls that were kept back: they were no training."""
        self._pending.clear()

    def _settle_on_single(self, end_ns: int) -> None:
        """One call has been repeated so often that each was a step, whatever came before."""
        first = len(self._pending) - _runs(self._pending)[-1]
        repeated = self._pending[first:]
        del self._pending[first:]
        if self._pending:
            self._flush(repeated[0].start_ns)
        self._pending += repeated
        self._flush(end_ns)
        self._is_single = True

    def _flush(self, end_ns: int) -> None:
        """Writes the calls kept back as one iteration, or each as a step."""
        pending = self._pending
        runs = _runs(pending)
        # Two loops that follow each other repeat their calls; parts of one iteration come round.
        came_round = self._iteration == {unit.key for unit in pending}
        if len(runs) > 1 and (came_round or min(runs) == 1):
            self._write(pending, end_ns)
        else:
            for unit, following in zip(pending, pending[1:]):
                self._write([unit], following.start_ns)
            self._write(pending[-1:], end_ns)
        pending.clear()

    def _write(self, units: list[Unit], end_ns: int) -> None:
        samples = _samples(units) if self._sums_samples else units[0].samples
        emit(units[0].source, units[0].start_ns, end_ns, samples=samples)


def _are_apart(units: list[Unit]) -> bool:
    """Whether calls are made at places of the program that are known, and not all the same."""
    first = units[0].site
    return any(unit.site is not first for unit in units) and all(unit.site for unit in units)


def _samples(units: list[Unit]) -> int:
    """Samples of an iteration: those of its calls, but what several models look at counts once."""
    if len(units) == 1:
        return units[0].samples
    by_key: dict[object, int] = {}
    if not all(unit.guesses for unit in units if unit.samples):
        return sum(unit.samples for unit in units)
    for unit in units:
        by_key[unit.key] = by_key.get(unit.key, 0) + unit.samples // max(unit.guesses, 1)
    return max(by_key.values()) if len(by_key) > 1 else sum(unit.samples for unit in units)


def _are_equal(units: list[Unit]) -> bool:
    """Whether all of several calls are the same."""
    return all(unit.key == units[0].key for unit in units)


def _runs(units: list[Unit]) -> list[int]:
    """Lengths of the runs of equal calls."""
    lengths: list[int] = []
    for index, unit in enumerate(units):
        if index and unit.key == units[index - 1].key:
            lengths[-1] += 1
        else:
            lengths.append(1)
    return lengths
