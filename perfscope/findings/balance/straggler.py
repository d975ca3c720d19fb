"""A rank, or all ranks of a host, that take longer than the others for the same work."""

from statistics import median

from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, passed
from perfscope.findings.facts.cpu_contention import share_cpus
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.imbalance_facts import ImbalanceFacts, Pattern
from perfscope.findings.facts.imbalance_judgment import REFERENCES, Judgment, unable
from perfscope.findings.facts.imbalance_words import (
    excess_evidence,
    inflected,
    is_alone,
    others,
    place,
    spends,
    unseen,
    waiting,
)
from perfscope.findings.facts.uneven_work import LAST_SHARE
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.units import capitalized, format_seconds, inside

ABOUT_THE_HOST = (
    "Leave host {host} out (srun --exclude={host}) and record again: all its ranks are late, and "
    "no others. What slows it is its clock, temperature, memory or other processes: perfscope "
    "doctor on it and on another host tells the difference."
)


def judge(run: Facts) -> Outcome:
    """Whether a rank or a host is slow, in what, and what that costs."""
    results = run.results
    found = run.imbalance_judgment
    facts = found.facts
    if found.status is Status.PASS or facts.pattern is not Pattern.STRAGGLER:
        return passed("No rank is late again and again for the same work.", Confidence.MEDIUM)
    return found.finding(
        results,
        title=_title(facts),
        summary=_summary(results, found),
        evidence=_evidence(results, facts),
        actions=_actions(results, found),
    )


def _who(facts: ImbalanceFacts) -> str:
    """The slow ranks: `rank 1`, `ranks 2 and 3, all those of node1,`."""
    who = wording.ranks(facts.overloaded)
    return f"{who}, all those of host {facts.slow_host}," if _is_host(facts) else who


def _is_host(facts: ImbalanceFacts) -> bool:
    """Whether several ranks show that it is their host that is slow."""
    return bool(facts.slow_host) and len(facts.overloaded) > 1


def _title(facts: ImbalanceFacts) -> str:
    be = "is" if len(facts.overloaded) == 1 else "are"
    where = " in everything" if facts.everywhere else place(facts)
    once = " once" if facts.is_single else ""
    return capitalized(
        f"{_who(facts)} {be}{once} slower than {others(facts)}{where} while {waiting(facts)}"
    )


def _summary(results: Results, found: Judgment) -> str:
    facts = found.facts
    last, met = _arrivals(results, facts)
    was = "was" if len(facts.overloaded) == 1 else "were"
    came = (
        f"{capitalized(wording.ranks(facts.overloaded))} {was} the last to arrive in "
        f"{last:,} of {met:,} collectives with wait time. "
    )
    why = "All ranks process the same number of samples. " if facts.equal_samples else ""
    cause = "Most of the delay is waiting for CPUs, not work. " if found.is_explained else ""
    extra = max(facts.work_s) - min(facts.work_s)
    return (
        f"{came}{why}{cause}The slowest rank works {format_seconds(extra)} longer than the "
        f"fastest. Working as fast as {others(facts)} would save {found.cost}."
    )


def _arrivals(results: Results, facts: ImbalanceFacts) -> tuple[int, int]:
    """How often the slow ranks came last where somebody waited, and how often somebody did."""
    late = results.communication.late_arrivals
    last = sum(arrival.instances for arrival in late if arrival.rank in facts.overloaded)
    return last, sum(arrival.instances for arrival in late)


def _hosts(results: Results, facts: ImbalanceFacts) -> str:
    found = {rank.host for rank in results.trace.ranks if rank.number in facts.overloaded}
    return ", ".join(sorted(found))


def _evidence(results: Results, facts: ImbalanceFacts) -> tuple[Evidence, ...]:
    last, met = _arrivals(results, facts)
    rows = [
        Evidence("Last to come where ranks waited", f"{last:,} of {met:,} times"),
        Evidence("Host", _hosts(results, facts)),
        *excess_evidence(facts),
        Evidence("Load balance of shared work", facts.load_balance, "ratio", "near 1"),
    ]
    queued = {rank.rank: rank.queue_delay_s for rank in results.resources.threads}
    rest = [queued[rank] for rank in facts.others if rank in queued]
    slow = [queued[rank] for rank in facts.overloaded if rank in queued]
    if rest and slow and max(slow) > median(rest):  # else it argues against a slow CPU
        label = "Runnable threads waiting for a CPU, on the slow rank"
        rows.append(
            Evidence(label, max(slow), "s", f"{format_seconds(median(rest))} on the others")
        )
    return tuple(rows)


