"""What findings share about one run: each fact is found once, when the first of them asks."""

from collections import Counter
from functools import cached_property

import numpy as np

from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.findings.core.finding import Gain
from perfscope.findings.facts.cpu_waits import on_equal_cpus, without_cpu_waits
from perfscope.findings.facts.function_growth import RankTables, tables_by_rank
from perfscope.findings.facts.idle_host import IdleRun, idle_run
from perfscope.findings.facts.imbalance_facts import ImbalanceFacts, Pattern, imbalance_facts
from perfscope.findings.facts.imbalance_judgment import Judgment, judged
from perfscope.findings.facts.network_facts import NetworkFacts, network_facts
from perfscope.findings.facts.node_threads import (
    NodeLoad,
    has_fewer_cpus_than_ranks,
    node_load,
    waits_for_cpus,
)
from perfscope.findings.facts.outside_load import OnFreeCpus, outside_load
from perfscope.findings.facts.own_lateness import OwnLateness, own_lateness
from perfscope.findings.facts.serial_work import SerialWork, find_serial_work
from perfscope.findings.facts.start_up_facts import StartUpFacts, start_up_facts
from perfscope.losses.account import loss_account
from perfscope.losses.entry import LossAccount
from perfscope.losses.savings import Savings
from perfscope.metrics.devices.devices import DevicesResult
from perfscope.metrics.host.hot_lines import HotLine, LineSamples, hot_lines
from perfscope.metrics.results import Results
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.operands import WorkedOn


@dataclass(frozen=True)
class Facts:
    """One run: its figures, its replay, and what several findings ask of them."""

    results: Results
    replay: Replay

    @property
    def devices(self) -> DevicesResult:
        """What profilers saw of accelerators; for findings that need these watched."""
        assert self.results.devices is not None
        return self.results.devices

    @cached_property
    def serial_work(self) -> tuple[SerialWork, ...]:
        """What single ranks do alone while the others wait, most seconds first."""
        return find_serial_work(self.results)

    @cached_property
    def losses(self) -> LossAccount:
        """What the time of the ranks was lost to."""
        return loss_account(self.results, self.replay)

    @cached_property
    def savings(self) -> Savings:
        """What the run would be shorter by without causes of those losses."""
        return Savings(self.replay, self.losses.steps, self.losses.turns)

    @cached_property
    def start_up(self) -> StartUpFacts | None:
        """What it costs that ranks come late to the first thing that they do together."""
        return start_up_facts(self.results, self.replay, alone=self.serial_work)

    @cached_property
    def node_loads(self) -> tuple[NodeLoad, ...]:
        """The threads that want to run on each node, against its CPUs."""
        return tuple(node_load(self.results, one) for one in self.results.resources.node_threads)

    @cached_property
    def waits_for_cpus(self) -> bool:
        """Whether ranks of some node wait for CPUs, so that it is chance which one is late."""
        return waits_for_cpus(self.node_loads)

    @cached_property
    def cpu_wait_gain(self) -> Gain | None:
        """What the run would save if threads of the job never took a CPU from it; None unknown."""
        return without_cpu_waits(self.results, self.replay, is_of_others=False)

    @cached_property
    def other_processes_gain(self) -> Gain | None:
        """What it would save if no process outside the job took a CPU from it; None unknown."""
        return without_cpu_waits(self.results, self.replay, is_of_others=True)

    @cached_property
    def idle_run(self) -> IdleRun | None:
        """How long it takes on a host that no process outside the job uses; None unknown."""
        return idle_run(self.results, self.replay, self.other_processes_gain)

    def left_when_idle_s(self, seconds: float) -> float:
        """What is left there of so many lost seconds, had all that others cost gone to them."""
        idle = self.idle_run
        return max(seconds - (self.results.run_s - idle.low_s), 0.0) if idle else 0.0

    @cached_property
    def on_free_cpus(self) -> OnFreeCpus:
        """What changes save where no process outside the job takes a CPU from it."""
        return OnFreeCpus(outside_load(self.results, self.other_processes_gain), self.replay)

    @cached_property
    def savings_on_free_cpus(self) -> Savings:
        """What the run would be shorter by there."""
        return Savings(self.replay, self.losses.steps, self.losses.turns, self.on_free_cpus)

    @cached_property
    def imbalance(self) -> ImbalanceFacts:
        """Who works more than the others, of two ranks or more."""
        return imbalance_facts(
            self.results, self.replay, alone=self.serial_work, begun=self.start_up
        )

    @cached_property
    def own_lateness(self) -> OwnLateness | None:
        """What ranks that take turns being late lose by their own work; None where by chance."""
        facts = self.imbalance
        if facts.pattern is not Pattern.ALTERNATING:
            return None
        return own_lateness(self.results, self.replay, self.worked_on, after=facts.explained)

    @cached_property
    def imbalance_judgment(self) -> Judgment:
        """What that imbalance costs, and the status that it deserves."""
        facts, alike = self.imbalance, None
        if facts.pattern is not Pattern.ALTERNATING:  # who waits by turns waits for the same share
            alike = on_equal_cpus(self.results, self.replay, facts.edits, after=facts.explained)
        return judged(
            self.results,
            facts,
            is_contended=self.waits_for_cpus,
            queued=self.losses.queued,
            on_equal_cpus=alike,
        )

    @cached_property
    def frame_times(self) -> RankTables:
        """What each frame took on each rank in each part of the steps."""
        return tables_by_rank(self.results)

    @cached_property
    def hot_lines(self) -> tuple[HotLine, ...]:
        """The instructions whose operands were looked at, most seconds first."""
        return hot_lines(self.results, self.worked_on, self.line_samples)

    @cached_property
    def looks_by_activity(self) -> Counter[Activity]:
        """How often main threads were met in each activity in the focus."""
        trace, focus = self.results.trace, self.results.focus
        told, found = stack_activities(trace), Counter[Activity]()
        for rank in trace.ranks:
            met = np.bincount(told[focus.within(rank.main_stacks)["stack"]])
            found.update(dict(zip(ACTIVITIES, met.tolist(), strict=False)))
        return found

    @property
    def worked_on(self) -> tuple[tuple[WorkedOn, ...], ...]:
        """What each rank's lines were seen to work on, in the order of the ranks."""
        return self.results.worked_on

    @cached_property
    def line_samples(self) -> LineSamples:
        """How often main threads were seen in lines of the program."""
        return LineSamples(self.results)

    @cached_property
    def network(self) -> NetworkFacts:
        """Why transfer takes long, of two ranks or more whose transfer is known."""
        return network_facts(
            self.results,
            self.replay,
            is_contended=self.waits_for_cpus,
            is_crowded=has_fewer_cpus_than_ranks(self.results, self.node_loads),
        )
