"""From when on a finding matters: every bound that a diagnosis judges by."""

from __future__ import annotations

from perfscope.findings.core.finding import Gain, Status

FAIL_SHARE = 0.03  # of the focus of analysis: worth acting on
WARN_SHARE = 0.01  # below it a finding passes
FAIL_SHARE_UPPER_BOUND = 0.05  # the same where only an upper bound of the gain is known
CHANCE_S = 0.2  # given back: in a recording of seconds, a bad moment of the machine costs as much,
CHANCE_SHARE = 0.1  # unless it is so much of the recording

SOLO_SHARE = 0.8  # of all ranks' time in a phase or function, on one rank: it works alone there
SOLO_FUNCTION_LEAST_S = 0.3  # three samples: in a function that names no phase, fewer are chance
SOLO_LEAST_SHARE = 0.005  # of the focus of analysis, below which such work is not looked at
OCCASIONAL_SHARE = 0.5  # of the steps: unlabelled work in more of them is imbalance

HEAVY_SHARE = 0.02  # above the median rank's work: a rank that works more than the others
HEAVY_PART = 0.2  # of what the heaviest rank works beyond the median: less does not count beside it
CONSTANT_SHARE = 0.5  # of the gain, explained by always the same ranks: constant imbalance
EQUAL_SAMPLES_SHARE = 0.02  # ranks whose sample counts differ by less have the same load
SINGLE_LEAST_S = 1.0  # given back: what happened once and cost less is told, not warned of
SINGLE_SHARE = 0.5  # of the waiting for a rank, in one single wait: it happened once
NARROW_INTERVAL = 1.0  # width of the interval of a gain over the gain, up to which it is certain
JITTER_SHARE = 0.06  # of the focus: ordinary jitter, when another rank is late each time
PERSISTENT = 0.25  # autocorrelation of being late from step to step: it lasts for several steps
# (a virtual machine without a fault: 0.4 to 0.65)
CERTAIN_ERRORS = 2.0  # standard errors beyond which it is no chance
SPREAD_SHARE = 0.05  # the same where nobody is late by more than step times vary anyway
RECURRING_SHARE = 0.25  # of the time: what makes ranks late more rarely is a disturbance
LAST_SHARE = 0.6  # of the collectives at which ranks waited, for the same ranks: these are late
SAME_RATIO_SPREAD = 0.3  # phases slowed alike, relative to the mean excess: slow in everything
PHASE_LEAST_SHARE = 0.03  # of a rank's work, below which a phase says nothing about its speed
STEADY_REACH = 0.8  # of the time, better without it: no chance (runs without a fault: 0.73)
CHANCE_PART = 1 / 3  # of what every rank waits for CPUs: always the same one may lose so much
QUEUED_SHARE = 0.5  # of what a rank works longer, spent waiting for CPUs: that is the cause

SPREAD_WARN_SHARE = 0.25  # the same, from when on it is warned of although nobody can take it away
SKEW_LEAST_S = 1.0  # once, at the start: imports on a busy machine differ by as much
SKEW_WARN_S = 3.0
SKEW_FAIL_S = 10.0

INPUT_LEAST_SHARE = 0.03  # of the focus: what getting a batch that is ready may take
BATCHES_LEAST = 10  # asked for: fewer do not tell whether the workers keep up
TAKING_OVER_SHARE = 0.1  # of the focus, for batches that are there: a loss of its own
PARTS_LEAST_SAMPLES = 5  # of getting batches ready: fewer do not tell reading from decoding
PARTS_MAIN_SHARE = 0.5  # of that work, in one part: it is what to change
KEEPS_UP_SHARE = 0.5  # of the training's time for a batch: who makes one so fast is not too slow

PLACE_LEAST_SAMPLES = 3  # in a function that communicates or reads files: fewer are chance
PLACE_MAIN_SHARE = 0.5  # of such samples, in one function: it is the place

CROWDED_WARN = 1.2  # runnable threads per CPU
CROWDED_FAIL = 1.5
CROWDED_LEAST_SAMPLES = 20  # of all ranks of a node: fewer are the start of a run
SHARED_CPU_SHARE = 0.25  # run-queue delay per CPU second that no own thread explains
QUEUE_DELAY_SHARE = 0.05  # run-queue delay per CPU second that shows that threads wait for CPUs

OUTPUT_SHARE = 0.05  # of the run: what progress output may take
EVALUATION_SHARE = 0.10  # the same of evaluation, which tells whether the training is any good
VALIDATION_SHARE = 0.20  # of evaluation once an epoch: what a fifth of the data held back costs

