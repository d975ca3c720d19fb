"""More threads that want to run than CPUs that they may use."""

from collections.abc import Sequence

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, not_measured
from perfscope.findings.core.gain import as_bare_bound
from perfscope.findings.core.sweep_command import doubled, sweep_command
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.helper_threads import more_cpus, room_for_gloo
from perfscope.findings.facts.node_threads import (
    OVERSUBSCRIBED_FAIL,
    VARIABLES,
    NodeLoad,
    are_ranks_too_many,
    status_of,
)
from perfscope.findings.facts.side_threads import busy_threads, side_threads, take_the_cpus
from perfscope.findings.facts.thread_pools import Pool, named_group, number_set
from perfscope.metrics.host.interpreter_lock import LockWait
from perfscope.metrics.host.resources import node_cpus
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.units import capitalized, counted, format_seconds, format_share

SHOWN_POOLS = 4
THROTTLED_SHARE = 0.25  # of the run-queue delay: from there on it is the limit and not others


LESS_WAITING = (
    " Fewer threads save about what main threads waited for a CPU, less what the other threads "
    "computed, which the main ones then compute."
)


def judge(run: Facts) -> Outcome:
    """Whether threads wait for CPUs on some node, of which pool they are, and what helps."""
    results = run.results
    nodes = [load for load in run.node_loads if load.node.cpus > 0 and load.ranks]
    sampled = any(len(rank.process_samples) for rank in results.trace.ranks)
    if not nodes or not sampled:
        return not_measured(wording.threads_not_sampled(results.trace))
    worst = max(nodes, key=lambda node: (-status_of(node).order, node.threads_per_cpu))
    status = status_of(worst)
    if status.is_fault and _is_binding(results, worst):
        status = Status.INFO
    if status is Status.INFO and _is_told_of_others(run, worst):
        status = Status.PASS
    is_sure = (gain := run.cpu_wait_gain) is not None and _is_sure(gain)
    if status.is_fault and worst.is_horovods_alone:
        status = Status.WARN if is_sure else Status.INFO
    claims = are_ranks_too_many(results, worst) or (worst.is_horovods_alone and is_sure)
    besides = side_threads(results, worst) if status.is_fault else []
    asked = busy_threads(results, worst) if status.is_fault and not besides else []
    title, told = _title(worst, status, _throttled_s(results, worst)), ""
    ranks = worst.node.ranks if status is not Status.PASS else ()
    if gain is not None and is_sure and take_the_cpus(run, worst, besides):
        status, claims = thresholds.by_gain(gain), True
        title, ranks = _title_of(besides), tuple(sorted(one.rank for one in besides))
    elif status.is_fault and not claims and (most := _without_pools(worst, gain)):
        gain, claims, told = most, True, LESS_WAITING
    return Finding(
        status=status,
        title=title,
        summary=_summary(worst) + told,
        gain=gain if status.is_fault and claims else None,
        at_stake=gain if status.is_fault else None,
        confidence=Confidence.HIGH if worst.queue_share > 0 else Confidence.LOW,
        ranks=ranks,
        where=tuple(beside.frame for beside in besides if beside.frame)[:1],
        evidence=(*_evidence(worst), *map(_of_thread, (*besides, *asked))),
        actions=(
            (*_rest(besides), *_room(results, worst, asked), *_actions(results, worst))
            if status.is_fault
            else ()
        ),
    )


def _without_pools(node: NodeLoad, gain: Gain | None) -> Gain | None:
    """What pools of no more threads than there are CPUs save at most; None where it is little."""
    if gain is None or not any(pool.threads > node.threads_per_rank for pool in node.pools):
        return None
    most = as_bare_bound(gain)
    return most if thresholds.deserved(most).is_fault else None


def _is_sure(gain: Gain) -> bool:
    """Whether main threads wait for so long that a CPU more for each rank is worth its price."""
    low = gain.seconds if gain.interval_s is None else gain.interval_s[0]
    return gain.share * low >= thresholds.FAIL_SHARE * gain.seconds > 0


def _title_of(besides: Sequence[LockWait]) -> str:
    """The thread that takes a CPU, and whose main thread waits for it."""
    first = besides[0]
    who = f'Thread "{first.thread}"' if first.thread else "A thread"
    doing = f" in {wording.called(first.frame)}" if first.frame else ""
    ranks = wording.ranks(sorted(one.rank for one in besides))
    return f"{who} of {ranks} takes a CPU all the time{doing}, and the main thread waits for CPUs"