def _actions(results: Results, found: Judgment) -> tuple[str, ...]:
    facts = found.facts
    if _is_host(facts):
        host = facts.slow_host
        dealt = unseen(results, facts) or _dealt_by_length(facts, None)
        return (
            ABOUT_THE_HOST.format(host=host),
            f"If the delay stays with the ranks: {inside(dealt)}",
        )
    is_shared = share_cpus(results, facts.ranks)  # none of these CPUs is slow for one rank alone
    moves = () if is_shared else (_moved(results, facts),)
    if is_alone(facts):
        return _taken_out(facts), *moves
    if missing := unseen(results, facts):
        return missing, *moves
    if is_shared and found.cpu_times is None and _are_of_one_length(results):
        return (_given_cpus(facts),)
    dealt = _dealt_by_length(facts, found.cpu_times if is_shared else None)
    return (*moves, dealt) if facts.everywhere else (dealt, *moves)


def _taken_out(facts: ImbalanceFacts) -> str:
    """What to do about lines at which the slow ranks alone were seen."""
    alone = f"the extra work of {wording.ranks(facts.overloaded)}{place(facts)}"
    return f"Remove {alone} from the steps, or split it over all ranks: {spends(facts)}."


def _moved(results: Results, facts: ImbalanceFacts) -> str:
    """What shows whether the CPUs of a rank are slow, and helps where they are."""
    extra = format_seconds(max(facts.work_s) - min(facts.work_s))
    is_one = len(facts.overloaded) == 1
    it, has = ("it", "it has") if is_one else ("they", "they have")
    return (
        f"Move {wording.ranks(facts.overloaded)} to other CPUs than {has} on "
        f"{_hosts(results, facts)} (with the launcher's binding, or on another host), and record "
        f"again: {it} {'is' if is_one else 'are'} up to {extra} behind {others(facts)}, as on CPUs "
        "that are slow or shared."
    )


def _are_of_one_length(results: Results) -> bool:
    """Whether all arrays that lines work on were as large in each look as in any other one."""
    seen = [one for own in results.worked_on for site in own for one in site.operands]
    known = [one for one in seen if one.looks >= FEWEST_LOOKS and not one.is_number]
    return bool(known) and all(one.fewest == one.elements for one in known)


def _given_cpus(facts: ImbalanceFacts) -> str:
    """What tells a slow CPU from more work, where no sample is longer than another one."""
    if facts.everywhere:
        why = f"{wording.ranks(facts.overloaded)} {inflected(facts, 'take')} longer"
    else:
        why = f"{place(facts).lstrip()} {spends(facts)}".lstrip()
    same = " for the same number of samples" if facts.equal_samples else ""
    return (
        "Give each rank CPUs of its own (with the launcher's binding), and record again on an idle "
        f"host: {why}{same}, all arrays that were looked at are as large each time, and CPU time "
        "shows no more work."
    )


def _dealt_by_length(facts: ImbalanceFacts, cpu_times: float | None) -> str:
    """What helps where samples cost more on some ranks; `cpu_times` is how much more CPU time."""
    change = "Sort the samples by length and deal them out to the ranks in turn, not in blocks"
    takes = f"{wording.ranks(facts.overloaded)} {inflected(facts, 'take')}"
    if cpu_times is not None:
        why = f"{takes} {cpu_times:.1f} times the CPU time of {others(facts)} on the same CPUs"
    elif facts.everywhere:
        why = f"{takes} longer"
    else:
        why = f"{place(facts).lstrip()} {spends(facts)}".lstrip()
    return f"{change}: {why}{' for the same number of samples' if facts.equal_samples else ''}."


DIAGNOSIS = Diagnosis(
    id="straggler",
    title="A rank keeps the others waiting by being slow",
    description=(
        "Looks for ranks that repeatedly arrive last at collectives although they have no more "
        "work: slower in everything, slower in one phase for the same number of samples, or "
        "all ranks of one host and no others. Replays the run with them as fast as the others; "
        "the spread of step times is kept."
    ),
    judge=judge,
    needs=(unable,),
    passed="No rank is slower than the others for the same work",
    subject="Ranks that are slower for the same work",
    evidence="who came last how often, host, phase, line, run-queue delay",
    gain_from="replay with them as fast as the others",
    counts_from=(
        f"they must be the last in {100 * LAST_SHARE:g} % of the collectives in which "
        "somebody waits"
    ),
    rank=50,
    of_waiting=True,
    references=REFERENCES,
)