TRANSFER_WARN_SHARE = 0.05  # of the focus, given back by a network that needs no time
TRANSFER_FAIL_SHARE = 0.10  # which no real one is
SMALL_BYTES = 64 << 10  # collectives below it are made of latency and not of bandwidth
SMALL_PER_STEP = 4  # small collectives in each step, of which several can be one
SMALL_SHARE = 0.5  # of all transfer, in small collectives: they are to be fused
MAIN_CAUSE_SHARE = 0.5  # of the transfer: what makes up so much of it is its cause
LARGE_BYTES = 1 << 20  # collectives from here on are made of bandwidth
FAIR_BYTES_PER_S = 1e9  # on the bus of large collectives: what an ordinary network carries
FABRIC_LEAST_SHARE = 0.1  # of its rate; sockets over a fabric reach about as much
FEWEST_LARGE_CALLS = 16
MANY_TENSORS = 4  # allreduces of Horovod in a step, of which it fuses most by itself
PAIR_MOST_SHARE = 0.25  # of the pairs of hosts: where more are slow, the network is like that
PAIR_RATIO = 2.0  # times the usual pair's time: hops and switches differ by less

GROWTH_LEAST_BYTES = 2 << 20  # in the second half of the run: less is noise of the allocator
GROWTH_LEAST_SHARE = 0.005  # the same, of the peak of the rank
GROWTH_SURE_S = 30.0  # of steady growth, from when on it may be drawn on over hours
GROWTH_REACH = 100.0  # times as far as it was seen: how far shorter growth may be drawn on
GROWTH_LONG_S = 24 * 3600.0  # a node that lasts longer at this pace is no failure yet

KEPT_FAIL_BYTES = 50 << 10  # per call, steady: retracing, compiling anew and new models keep more
KEPT_WARN_BYTES = 5 << 10
KEPT_INFO_BYTES = 300  # less is what allocators lose anyway; Keras's predict keeps 0.7-3 KiB
KEPT_SHARE = 0.5  # of the growth of the process from call to call, inside the calls: they keep it
CALLS_UNTIL_STEADY = 1500  # of predict and its like, until what they keep is no warm-up any more
WARM_UP_BYTES = 128 << 10  # per call: predict fills its caches by less, more is no warm-up
BYTES_PER_BLOCK = 64 << 20  # of growth per block of Python's: more cannot hang on Python's objects
BYTES_OF_BLOCK = 4 << 10  # of growth per block of Python's: more is held by objects, or beside them

ONE_BATCH = 1.5  # compiled functions in a call: a call of more works on several batches

SCARCE_FAIL = 0.05  # of the memory of a node or control group left at the least moment
SCARCE_WARN = 0.10

IDLE_CPUS_SHARE = 0.5  # of the CPUs allowed to the ranks of a node, idle: worth a word

START_UP_SHARE = 0.2  # of the life of a rank, before ordinary steps
TRACED_OFTEN = 3  # times: the first one and one for a last, smaller batch are ordinary
TRACED_FAIL = 20
COMPILED_OFTEN = 5  # times by torch.compile: the first shape, sizes that change, both in evaluation
TRACED_PER_STEP = 0.02  # in fewer of the steps new shapes turn up and do not come again and again
MADE_OFTEN = 20  # functions of one name: more than a program has models and layers, mostly
MADE_LEAST_PER_STEP = 0.05  # functions: one for 20 steps and more is a model that is used
PREDICTS_OFTEN = 20  # calls in the steady half of the run: predict is called in a loop
START_UP_LEAST_S = 30.0  # a shorter start is that of a test run, whatever its share

