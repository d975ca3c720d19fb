"""What it costs that ranks come late to the first thing that they do together."""

from collections.abc import Sequence
from statistics import median_high, median_low

from perfscope.attribution.start_up import StartUp
from perfscope.findings.core import thresholds
from perfscope.findings.core.gain import waited_s
from perfscope.findings.facts.serial_work import SerialWork, edits_of
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Level
from perfscope.replay.replay import Replay
from perfscope.structures import dataclass


@dataclass(frozen=True)
class StartUpFacts:
    """Seconds that the run would be shorter if all ranks were as fast as the usual one.

    `before_s` is what the usual rank waits while communication is initialized, as the last rank
    starts or imports later; `setup_s` what the work after it costs, by replay where `is_replayed`.
    """

    start_up: StartUp
    before_s: float
    setup_s: float
    is_replayed: bool
    edit: Edit

    @property
    def total_s(self) -> float:
        """Both: they lie one after the other."""
        return self.before_s + self.setup_s

    @property
    def queued_s(self) -> float:
        """What of it the last rank waited for a CPU longer than the usual one: that is chance."""
        waited = self.start_up.queued_s
        if not waited:
            return 0.0
        busy = zip(self.start_up.before_s, self.start_up.setup_s, strict=True)
        length = [before + setup for before, setup in busy]
        last = length.index(max(length))
        return min(max(0.0, waited[last] - median_low(waited)), self.total_s)

    @property
    def worth_s(self) -> float:
        """What the program or its set-up costs, and not who had a CPU first."""
        return self.total_s - self.queued_s

    @property
    def explained(self) -> tuple[Edit, ...]:
        """What of the work between collectives is set-up and no imbalance of the training."""
        return (self.edit,) if self.setup_s > 0 else ()


def start_up_facts(
    results: Results, replay: Replay, *, alone: Sequence[SerialWork]
) -> StartUpFacts | None:
    """The facts; None for one rank, or where the beginning is not known.

    Set-up that costs less than a finding is worth counts as none: it stays with the other work.
    `alone` is what single ranks do alone: it is set aside.
    """
    start_up = results.start_up
    if start_up.reason or len(start_up.ranks) < 2:
        return None
    edit = Edit(level=Level.MEDIAN, until_ns=start_up.until_ns)
    setup_s, is_replayed = 0.0, False
    if beyond(start_up.setup_s) > 0:
        prediction = replay.predict([edit], after=edits_of(alone))
        most_s = min(beyond(start_up.setup_s), waited_s(results))
        setup_s = prediction.gain_s if prediction else most_s
        is_replayed = prediction is not None
    if setup_s < thresholds.WARN_SHARE * results.window_s:
        setup_s, is_replayed = 0.0, False
    waited = start_up.waiting_s
    before_s = median_high(waited) - min(waited)
    return StartUpFacts(start_up, before_s, setup_s, is_replayed, edit)


def beyond(seconds: Sequence[float]) -> float:
    """What the longest takes beyond the usual one, where half are late beyond the others."""
    return max(seconds) - median_low(seconds)