def _rest(besides: Sequence[LockWait]) -> tuple[str, ...]:
    if not besides or besides[0].frame is None:
        return ()
    named, where = besides[0].thread or "the thread", wording.place(besides[0].frame)
    return (
        f"Make {named} in {where} sleep between iterations, or run its work only every few steps.",
    )


def _room(results: Results, node: NodeLoad, asked: Sequence[LockWait]) -> tuple[str, ...]:
    """A CPU more for threads that work as asked, where no pool takes it from them."""
    if not asked or any(pool.threads > node.threads_per_rank for pool in node.pools):
        return ()
    first, more = asked[0], more_cpus(results.trace, node.node, node.threads_per_rank + 1)
    doing = f" in {wording.place(first.frame)}" if first.frame else ""
    who = f"{first.thread or 'A thread'} of {wording.ranks([first.rank])}"
    works = f"works{doing} beside the main thread, and waits for more to do in between"
    return (f"{capitalized(more)}. {who} {works}.",)


def _of_thread(found: LockWait) -> Evidence:
    whose = found.thread or "A thread"
    place = wording.place(found.frame)
    doing = f" in {place}" if place else ""
    return Evidence(f"{whose} on rank {found.rank}{doing} wants a CPU for", found.wanted_s, "s")


def _is_binding(results: Results, load: NodeLoad) -> bool:
    """Whether ranks of one busy thread each are bound to CPUs that they share: told as that."""
    node = load.node
    fits = len(node.ranks) <= node_cpus(results.trace, node)
    is_one_each = node.runnable_mean < thresholds.OVERSUBSCRIBED_WARN * len(node.ranks)
    return bool(node.ranks_sharing_a_cpu) and fits and is_one_each


def _is_of_others(node: NodeLoad) -> bool:
    return node.threads_per_cpu < thresholds.OVERSUBSCRIBED_WARN or node.is_of_others


def _is_told_of_others(run: Facts, node: NodeLoad) -> bool:
    """Whether ranks wait for CPUs that others use, which the finding about others tells alone."""
    others = run.other_processes_gain
    is_told = others is not None and thresholds.of_host(others).is_fault
    return is_told and _is_of_others(node) and not node.has_workers and not _is_limited(run, node)


def _is_limited(run: Facts, node: NodeLoad) -> bool:
    """Whether it is the limit of their control group and not others that takes CPUs away."""
    delay_s = sum(rank.queue_delay_s for rank in node.ranks)
    return _throttled_s(run.results, node) >= THROTTLED_SHARE * delay_s


def _throttled_s(results: Results, node: NodeLoad) -> float:
    """Seconds in which the control group of a node's ranks was throttled, of the rank with most."""
    waits = results.resources.cpu_waits
    return max((one.throttled_s for one in waits if one.rank in node.node.ranks), default=0.0)


def _title(node: NodeLoad, status: Status, throttled_s: float) -> str:
    where = f"{node.node.runnable_mean:.1f} runnable threads on {_cpus(node)}"
    if status is Status.INFO and _is_of_others(node):
        if throttled_s >= THROTTLED_SHARE * sum(rank.queue_delay_s for rank in node.ranks):
            return (
                "The CPU limit of their control group withholds CPUs on host "
                f"{node.node.host} from the ranks, for {format_seconds(throttled_s)}"
            )
        who = "their own workers, or others," if node.has_workers else "other processes"
        return f"The ranks wait for CPUs on host {node.node.host} that {who} use"
    if status is Status.PASS:
        return f"The threads fit the CPUs: {where}"
    if status is Status.INFO and node.is_horovods_alone:
        return f"Horovod's background threads compete with the program's: {where}"
    pool = node.pools[0] if node.pools else None
    whose = ""
    if pool is not None and pool.threads > node.threads_per_rank:
        whose = f"; {pool.name} has {pool.threads} in {node.holders[pool].text}"
    return f"CPU oversubscription on host {node.node.host}: {where}{whose}"


def _cpus(node: NodeLoad) -> str:
    return wording.cpus(node.node.cpus)


def _summary(node: NodeLoad) -> str:
    ranks = len(node.node.ranks)
    delay_s = sum(rank.queue_delay_s for rank in node.ranks)
    cpu_s = sum(rank.cpu_s for rank in node.ranks)
    who = "1 rank is" if ranks == 1 else f"{ranks} ranks are"
    text = (
        f"On host {node.node.host}, {who} allowed {_cpus(node)} but "
        f"{'has' if ranks == 1 else 'have'} an average of "
        f"{node.node.runnable_mean:.1f} runnable threads while computing "
        f"({node.threads_per_cpu:.1f} per CPU). These threads ran for {format_seconds(cpu_s)} of "
        f"CPU time and waited {format_seconds(delay_s)} for a CPU."
    )
    is_oversubscribed = node.threads_per_cpu >= thresholds.OVERSUBSCRIBED_WARN
    if is_oversubscribed and node.node.samples < thresholds.OVERSUBSCRIBED_LEAST_SAMPLES:
        text += f" This rests on only {node.node.samples} samples of all ranks."
    if node.too_many_ranks:
        text += " There are more ranks than CPUs."
    return text


