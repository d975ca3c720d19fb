"""All metric results of a run: what findings and the result document are made from."""

from dataclasses import field
from functools import cached_property

from perfscope.arrays import Ints
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import Ledger
from perfscope.attribution.spots import Spots
from perfscope.attribution.stack_rules import StackLabels
from perfscope.attribution.start_up import StartUp
from perfscope.attribution.timeline import Timeline
from perfscope.attribution.zoom import Zoom
from perfscope.matching.waits import Waits
from perfscope.metrics.communication.call_sites import CallSites
from perfscope.metrics.communication.collective_cost import CollectiveCost
from perfscope.metrics.communication.horovod import HorovodResult
from perfscope.metrics.communication.host_pairs import HostPairs
from perfscope.metrics.communication.only_peers import OnlyPeer
from perfscope.metrics.communication.operations import Communication
from perfscope.metrics.devices.devices import DevicesResult
from perfscope.metrics.devices.gpus import GpusResult
from perfscope.metrics.efficiency.factors import Efficiency
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.efficiency.steps import StepsResult
from perfscope.metrics.host.activities import Activities
from perfscope.metrics.host.framework_calls import FrameworkCalls
from perfscope.metrics.host.input_parts import InputParts
from perfscope.metrics.host.interpreter_lock import LockWait
from perfscope.metrics.host.lock_holders import LockHolder
from perfscope.metrics.host.looks import looks_of
from perfscope.metrics.host.memory_growth import MemoryGrowth
from perfscope.metrics.host.page_faults import FaultTime
from perfscope.metrics.host.resources import Resources
from perfscope.metrics.host.stack_profile import NO_STACKS
from perfscope.metrics.host.worker_use import WorkerUse
from perfscope.schema.communication import GradientExchange
from perfscope.schema.horovod import Tensors
from perfscope.schema.resources import MemoryLinesOfRank, NoStacks, Stacks
from perfscope.schema.whole_run import WholeRun
from perfscope.standstill.found import Standstill
from perfscope.structures import dataclass
from perfscope.trace.damage import Damage
from perfscope.trace.metadata import noted_libraries
from perfscope.trace.model import Trace
from perfscope.trace.operands import WorkedOn, worked_on
from perfscope.trace.searched import Searched, searched


@dataclass(frozen=True)
class Options:
    """What the user may narrow or name."""

    focus: str | None = None  # --foa: "10:20" seconds, "phase:evaluate", "epoch:3", "step:100-200"
    phase_rules: tuple[
        tuple[str, str], ...
    ] = ()  # --phase evaluate='*evaluate*': (phase id, glob), before defaults
    planned_steps: int | None = None  # --planned-steps: gains are also told for so many


