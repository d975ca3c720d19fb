"""All metrics of a trace."""

from collections.abc import Callable
from typing import Any

from perfscope.attribution.bookkeeping import ledger
from perfscope.attribution.not_training import not_training
from perfscope.attribution.preparation import Prepared, prepare
from perfscope.attribution.spots import spots
from perfscope.attribution.start_up import start_up
from perfscope.attribution.zoom import zoom
from perfscope.matching.waits import Waits
from perfscope.metrics.communication.call_sites import call_sites
from perfscope.metrics.communication.collective_cost import collective_cost
from perfscope.metrics.communication.gradient_exchange import gradient_exchange
from perfscope.metrics.communication.horovod import horovod
from perfscope.metrics.communication.host_pairs import host_pairs
from perfscope.metrics.communication.only_peers import only_peers
from perfscope.metrics.communication.operations import communication
from perfscope.metrics.communication.tensors import tensor_times
from perfscope.metrics.devices.devices import devices
from perfscope.metrics.devices.gpus import gpus
from perfscope.metrics.efficiency.phases import phases
from perfscope.metrics.efficiency.pop import efficiency
from perfscope.metrics.efficiency.steps import steps
from perfscope.metrics.efficiency.whole_run import whole_run
from perfscope.metrics.host.activities import activities
from perfscope.metrics.host.framework_calls import framework_calls
from perfscope.metrics.host.input_parts import input_parts
from perfscope.metrics.host.interpreter_lock import lock_waits
from perfscope.metrics.host.lock_holders import lock_holders
from perfscope.metrics.host.memory_detail import memory_detail
from perfscope.metrics.host.memory_growth import memory_growth
from perfscope.metrics.host.page_faults import fault_times
from perfscope.metrics.host.pieces import resources_of_run
from perfscope.metrics.host.stack_profile import stack_profile
from perfscope.metrics.host.worker_use import worker_use
from perfscope.metrics.results import Options, Results
from perfscope.progress import stage
from perfscope.trace.model import Trace


def compute(
    trace: Trace,
    options: Options | None = None,
    *,
    when_matched: Callable[[Trace, Waits | None], None] | None = None,
    is_shown: bool = False,
) -> Results:
    """Computes every metric of a run.

    Args:
        trace: the run.
        options: what is asked for.
        when_matched: called with the trace of the results and its waits when calls are matched, and
            before without waits when completions are; the trace is used up then.
        is_shown: whether the timelines are shown, and so are found in bins as well.

    Raises:
        UsageError: the options ask for what is not in the run.
    """
    options = options or Options()
    stage("matching calls, attributing time")
    prepared = prepare(
        trace, request=options.focus, rules=options.phase_rules, when_matched=when_matched
    )
    stage("computing metrics")
    return compute_prepared(prepared, options, is_shown=is_shown)


def compute_prepared(prepared: Prepared, options: Options, *, is_shown: bool = False) -> Results:
    """The same of a run that is prepared with these options already."""
    shown = zoom(prepared.timelines, prepared.focus) if is_shown else None
    return Results(
        trace=prepared.trace,
        options=options,
        focus=prepared.focus,
        damage=prepared.damage,
        standstill=prepared.standstill,
        efficiency=efficiency(prepared),
        ledger=ledger(prepared),
        phases=phases(prepared),
        steps=steps(prepared),
        gradient_exchange=gradient_exchange(prepared),
        resources=resources_of_run(prepared),
        host_pairs=host_pairs(prepared),
        activities=activities(prepared),
        input_parts=input_parts(prepared),
        worker_use=worker_use(prepared),
        call_sites=call_sites(prepared),
        start_up=start_up(prepared),
        memory_growth=memory_growth(prepared.of_samples),
        framework_calls=framework_calls(prepared.of_samples),
        lock_waits=lock_waits(prepared),
        lock_holders=lock_holders(prepared),
        fault_times=fault_times(prepared),
        memory_detail=memory_detail(prepared.of_samples),
        stacks=stack_profile(prepared),
        devices=devices(prepared),
        gpus=gpus(prepared.of_samples),
        horovod=horovod(prepared),
        tensors=tensor_times(prepared.trace),
        timelines=prepared.timelines,
        zoom=shown,
        spots=spots(prepared, shown),
        phase_ids=prepared.catalog.ids,
        labels=prepared.labels,
        not_training=not_training(prepared.trace, prepared.timelines),
        **_of_all_calls(prepared),
        waits=prepared.waits,
        whole_run=whole_run(prepared),
    )


def _of_all_calls(prepared: Prepared) -> dict[str, Any]:
    """The metrics that take most room, each of which walks over all calls: one after the other."""
    return {
        "communication": communication(prepared),
        "collective_cost": collective_cost(prepared),
        "only_peers": only_peers(prepared),
    }