def _evidence(node: NodeLoad) -> tuple[Evidence, ...]:
    ranks = node.ranks
    found = [
        Evidence(
            "Runnable threads of all ranks",
            node.node.runnable_mean,
            "threads",
            f"at most {node.node.cpus:g}",
        ),
        Evidence("95th percentile", node.node.runnable_p95, "threads"),
        Evidence("CPUs allowed (affinity mask and cgroup)", node.node.cpus, "CPUs"),
        Evidence("Run-queue delay", sum(rank.queue_delay_s for rank in ranks), "s", "near 0"),
        Evidence("CPU time used", sum(rank.cpu_s for rank in ranks), "s"),
        Evidence("Involuntary context switches", sum(r.involuntary_switches for r in ranks), ""),
    ]
    for place, pool in enumerate(node.pools[:SHOWN_POOLS]):
        label = "Another pool" if place else "Largest pool"
        threads = counted(pool.threads, "thread")
        found.append(Evidence(label, f"{pool.name}, {threads} in {node.holders[pool].text}"))
    group = named_group([group for rank in ranks for group in rank.groups])
    if group is not None and group.runnable_mean >= thresholds.OVERSUBSCRIBED_WARN:
        text = f"{group.stem[:40]}, {group.count} in one rank, {group.runnable_mean:.1f} runnable"
        found.append(Evidence("Threads of one name", text))
    beside = node.beside
    if beside.horovod_runnable >= thresholds.HELPERS_LEAST_RUNNABLE:
        share = format_share(beside.horovod_runnable)
        found.append(
            Evidence("Horovod's thread of one rank wants to run", f"{share} of the samples")
        )
    if beside.progress:
        found.append(Evidence("A polling thread of MPI in each rank", f"{beside.progress} is set"))
    settings = [
        Evidence(
            f"{name} in {f'rank {node.busiest}' if name in node.of_one else 'this run'}",
            node.environment[name],
        )
        for name in VARIABLES
        if name in node.environment
    ]
    return (*found, *settings)


def _actions(results: Results, node: NodeLoad) -> tuple[str, ...]:
    count = len(node.node.ranks)
    who = f"for {counted(count, 'rank')} on {_cpus(node)}"
    actions = []
    busy = max(rank.runnable_mean for rank in node.ranks) > thresholds.OVERSUBSCRIBED_WARN
    if busy or not node.too_many_ranks:
        actions += _settings(results, node, who)
    if node.too_many_ranks:
        actions.append(
            f"{capitalized(more_cpus(results.trace, node.node, 1))}: waiting ranks poll "
            "and take CPU time from working ones."
        )
        actions.append("To measure the gain, record the run once more that way: perfscope compare.")
    return tuple(actions)


def _settings(results: Results, node: NodeLoad, who: str) -> list[str]:
    """What makes the pools smaller, and the sweep that measures what it gives."""
    limit = node.threads_per_rank
    large = [pool for pool in node.pools if pool.threads > limit]
    fixed = [pool for pool in large if _is_set_low(node, pool, limit)]
    large = [pool for pool in large if pool not in fixed]
    if helping := _helping_threads(results, node, who):
        again = "To measure the gain, record the run once more that way: perfscope compare."
        if not large or node.beside.has_idle_pools:
            return [*helping, again]
    names = () if fixed and not large else _to_set(node, large, limit)
    calls = [pool.call.format(limit) for pool in large if pool.call]
    actions = []
    if names:
        setting = wording.exported(*(f"{name}={limit}" for name in names))
        actions.append(f"Start with {setting} {who}.")
    if calls:
        actions.append(f"In the program: {', '.join(calls)}, before anything is computed.")
    actions += [
        f"{capitalized(pool.name)} has {pool.threads} threads{_where(node, pool)} although "
        f"the environment asks for {limit} at most: the program sets them itself, so set {limit} "
        "there."
        for pool in fixed
    ]
    if not names and not calls and not fixed:
        start_fewer = (
            f"No known pool has more than {counted(limit, 'thread')}: start fewer in the program "
            "itself (threading, concurrent.futures, num_parallel_calls of tf.data)."
        )
        actions.append(room_for_gloo(results.trace, node.node, node.ranks, limit) or start_fewer)
    if names:
        command = sweep_command(results.trace, _axes(node, names, limit), oversubscribe=True)
        actions.append(f"To measure the gain and compare step times: `{command}`")
    else:
        actions.append("To measure the gain, record the run once more: perfscope compare.")
    return [*actions, *helping]


