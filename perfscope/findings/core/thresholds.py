"""From when on a finding matters: the bounds that several diagnoses share."""

from dataclasses import replace

from perfscope.findings.core.finding import Gain
from perfscope.schema.enums import Basis, Status

FAIL_SHARE = 0.03  # of the focus of analysis: worth acting on
WARN_SHARE = 0.01  # below it a finding passes
FAIL_SHARE_UPPER_BOUND = 0.05  # the same where only an upper bound of the gain is known
CHANCE_S = 0.2  # given back: in a recording of seconds, a bad moment of the machine costs as much,
CHANCE_SHARE = 0.1  # unless it is so much of the recording

SERIAL_LEAST_SHARE = 0.005  # of the focus of analysis, below which such work is not looked at

SINGLE_LEAST_S = 1.0  # given back: what happened once and cost less, and less than CHANCE_SHARE,
# is told, not warned of
PERSISTENT = 0.25  # autocorrelation of being late from step to step: it lasts for several steps
# (a virtual machine without a fault: 0.4 to 0.65)


OVERSUBSCRIBED_WARN = 1.2  # runnable threads per CPU
OVERSUBSCRIBED_LEAST_SAMPLES = 20  # of all ranks of a node: fewer are the start of a run
SHARED_CPU_SHARE = 0.25  # run-queue delay per CPU second that no own thread explains
QUEUE_DELAY_SHARE = 0.05  # run-queue delay per CPU second that shows that threads wait for CPUs

KEPT_INFO_BYTES = 300  # less is what allocators lose anyway; Keras's predict keeps 0.7-3 KiB
CALLS_UNTIL_STEADY = 1500  # of predict and its like, until what they keep is no warm-up any more

TRACED_FAIL = 20
COMPILED_OFTEN = 5  # times by torch.compile: the first shape, sizes that change, both in evaluation
PREDICTS_OFTEN = 20  # calls in the steady half of the run: predict is called in a loop
START_UP_LEAST_S = 30.0  # a shorter start is that of a test run, whatever its share

HELPERS_LEAST_RUNNABLE = 0.3  # threads that want to run at a time: less takes no CPU from others

GPU_WATCHED_LEAST_SAMPLES = 10


def deserved(gain: Gain) -> Status:
    """The status that a gain deserves; what is little, and little of the run too, passes."""
    is_little = gain.seconds < CHANCE_S and gain.share < CHANCE_SHARE
    return Status.PASS if is_little and _is_little_of_run(gain) else by_gain(gain)


def of_host(gain: Gain) -> Status:
    """The status of what the host costs, which nobody claims: a bound counts as what is measured.

    It says of all findings what they are judged by, and must not depend on how it was found.
    """
    return deserved(replace(gain, basis=Basis.REPLAY))


def _is_little_of_run(gain: Gain) -> bool:
    return gain.run_share is not None and gain.run_share < WARN_SHARE


def by_gain(gain: Gain) -> Status:
    """The status of a gain in the analyzed window: replayed if possible, else by its upper bound.

    A gain whose interval reaches zero may be chance and is never more than a warning (what stays of
    that, `certainty` decides for all findings), unless what costs it is planned by the program and
    not subject to chance. Without an interval the gain itself decides.
    """
    if gain.is_bound:
        return by_bound(gain.share)
    if gain.interval_s is not None and gain.interval_s[0] <= 0 and not gain.is_planned:
        return Status.WARN if gain.share >= FAIL_SHARE else Status.PASS
    return _by_share(gain.share, FAIL_SHARE)


def by_bound(share: float) -> Status:
    """The status that an upper bound deserves, by its share."""
    return _by_share(share, FAIL_SHARE_UPPER_BOUND)


def unless_chance(status: Status, gain: Gain) -> Status:
    """The status of what ranks and network lose: told of only, where chance may cost as much.

    So it may where a short window is analyzed, of which little is much, in a run that is long.
    """
    is_short = gain.share < CHANCE_SHARE or _is_little_of_run(gain)
    return _unless_little(status, is_little=gain.seconds < CHANCE_S and is_short)


def unless_once(status: Status, gain_s: float, share: float) -> Status:
    """The status of what happened once, of which no steps tell whether it is chance."""
    return _unless_little(status, is_little=gain_s < SINGLE_LEAST_S and share < CHANCE_SHARE)


def _unless_little(status: Status, *, is_little: bool) -> Status:
    return Status.INFO if is_little and status.is_fault else status


def _by_share(share: float, fail_share: float) -> Status:
    if share >= fail_share:
        return Status.FAIL
    return Status.WARN if share >= WARN_SHARE else Status.PASS


# Lines that keep memory (--memory-detail): what a window kept may also be a cache that fills once.
