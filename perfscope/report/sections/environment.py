"""Environment: the command, machines, versions and variables, and how each rank ended."""

import shlex
from collections.abc import Mapping, Sequence

from perfscope.report.formats import seconds
from perfscope.report.sections.overview import started_at
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import MOST_RANKS_SHOWN, rank_list
from perfscope.schema.analysis import Analysis
from perfscope.schema.run import Ending, Run

MOST_ROWS = 80
TOPOLOGY = (
    Column("Host", "host", kind=Kind.TEXT, longest=40),
    Column("Sockets", "sockets"),
    Column("Cores", "cores"),
    Column("Cores shared by hardware threads (SMT)", "smt"),
    Column("NUMA nodes", "numa_nodes"),
    Column("CPUs", "cpus"),
)
HOSTS = (
    Column("Host", "name", kind=Kind.TEXT, longest=40),
    Column("Ranks", lambda host: rank_list(host.ranks), kind=Kind.TEXT, longest=200),
)
ENDINGS = (
    Column("Rank", "ranks", kind=Kind.TEXT, longest=200),
    Column("Host", "host", kind=Kind.TEXT, longest=40),
    Column("Process", "pid", "{:.0f}".format),
    Column("Ending", "text", kind=Kind.TEXT, longest=200),
)
PAIRS = (Column("Name", 0, kind=Kind.CODE), Column("Value", 1, kind=Kind.TEXT, longest=160))


def _context(result: Analysis) -> Context:
    run = result.run
    machines = [{name: _cell(value) for name, value in one.items()} for one in run.topology]
    return {
        "facts": _facts(run),
        "versions": _pairs("versions", "Versions", run.versions),
        "variables": _pairs("variables", "Environment variables", run.environment),
        "topology": Table(
            "topology", "Machines", TOPOLOGY, machines, MOST_ROWS, "machines", has_caption=False
        ),
        "hosts": Table("hosts", "Ranks on each host", HOSTS, run.hosts, MOST_ROWS, "hosts"),
        "endings": Table(
            "endings",
            "How each rank ended",
            ENDINGS,
            _endings(run.endings),
            MOST_ROWS,
            "endings",
            has_caption=False,
        ),
    }


def _facts(run: Run) -> list[tuple[str, str]]:
    facts = [
        ("Command", shlex.join(run.command)),
        ("Recording", run.source),
        ("Started", started_at(run)),
        ("Ran for", seconds(run.wall_s)),
        ("Started by", run.launcher),
        ("Exit code", "" if run.exit_code is None else str(run.exit_code)),
    ]
    for title, ranks in (
        ("Ranks without a recording", run.missing_ranks),
        ("Ranks that did not end by themselves", run.incomplete_ranks),
    ):
        if ranks:
            facts.append((title, rank_list(ranks)))
    return [(title, value or "unknown") for title, value in facts]


def _pairs(id_: str, caption: str, found: Mapping[str, str]) -> Table:
    pairs = [*found.items()]
    return Table(id_, caption, PAIRS, pairs, MOST_ROWS, caption.lower(), has_caption=False)


def _cell(value: object) -> str | None:
    """What the system told of a machine."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _endings(endings: Sequence[Ending]) -> list[Context]:
    """How the ranks ended: one by one, or grouped by ending when there are many."""
    if len(endings) <= MOST_RANKS_SHOWN:
        return [
            {
                "ranks": rank_list([one.rank]),
                "host": one.host,
                "pid": one.pid,
                "text": one.text or one.kind.value,
            }
            for one in endings
        ]
    alike: dict[str, list[int]] = {}
    for one in endings:
        alike.setdefault(one.text or one.kind.value, []).append(one.rank)
    return [
        {"ranks": rank_list(ranks), "text": ending}
        for ending, ranks in sorted(alike.items(), key=lambda item: len(item[1]))
    ]


SECTION = Section("environment", "Environment", "environment.html", _context, is_folded=True)
