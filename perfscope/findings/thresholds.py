"""From when on a finding matters: every bound that a diagnosis judges by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfscope.findings.finding import Status

if TYPE_CHECKING:
    from perfscope.replay.model import Prediction

FAIL_SHARE = 0.03  # of the focus of analysis: worth acting on
WARN_SHARE = 0.01  # below it a finding passes
FAIL_SHARE_UPPER_BOUND = 0.05  # the same where only an upper bound of the gain is known

SOLO_SHARE = 0.8  # of all ranks' time in a phase or function, on one rank: it works alone there
SOLO_LEAST_SHARE = 0.005  # of the focus of analysis, below which such work is not looked at
OCCASIONAL_SHARE = 0.5  # of the steps: unlabelled work in more of them is imbalance

HEAVY_SHARE = 0.02  # above the median rank's work: a rank that works more than the others
HEAVY_PART = 0.2  # of what the heaviest rank works beyond the median: less does not count beside it
CONSTANT_SHARE = 0.5  # of the gain, explained by always the same ranks: constant imbalance
EQUAL_SAMPLES_SHARE = 0.02  # ranks whose sample counts differ by less have the same load
SINGLE_LEAST_S = 1.0  # given back: what happened once and cost less is told, not warned of
SINGLE_SHARE = 0.5  # of the waiting for a rank, in one single wait: it happened once
NARROW_INTERVAL = 1.0  # width of the interval of a gain over the gain, up to which it is certain
JITTER_SHARE = 0.03  # of the focus: ordinary jitter, when another rank is late each time
SPREAD_SHARE = 0.05  # the same where nobody is late by more than step times vary anyway
RECURRING_SHARE = 0.25  # of the time: what makes ranks late more rarely is a disturbance
SAME_RATIO_SPREAD = 0.3  # phases slowed alike, relative to the mean excess: slow in everything
PHASE_LEAST_SHARE = 0.03  # of a rank's work, below which a phase says nothing about its speed
QUEUED_SHARE = 0.5  # of what a rank works longer, spent waiting for CPUs: that is the cause

INPUT_LEAST_SHARE = 0.03  # of the focus: what getting a batch that is ready may take

CROWDED_WARN = 1.2  # runnable threads per CPU
CROWDED_FAIL = 1.5
SHARED_CPU_SHARE = 0.25  # run-queue delay per CPU second that no own thread explains
QUEUE_DELAY_SHARE = 0.05  # run-queue delay per CPU second that shows that threads wait for CPUs

AFFORDABLE_SHARE = 0.04  # of the run that is left: what evaluation and output may take

TRANSFER_WARN_SHARE = 0.05  # of the focus, given back by a network that needs no time
TRANSFER_FAIL_SHARE = 0.10  # which no real one is
SMALL_BYTES = 64 << 10  # collectives below it are made of latency and not of bandwidth
SMALL_PER_STEP = 4  # small collectives in each step, of which several can be one
SMALL_SHARE = 0.5  # of the time of collectives, in small ones: they are to be fused

GROWTH_LEAST_BYTES = 2 << 20  # in the second half of the run: less is noise of the allocator
GROWTH_LEAST_SHARE = 0.005  # the same, of the peak of the rank
GROWTH_LONG_S = 24 * 3600.0  # a node that lasts longer at this pace is no failure yet

SCARCE_FAIL = 0.05  # of the memory of a node or control group left at the least moment
SCARCE_WARN = 0.10

IDLE_CPUS_SHARE = 0.5  # of the CPUs allowed to the ranks of a node, idle: worth a word

START_UP_SHARE = 0.2  # of the life of a rank, before ordinary steps
TRACED_OFTEN = 3  # times: the first one and one for a last, smaller batch are ordinary
TRACED_FAIL = 20
MADE_OFTEN = 20  # functions of one name: more than a program has models and layers, mostly
PREDICTS_OFTEN = 20  # calls in the steady half of the run: predict is called in a loop
START_UP_LEAST_S = 30.0  # a shorter start is that of a test run, whatever its share

IDLE_DEVICES_SHARE = 0.1  # of the time: below it nobody would look for a reason


def judge(
    prediction: Prediction | None, upper_bound_share: float, *, is_planned: bool = False
) -> Status:
    """The status that a gain deserves: replayed if possible, else by its upper bound.

    A gain whose interval reaches zero may be chance and is never more than a warning, unless what
    costs it is planned by the program and not subject to chance.
    """
    if prediction is None:
        return _by_share(upper_bound_share, FAIL_SHARE_UPPER_BOUND)
    if prediction.interval_s[0] <= 0 and not is_planned:
        return Status.WARN if prediction.gain_share >= FAIL_SHARE else Status.PASS
    return _by_share(prediction.gain_share, FAIL_SHARE)


def _by_share(share: float, fail_share: float) -> Status:
    if share >= fail_share:
        return Status.FAIL
    return Status.WARN if share >= WARN_SHARE else Status.PASS


# Lines that keep memory (--memory-detail): what a window kept may also be a cache that fills once.
KEPT_LEAST_BYTES = 1024 * 1024  # below it, and next to libraries of 100 MiB, it is no growth
KEPT_LEAST_SHARE = 0.1  # of all that was kept: three lines at most explain it
KEPT_LEAST_COUNT = 3  # allocated once or twice is a buffer, not a leak
