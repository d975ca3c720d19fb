"""Ranks that talk through sockets although shared memory or a fabric is there."""

from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.core.gain import as_bound
from perfscope.findings.core.wording import exported, unset
from perfscope.findings.facts import sampled_places
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.large_collectives import FABRIC_LEAST_SHARE, classes
from perfscope.findings.facts.network_facts import Cause, NetworkFacts, transfer_rows, unknown
from perfscope.findings.facts.transport_settings import (
    Setting,
    Way,
    fabrics,
    has_fabric,
    is_recorded,
)
from perfscope.judging import FAIR_BYTES_PER_S
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.units import format_bandwidth, format_bytes, format_share

TELLING = ("UCX_LOG_LEVEL=info", "FI_LOG_LEVEL=info", "I_MPI_DEBUG=5")
"""By which MPI libraries tell what transport they use."""


def judge(run: Facts) -> Outcome:
    """Whether a setting forces a slow transport, or a fabric is hardly used."""
    results = run.results
    facts = run.network
    if facts.cause is not Cause.TRANSPORT:
        if facts.status() is not Status.PASS and not is_recorded(results):
            return not_measured(
                "Which variables the ranks had was not recorded: perfscope run notes them."
            )
        return passed(
            "No variable of this run keeps its ranks from shared memory or from a fabric.",
            Confidence.MEDIUM,
        )
    status = _status(facts)
    is_fault = status.is_fault
    return Finding(
        status=status,
        title=_title(facts),
        summary=_summary(results, facts),
        gain=as_bound(facts.whole) if is_fault else None,
        confidence=_confidence(results, facts),
        where=sampled_places.frames(results.call_sites.transfer),
        evidence=_evidence(results, facts),
        actions=_actions(results, facts),
        overlaps=(Cause.BANDWIDTH.value,),
    )


def _status(facts: NetworkFacts) -> Status:
    """As far as transfer matters; where only the rate tells it, a warning at most."""
    status = facts.status()
    if status is Status.PASS:
        return Status.INFO
    return Status.WARN if status is Status.FAIL and not facts.settings else status


def _confidence(results: Results, facts: NetworkFacts) -> Confidence:
    """A setting shows what is lost, and not how much of the time it costs.

    Where it is not known whether there is a fabric, nothing may be lost.
    """
    if has_fabric(results) is None and all(s.lost is Way.FABRIC for s in facts.settings):
        return Confidence.LOW
    return Confidence.MEDIUM if facts.settings and not facts.is_contended else Confidence.LOW


def _title(facts: NetworkFacts) -> str:
    if not facts.settings:
        return "Collectives between hosts hardly use the fabric"
    lost = " and ".join(dict.fromkeys(setting.lost.value for setting in facts.settings))
    first = facts.settings[0]
    return f"{first.name}={first.value} keeps the ranks from {lost}"


def _summary(results: Results, facts: NetworkFacts) -> str:
    cost = (
        f"Moving data takes {facts.cost(results)}; a "
        "faster transport saves a part of that, which only a run with it tells."
    )
    if facts.settings or facts.slow_fabric is None:
        return cost
    return (
        f"Large collectives reach {format_share(facts.slow_fabric)} of the rate that the fabric "
        f"is noted with: it seems that data goes through sockets. {cost}"
    )


def _evidence(results: Results, facts: NetworkFacts) -> tuple[Evidence, ...]:
    rows = [
        Evidence(
            f"{setting.name} in this run", setting.value, "", setting.wanted or "not to be set"
        )
        for setting in facts.settings
    ]
    rows += [Evidence("Fabric of the hosts", name) for name in fabrics(results)[:4]]
    best = max(classes(results), key=lambda c: c.bus_bytes_per_s, default=None)
    if best is not None:
        label = f"Best bandwidth, {best.name} of about {format_bytes(best.size_bytes)}"
        rows.append(Evidence(label, f"{format_bandwidth(best.bus_bytes_per_s)} on the bus"))
    small = min(classes(results), key=lambda c: c.seconds, default=None)
    if small is not None:
        label = f"Shortest, {small.name} of about {format_bytes(small.size_bytes)}"
        rows.append(Evidence(label, small.seconds, "s"))
    return (*rows, *transfer_rows(results))


def _instead(setting: Setting) -> str:
    """What to set a variable to where it need not go: a value, or words for one."""
    if not setting.wanted:
        return ""
    is_words = " " in setting.wanted
    to = setting.wanted if is_words else exported(f"{setting.name}={setting.wanted}")
    return f", or set it to {to}" if is_words else f", or {to}"


def _actions(results: Results, facts: NetworkFacts) -> tuple[str, ...]:
    rows = [
        f"Start with {unset(setting.name)}{_instead(setting)}: {setting.name}={setting.value} "
        f"keeps the ranks from {setting.lost.value}."
        for setting in facts.settings
    ]
    if not facts.settings:
        device = fabrics(results)[0].split()[0]
        rows.append(
            f"Have the MPI library tell which transport it uses ({exported(*TELLING)}; Open MPI: "
            f"`--mca pml_base_verbose 10`) and make it use {device}."
        )
    rows.append("Run once more and compare both recordings with perfscope compare.")
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    id=Cause.TRANSPORT.value,
    title="Ranks do not use the fastest way to each other",
    description=(
        "Looks for variables that keep ranks from shared memory inside a node or from the fabric "
        "between nodes (those of libfabric, UCX, Open MPI, Intel MPI, MPICH and NCCL), and for "
        "large collectives between hosts that reach less than 1 GB/s and a tenth of the rate of "
        "the fabric that the recording notes. It is a fault where transfer matters."
    ),
    judge=judge,
    needs=(unknown,),
    passed="Nothing keeps the ranks from a faster transport",
    evidence="settings and what to set, fabric, best bandwidth, shortest call",
    gain_from="replay on a network that needs no time: an upper bound",
    counts_from=(
        "as `network_bound`; a setting that costs less is reported (info), a low rate (less than "
        f"{100 * FABRIC_LEAST_SHARE:g} % of the fabric and {FAIR_BYTES_PER_S / 1e9:g} GB/s) "
        "alone warns at most"
    ),
    rank=130,
    references=(
        "libfabric, FI_PROVIDER: https://ofiwg.github.io/libfabric/main/man/fabric.7.html",
        "UCX, transports: https://openucx.readthedocs.io/en/master/faq.html",
        "Open MPI, networks: https://docs.open-mpi.org/en/main/tuning-apps/networking/index.html",
    ),
)
