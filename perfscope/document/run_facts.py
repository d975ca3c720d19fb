"""What ran: the `run` object of analysis.json."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from perfscope.document.damage import damage_rows
from perfscope.document.endings import endings, incomplete_ranks
from perfscope.metrics.results import Results
from perfscope.schema.run import Commit, Host, Run, Throughput
from perfscope.trace.damage import Damage
from perfscope.trace.model import Trace
from perfscope.trace.worlds import library_text
from perfscope.units import NS

Json = dict[str, Any]
MOST_PROGRAMS = 5


def run(results: Results, damage: Sequence[Damage]) -> Run:
    """Command, ranks, hosts, how it ended, throughput, versions and environment."""
    trace, focus = results.trace, results.focus
    return Run(
        command=tuple(trace.command),
        program=_program(trace),
        commit=_commit(trace),
        source=trace.source,
        start_unix_s=trace.origin_unix_ns * NS if trace.origin_unix_ns > 0 else None,
        wall_s=(trace.whole or trace).wall_ns * NS,
        launcher=trace.launcher,
        exit_code=trace.exit_code,
        ranks=trace.world_size,
        recorded_ranks=len(trace.ranks),
        missing_ranks=tuple(trace.missing_ranks),
        incomplete_ranks=tuple(incomplete_ranks(trace)),
        damage=damage_rows(damage),
        hosts=_hosts(trace),
        focus_of_analysis_s=(focus.start_ns * NS, focus.end_ns * NS),
        focus_kind=focus.kind,
        focus_reason=focus.reason,
        endings=endings(trace),
        throughput=_throughput(results),
        batch_size=_batch_size(trace),
        versions=_texts(trace, "versions"),
        environment=_texts(trace, "environment"),
        topology=_topology(trace),
    )


def _program(trace: Trace) -> str | None:
    """Names of what the ranks ran: their scripts, or else the program that was started itself."""
    told = [rank.metadata.get("argv") for rank in trace.ranks]
    names = {str(argv[0]) for argv in told if isinstance(argv, list) and argv}
    if not names and trace.launcher == "direct":
        names = set(trace.command[:1])
    return " and ".join(sorted({PurePath(name).name for name in names})[:MOST_PROGRAMS]) or None


def _commit(trace: Trace) -> Commit | None:
    """The commit of the program that was checked out where the run was started."""
    noted = trace.environment.get("commit")
    if not isinstance(noted, dict) or not isinstance(noted.get("id"), str) or not noted["id"]:
        return None
    branch = noted.get("branch")
    return Commit(noted["id"], branch if isinstance(branch, str) else None)


def _hosts(trace: Trace) -> tuple[Host, ...]:
    names = dict.fromkeys(rank.host for rank in trace.ranks)
    return tuple(
        Host(name, tuple(rank.number for rank in trace.ranks if rank.host == name))
        for name in names
    )


def _throughput(results: Results) -> Throughput:
    steps = results.steps
    return Throughput(
        samples=steps.samples,
        samples_per_s=steps.samples_per_s,
        step_s_mean=steps.step_s_mean,
        step_s_median=steps.step_s_median,
        step_s_p95=steps.step_s_p95,
        epoch_s_median=steps.epoch_s_median,
        time_to_solution_s=steps.time_to_solution_s,
        steps=steps.count,
        step_source=steps.source,
        step_kinds=steps.kinds,
    )


def _batch_size(trace: Trace) -> int | None:
    for rank in trace.ranks:
        size = rank.metadata.get("batch_size")
        if isinstance(size, int) and not isinstance(size, bool):
            return size
    return None


def _texts(trace: Trace, key: str) -> dict[str, str]:
    """A table of names and texts that the ranks noted; where ranks differ, the first one counts."""
    found: dict[str, str] = {}
    of_run = trace.environment.get("variables" if key == "environment" else key)
    for table in (*(rank.metadata.get(key) for rank in trace.ranks), of_run):
        if isinstance(table, dict):
            for name, text in table.items():
                found.setdefault(str(name), str(text))
    if key == "versions":
        for rank in trace.ranks:
            if rank.metadata.get("python"):
                found.setdefault("python", str(rank.metadata["python"]))
            if rank.mpi_library:
                found.setdefault("MPI", library_text(rank.mpi_library))
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _topology(trace: Trace) -> tuple[Json, ...]:
    """Sockets, cores, threads and NUMA nodes of each host, as its first rank saw them."""
    found: dict[str, Json] = {}
    of_run = trace.environment.get("topology")
    tables = [(rank.host, rank.metadata.get("topology")) for rank in trace.ranks]
    if isinstance(of_run, dict):
        tables += list(of_run.items())
    for host, table in tables:
        if isinstance(table, dict):
            found.setdefault(host, {"host": host, **table})
    return tuple(found.values())