def _where(node: NodeLoad, pool: Pool) -> str:
    """The ranks that have a pool, where others have it otherwise."""
    return "" if node.holders[pool].is_every else f" in {node.holders[pool].text}"


def _helping_threads(results: Results, node: NodeLoad, who: str) -> list[str]:
    """What to do about threads that communicate beside the training."""
    more = more_cpus(results.trace, node.node, node.threads_per_rank + 1)
    if node.beside.progress:
        without = wording.unset(node.beside.progress)
        does = f"Start with {without} {who}: the thread that it starts polls all the time"
        return [f"{does}. Or make room for it: {more}."]
    if node.is_horovods_alone:
        return [f"Reserve a CPU beside each rank for Horovod's background thread: {more}."]
    return []


def _is_set_low(node: NodeLoad, pool: Pool, limit: int) -> bool:
    """Whether the environment asks for few threads already, and the program has it otherwise."""
    if not pool.variable:
        return False
    told = _set_to(node, pool.variable)
    if told is None and not pool.variable.startswith("TF_"):
        told = _set_to(node, VARIABLES[0])
    return told is not None and 0 < told <= limit


def _axes(node: NodeLoad, names: Sequence[str], limit: int) -> dict[str, tuple[int, ...]]:
    """Values to try of the largest pool's variable; the others keep to the limit."""
    sizes = {pool.variable: pool.threads for pool in reversed(node.pools) if pool.variable}
    first = max(names, key=lambda name: _set_to(node, name) or sizes.get(name, 0))
    now = _set_to(node, first) or sizes.get(first, 0)
    if now <= limit:  # the pool is not known: what was seen to run
        now = max(2 * limit, round(max(rank.runnable_mean for rank in node.ranks)))
    others = {name: (limit,) for name in names if name != first}
    return {first: doubled(limit, now), **others}


def _to_set(node: NodeLoad, large: Sequence[Pool], limit: int) -> tuple[str, ...]:
    """Variables to set: those of pools that are too large, and those the run itself sets so.

    OMP_NUM_THREADS sets the linear algebra libraries as well, unless their own variable is set.
    """
    own = [name for name in VARIABLES[1:] if (_set_to(node, name) or 0) > limit]
    named = [pool.variable for pool in large if pool.variable.startswith("TF_")]
    others = [pool for pool in large if not pool.variable.startswith("TF_") and pool.variable]
    is_unset = not large and (_set_to(node, "OMP_NUM_THREADS") or limit + 1) > limit
    omp = ["OMP_NUM_THREADS"] if others or own or is_unset else []
    return tuple(dict.fromkeys([*omp, *own, *named]))


def _set_to(node: NodeLoad, name: str) -> int | None:
    """The number that a variable of the run holds."""
    return number_set(node.environment, name)


DIAGNOSIS = Diagnosis(
    id="threads_over_cores",
    title="There are more runnable threads than CPUs",
    description=(
        "Adds up the runnable threads of the ranks of a node while they compute and compares them "
        "with the CPUs that their affinity masks and the cgroup quota allow; run-queue delay and "
        "involuntary context switches show whether the threads wait for CPUs. Names the pools."
    ),
    judge=judge,
    subject="Threads were not compared with CPUs",
    evidence="runnable threads, run-queue delay, pools, variables",
    gain_from=(
        "where the ranks alone are more than the node's CPUs, replay of work and transfer "
        "without the time that main threads waited for a CPU; where a thread of Python code takes "
        "a CPU all the time, at most what its rank's main thread waited; where a pool has more "
        "threads than CPUs are left for its rank, the same replay as an upper bound; else no "
        "seconds: the finding has the `perfscope sweep` that measures it"
    ),
    counts_from=(
        f"{thresholds.OVERSUBSCRIBED_WARN:g} and {OVERSUBSCRIBED_FAIL:g} threads per CPU, with "
        f"run-queue delay; fewer than {thresholds.OVERSUBSCRIBED_LEAST_SAMPLES} samples are "
        "reported (info)"
    ),
    rank=200,
    references=(
        (
            "Linux scheduler statistics, /proc/PID/schedstat: "
            "https://docs.kernel.org/scheduler/sched-stats.html"
        ),
    ),
)