@dataclass(frozen=True)
class Results:
    """The metrics of one run. Findings read these and never the trace's intervals."""

    trace: Trace  # for run-level facts: command, hosts, endings, environment
    options: Options
    focus: Focus
    efficiency: Efficiency
    ledger: Ledger
    phases: tuple[PhaseResult, ...]
    steps: StepsResult
    communication: Communication
    resources: Resources
    gradient_exchange: GradientExchange | None
    waits: Waits  # of every operation; the replay starts from the same matching
    gpus: GpusResult  # what the driver said of the GPUs of the nodes
    damage: tuple[Damage, ...] = ()
    """What is wrong with the recording as a whole; figures that it spoils are None."""
    standstill: Standstill | None = None
    """The end of the run in which nobody got on; None where it ended otherwise."""
    devices: DevicesResult | None = None  # None where no accelerator was measured
    horovod: HorovodResult | None = None  # None where Horovod did not communicate
    tensors: Tensors | None = None  # what Horovod's timeline tells; None where it was not read
    timelines: tuple[Timeline, ...] = ()
    """Every moment of each rank's main location, in the order of `Trace.ranks`."""
    zoom: Zoom | None = None
    """The timelines in bins; None without a rank or without time, and where nobody shows them."""
    spots: Spots | None = None
    """What stands behind the bins of the zoom; None where they are too many."""
    phase_ids: tuple[str, ...] = ()  # what `Timeline.phases` are indices of
    labels: StackLabels | None = None  # what `Timeline.stacks` say of the user's own functions
    not_training: Ints | None = None
    """By stack, the place in `tuple(Activity)` of what it shows in place of training, else -1."""
    collective_cost: CollectiveCost | None = None
    host_pairs: HostPairs = field(default_factory=HostPairs)
    """Connections between hosts, as far as messages tell them."""
    only_peers: tuple[OnlyPeer | None, ...] = ()
    """The one rank with which each exchanges messages; empty for fewer than three ranks."""
    activities: Activities = field(default_factory=Activities)
    """What the ranks were doing outside communication, by stack samples."""
    input_parts: tuple[InputParts, ...] = ()
    """What getting batches ready consists of, of the ranks that were seen at it."""
    worker_use: tuple[WorkerUse, ...] = ()  # what the processes that work for ranks were seen doing
    call_sites: CallSites = field(default_factory=CallSites)
    """Where the user's program communicates and accesses files, as far as samples tell."""
    start_up: StartUp = field(default_factory=StartUp)  # how the ranks came to work together
    memory_growth: tuple[MemoryGrowth, ...] = ()  # of the ranks with enough samples
    framework_calls: tuple[FrameworkCalls, ...] = ()
    """Of functions that the agent counts: predict, train_on_batch, a tf.function."""
    fault_times: tuple[FaultTime, ...] = ()  # of the ranks whose main thread was sampled
    lock_waits: tuple[LockWait, ...] = ()
    """Of the ranks in which another thread was seen to run Python code."""
    lock_holders: tuple[LockHolder, ...] = ()
    """Of what ranks wait for in a lock or queue, where somebody was seen at work meanwhile."""
    memory_detail: tuple[MemoryLinesOfRank, ...] = ()
    """Of the ranks whose memory was recorded by line (`--memory-detail`)."""
    whole_run: WholeRun | None = None  # of a run of which only some steps were kept in detail
    stacks: Stacks | NoStacks = NO_STACKS  # by py-spy (`--stacks`)

    @cached_property
    def libraries(self) -> frozenset[str]:
        """What some rank had loaded of the frameworks and libraries that the agent knows."""
        return frozenset().union(*(noted_libraries(rank.metadata) for rank in self.trace.ranks))

    @cached_property
    def worked_on(self) -> tuple[tuple[WorkedOn, ...], ...]:
        """What each rank's lines were seen to work on, by the looks of all; in the ranks' order."""
        numbers = [rank.number for rank in self.trace.ranks]
        return looks_of(dict(zip(numbers, self.own_looks, strict=True)))

    @cached_property
    def own_looks(self) -> tuple[tuple[WorkedOn, ...], ...]:
        """What each rank itself saw its lines work on, in the order of the ranks."""
        return tuple(worked_on(rank.metadata) for rank in self.trace.ranks)

    @cached_property
    def searched(self) -> tuple[tuple[Searched, ...], ...]:
        """What each rank was seen to search from the start, in the order of the ranks."""
        return tuple(searched(rank.metadata) for rank in self.trace.ranks)

    @cached_property
    def own_calls(self) -> tuple[tuple[WorkedOn, ...], ...]:
        """What each rank saw its functions being given, in the order of the ranks."""
        return tuple(worked_on(rank.metadata, "called") for rank in self.trace.ranks)

    @property
    def window_s(self) -> float:
        """Length of the focus of analysis in the run, with the steps that were left out of it."""
        return self.whole_run.run_s if self.whole_run else self.focus.length_ns * 1e-9

    @property
    def run_s(self) -> float:
        """Length of the run, with the steps that were left out."""
        return (self.trace.whole or self.trace).wall_ns * 1e-9

    @property
    def steps_of_run(self) -> int:
        """Steps in the focus of analysis, with those that were left out; 0 where none are known."""
        whole = self.whole_run
        return whole.steps.count if whole and whole.steps else self.steps.count
