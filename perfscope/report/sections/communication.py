"""Communication: what each operation cost, where ranks waited, and for whom."""

from collections.abc import Mapping

from perfscope import places
from perfscope.report.charts import Segment
from perfscope.report.formats import bytes_, count, seconds
from perfscope.report.labels import phase_words
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections._collective_cost import collective_cost
from perfscope.report.sections._horovod import horovod, tensors
from perfscope.report.sections.causes import phase_labels
from perfscope.report.sections.ledger import draw, rank_numbers
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.report.views import Place, Shown, place_of, rank_bars
from perfscope.schema.analysis import Analysis
from perfscope.schema.communication import Collectives, GradientExchange, LateArrival
from perfscope.schema.devices import Devices
from perfscope.units import counted

MOST_OPERATIONS = 60
MOST_ARRIVALS = 20
ABSENT = "no communication was recorded; a single process has none"
OF_DEVICES = "the ranks' main threads do not communicate; see the devices for their communication"
OPERATIONS = (
    Column("Operation", "name", kind=Kind.CODE, longest=40),
    Column("Calls", "calls", count),
    Column("Time", "seconds", seconds),
    Column("Waiting", "wait_s", seconds),
    Column("Transfer", "transfer_s", seconds),
    Column("Sent", "bytes_sent", bytes_),
    Column("Received", "bytes_received", bytes_),
    Column("Calls with a record", "detailed_calls", count),
)


def _context(result: Analysis) -> Context:
    found = result.collectives
    by_rank = _by_rank(result)
    beside = {
        "horovod": horovod(result.horovod),
        "cost": collective_cost(found.cost),
        "tensors": tensors(result.tensors),
    }
    is_known = _used(found) or found.operations or found.late_arrivals or any(beside.values())
    absent = OF_DEVICES if isinstance(result.devices, Devices) else ABSENT
    return {
        "absent": "" if is_known else absent,
        "operations": Table(
            "operations",
            "Operations over the whole life of the ranks, all ranks together",
            OPERATIONS,
            found.operations,
            MOST_OPERATIONS,
            "operations",
        ),
        "arrivals": Table(
            "late-arrivals",
            "Late ranks, and what they were doing before they arrived",
            _arrival_columns(phase_labels(result.phases)),
            found.late_arrivals,
            MOST_ARRIVALS,
            "late arrivals",
        ),
        "matched": counted(found.matched_calls, "call"),
        "unmatched": [
            (name, count(calls)) for name, calls in [*found.unmatched.items()][:MOST_OPERATIONS]
        ],
        "takeaway": _takeaway(found),
        **by_rank,
        **beside,
    }


def _by_rank(result: Analysis) -> Context:
    """Waiting and transfer of each rank, and what is exposed of gradient exchanges."""
    found = result.collectives
    used = _used(found)
    ranks = rank_numbers(result.run, _ranks(found))
    bars = rank_bars(ranks, [Segment(role, values) for role, _, values in used])
    return {
        "used": [Shown(role, label) for role, label, _ in used],
        "chart": draw(bars, "Seconds in communication by rank") if used else "",
        "ranks_per_bar": bars.ranks_per_bar,
        "table": rank_table(
            "communication-by-rank",
            "Seconds in communication",
            ranks,
            [ByRank(label, v, seconds) for _, label, v in used],
        ),
        "exchange": _exchange(found.gradient_exchange, ranks),
    }


def _ranks(found: Collectives) -> int:
    return max(map(len, (found.wait_s_by_rank, found.transfer_s_by_rank, found.other_s_by_rank)))


def _used(found: Collectives) -> list[tuple[str, str, tuple[float, ...]]]:
    """Role, label and seconds by rank of what the ranks spent any time in."""
    parts = (
        ("communication_wait", "Waiting for another rank", found.wait_s_by_rank),
        ("communication_transfer", "Moving data", found.transfer_s_by_rank),
        ("communication_other", "Other communication", found.other_s_by_rank),
    )
    return [part for part in parts if any(part[2]) and len(part[2]) == _ranks(found)]


def _exchange(found: GradientExchange | None, ranks: list[int]) -> Context | None:
    """What is exposed of gradient exchanges inside the backward pass; None where there are none."""
    if found is None:
        return None
    if not found.exposed_s.is_measured:
        return {"reason": found.exposed_s.reason}
    parts = (
        ("Exposed", found.exposed_s_by_rank),
        ("Waiting", found.wait_s_by_rank),
        ("Transfer", found.transfer_s_by_rank),
    )
    return {
        "reason": "",
        "count": count(found.exchanges),
        "exposed": seconds(found.exposed_s.value),
        "table": rank_table(
            "gradient-exchange",
            "Median seconds per exchange",
            ranks,
            [ByRank(label, v, seconds) for label, v in parts if v],
        ),
    }


LEAST_SHARE = 0.05
"""Of all waiting: a cause of less of it heads no section."""


def _caller(row: LateArrival) -> Place:
    return place_of(row.caller) if row.caller else Place("", "")


def _arrival_columns(labels: Mapping[str, str]) -> tuple[Column, ...]:
    return (
        Column("Late rank", lambda row: f"rank {row.rank}", kind=Kind.TEXT),
        Column("Phase", lambda row: phase_words(row.phase, labels), kind=Kind.TEXT),
        Column("Function", place_of, kind=Kind.PLACE),
        Column("Called from", _caller, kind=Kind.PLACE),
        Column("Wait time caused", "waiting_s", seconds),
        Column("Delay of the job", "stall_s", seconds),
        Column("Occurrences", "instances", count),
    )


def _takeaway(found: Collectives) -> str:
    """For whom ranks waited longest in collectives, unless nearly all waiting is elsewhere."""
    waiting_s = sum(found.wait_s_by_rank)
    first = next(iter(found.late_arrivals), None)
    if first is None or first.waiting_s < LEAST_SHARE * waiting_s:
        transfer = seconds(sum(found.transfer_s_by_rank))
        other_s = sum(found.other_s_by_rank)
        rest = f", {seconds(other_s)} of either" if other_s > 0 else ""
        return f"{seconds(waiting_s)} of waiting, {transfer} of transfer{rest}, of all ranks"
    waited = (
        f"In collectives, most waiting was for rank {first.rank}: {seconds(first.waiting_s)} in all"
    )
    late = places.place(first.function or "", first.file or "", first.line)
    return f"{waited}, while it was in {shortened(late, 120)}" if late else waited


SECTION = Section("communication", "Communication", "communication.html", _context, is_folded=True)