# Of nodes, set-up and trust:
BUSY_CPUS_SHARE = 0.8  # of the CPUs allowed, busy with training and helpers: they take turns
HELPERS_LEAST_CPUS = 0.1  # that loaders and communication threads keep busy: less hardly counts
HELPERS_LEAST_RUNNABLE = 0.3  # threads that want to run at a time: less crowds nobody
FULL_SHARE = 0.95  # of all CPUs of a node, busy with ranks: nothing is left for the system
NOISE_SHARE = 0.01  # run-queue delay per CPU second from which on the system is felt
EVEN_NOISE = 2.0  # most over least of the ranks' run-queue delay: noise meets all alike
INTERRUPTED_PER_S = 5.0  # involuntary switches a second of each rank: the system's own timers
NOISE_LEAST_S = 10.0  # a shorter focus does not tell noise from start-up
REMOTE_WARN = 0.2  # of a rank's memory on NUMA nodes without a CPU of the rank
REMOTE_FAIL = 0.5
REMOTE_LEAST_BYTES = 256 << 20  # libraries and small data lie anywhere and do not matter
MOVES_LEAST = 5  # changes of NUMA node that were seen: once or twice is the start
MOVES_PER_MINUTE = 3.0  # fewer are the scheduler's: what is in the caches is back in no time
IO_WARN_SHARE = 0.05  # of the focus, standing still for files; as of other upper bounds
IO_FAIL_SHARE = 0.15  # what no cache and no faster disk takes away completely
FAULTS_PER_STALLED_S = 50.0  # pages waited for, in a second of it: each takes 20 ms at most
BYTES_PER_FAULT = 64 << 10  # the kernel brings up to as much with a page; reading brings more
IO_START_S = 20.0  # who stood still before it only, read what it needs to begin; or before these
IO_START_SHARES = (0.3, 0.5)  # of the focus: at least the first, at most the second
IO_LEAST_S = 1.0  # a few samples of a short run are chance
LOW_IPC = 0.7  # instructions per cycle: current CPUs do 2 to 4 in work that fits the cache
MANY_MISSES = 10.0  # misses of the last cache per 1,000 instructions: bound by memory
COUNTED_LEAST_SHARE = 0.05  # of the cycles, below which a phase is not looked at
BROADCAST_LEAST_BYTES = 64 << 10  # a larger broadcast is of parameters and not of control

# accelerators
IDLE_DEVICES_SHARE = 0.1  # of the time: below it nobody would look for a reason
WAITING_PART = 0.5  # of communication kernels, waiting: the late rank is the cause, not the network
GPU_BUSY_WARN = 0.5  # of the time with a kernel: at least half of the accelerator is not used
GPU_BUSY_FAIL = 0.3  # well-fed training is above 0.8; this is a fault and no matter of taste
GPU_WATCHED_LEAST_S = 10.0  # the driver's own intervals last up to 1 s: less is a few numbers
GPU_WATCHED_LEAST_SAMPLES = 10
GPU_MEMORY_SCARCE = 0.05  # left at the peak: the next larger batch, or a longer sample, fails
THROTTLED_WARN = 0.1  # of the busy samples, slowed for heat or for power that is not there
THROTTLED_FAIL = 0.5
MATRIX_LEAST_SHARE = 0.1  # of computing, known by its names: less says nothing of the program
SINGLE_PRECISION_SHARE = 0.1  # of computing, multiplied without tensor cores: worth knowing
IDLE_THREADS_WARN = 0.05  # of the time that ranks are outside MPI, in which threads do not compute
IDLE_THREADS_FAIL = 0.2


def deserved(gain: Gain) -> Status:
    """The status that a gain deserves: replayed if possible, else by its upper bound.

    A gain whose interval reaches zero may be chance and is never more than a warning, unless what
    costs it is planned by the program and not subject to chance. Without an interval the gain
    itself decides.
    """
    if gain.is_bound:
        return by_bound(gain.share)
    if gain.interval_s is not None and gain.interval_s[0] <= 0 and not gain.is_planned:
        return Status.WARN if gain.share >= FAIL_SHARE else Status.PASS
    return _by_share(gain.share, FAIL_SHARE)


def by_bound(share: float) -> Status:
    """The status that an upper bound deserves, by its share."""
    return _by_share(share, FAIL_SHARE_UPPER_BOUND)


def unless_chance(status: Status, gain_s: float, share: float) -> Status:
    """The status of what ranks and network lose: told of only, where chance may cost as much."""
    is_chance = gain_s < CHANCE_S and share < CHANCE_SHARE
    return Status.INFO if is_chance and status in {Status.FAIL, Status.WARN} else status


def _by_share(share: float, fail_share: float) -> Status:
    if share >= fail_share:
        return Status.FAIL
    return Status.WARN if share >= WARN_SHARE else Status.PASS


# Lines that keep memory (--memory-detail): what a window kept may also be a cache that fills once.
KEPT_LEAST_BYTES = 1024 * 1024  # below it, and next to libraries of 100 MiB, it is no growth
KEPT_LEAST_SHARE = 0.1  # of all that was kept: three lines at most explain it
KEPT_LEAST_COUNT = 3  # allocated once or twice is a buffer, not a leak
