"""What comes again and again, told from what comes once in a run, however long that is."""

import numpy as np

from perfscope.attribution.ledger import INDEX
from perfscope.findings.core import thresholds
from perfscope.findings.core.finding import Gain
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account, Status


def is_worth_it(gain: Gain) -> bool:
    """Whether a gain is worth acting on: a large one, whatever it is the gain of."""
    return thresholds.deserved(gain).is_fault and gain.share >= thresholds.FAIL_SHARE


def deserved(results: Results, gain: Gain, account: Account, place: int) -> Status:
    """The status of such a gain, of time in an account; what is short and comes once is told only.

    See `recurring_share` for the arguments.
    """
    status, again = thresholds.deserved(gain), recurring_share(results, account, place)
    if is_worth_it(gain.of(again * gain.seconds)):
        return status
    return thresholds.unless_once(status, gain.seconds, gain.share)


def recurring_share(results: Results, account: Account, place: int) -> float:
    """Of a rank's time in an account in the focus, what lies outside its longest stretch.

    Args:
        results: of the run.
        account: of the ledger.
        place: of the rank, in the order of the trace.
    """
    timeline = results.timelines[place]
    chosen = timeline.inside(results.focus) & (timeline.accounts == INDEX[account])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    stretches = np.diff(timeline.before(chosen)[edges])[::2]
    return float(1.0 - stretches.max() / stretches.sum()) if len(stretches) else 0.0
