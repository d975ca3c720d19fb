"""A connection between two hosts, or those of one host, that is slower than the others."""

from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.core.gain import saved
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.communication.host_pairs import FEWEST, FEWEST_PAIRS, HostPair, HostPairs
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.structures import dataclass
from perfscope.units import NS, format_bytes, format_seconds

PAIR_MOST_SHARE = 0.25  # of the pairs of hosts: where more are slow, the network is like that
PAIR_RATIO = 2.0  # times the usual pair's time: hops and switches differ by less


@dataclass(frozen=True)
class _Slow:
    """Pairs that are slow, and the host that all of them share where it explains them."""

    pairs: tuple[HostPair, ...]
    host: str

    @property
    def excess_s(self) -> float:
        """Seconds that their messages take longer than usual, one pair after the other."""
        return sum(pair.excess_s for pair in self.pairs)


def has_several_hosts(results: Results) -> bool:
    """Whether ranks run on two hosts or more."""
    return len({rank.host for rank in results.trace.ranks}) > 1


def judge(run: Facts) -> Outcome:
    """Whether one pair of hosts, or one host, is clearly slower than the others."""
    results = run.results
    known = results.host_pairs
    if known.reason:
        return not_measured(
            f"The connections between the hosts could not be compared: {known.reason}."
        )
    slow = _slow(known)
    if slow is None:
        text = f"{len(known.pairs):,} pairs of hosts were compared; the slowest takes "
        text += f"{known.pairs[0].ratio:.2f} times as long as the usual one."
        evidence = _evidence(known.pairs[:1])
        return replace(passed(text, Confidence.MEDIUM), evidence=evidence)
    gain = saved(results, min(slow.excess_s, results.focus.length_ns * NS))
    status = thresholds.deserved(gain)
    return Finding(
        status=Status.INFO if status is Status.PASS else status,
        title=_title(slow),
        summary=(
            f"Messages take {slow.pairs[0].ratio:.1f} times as long there as between the usual "
            f"pair of hosts. That adds up to {wording.saving(results, gain.seconds)}: "
            "what a connection as fast as the others saves at most."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM if slow.host else Confidence.LOW,
        ranks=_ranks(results, slow),
        evidence=_evidence(slow.pairs[:4]),
        actions=_actions(slow),
        overlaps=("network_bound", "straggler"),
    )


def _slow(known: HostPairs) -> _Slow | None:
    """The slow pairs, where they are few or have a host in common; else that is the network."""
    slow = tuple(pair for pair in known.pairs if pair.ratio >= PAIR_RATIO)
    if not slow:
        return None
    shared = set.intersection(*(set(pair.hosts) for pair in slow))
    for host in sorted(shared):
        if len(slow) > 1 and all(p in slow for p in known.pairs if host in p.hosts):
            return _Slow(slow, host)
    few = len(slow) <= max(1, int(PAIR_MOST_SHARE * len(known.pairs)))
    return _Slow(slow, "") if few else None


def _names(slow: _Slow) -> str:
    if slow.host:
        return slow.host
    return " and ".join(slow.pairs[0].hosts)


def _title(slow: _Slow) -> str:
    if slow.host:
        return f"Messages from and to host {slow.host} take longer than between other hosts"
    more = f" and {len(slow.pairs) - 1} more pairs" if len(slow.pairs) > 1 else ""
    return f"Messages between {_names(slow)}{more} take longer than between other hosts"


def _ranks(results: Results, slow: _Slow) -> tuple[int, ...]:
    hosts = {slow.host} if slow.host else set(slow.pairs[0].hosts)
    return tuple(rank.number for rank in results.trace.ranks if rank.host in hosts)


def _evidence(pairs: tuple[HostPair, ...]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            f"{' and '.join(pair.hosts)}: {pair.messages:,} messages, about "
            f"{format_bytes(pair.size_bytes)} in {format_seconds(pair.seconds)}",
            pair.ratio,
            "x the usual pair",
            "about 1",
        )
        for pair in pairs
    )


def _actions(slow: _Slow) -> tuple[str, ...]:
    names = _names(slow)
    if slow.host:
        return (
            (
                f"Leave host {names} out of the job (`srun --exclude={names}`) until its network "
                "card is mended: messages take "
                f"{slow.pairs[0].ratio:.1f} times as long there."
            ),
            (
                "Ask the administrators to check the link's speed and errors (ibstat, ethtool), "
                "its cables, and what other jobs send over it."
            ),
        )
    return (
        (
            "Place the ranks that exchange most on one host, or below one switch (`srun "
            f"--switches=1`): messages between {names} take {slow.pairs[0].ratio:.1f} times as "
            "long as elsewhere."
        ),
        (
            f"A ping-pong between {names} alone (osu_bw, ib_write_bw) tells why: as fast as "
            "others, the way is contended by this job or others; slow, it is a cable, a port or a "
            "route."
        ),
    )


DIAGNOSIS = Diagnosis(
    id="slow_host_pair",
    title="A connection between hosts is slower than the others",
    description=(
        "Compares messages of about one size, and collectives of two ranks, between all pairs of "
        "hosts, where the receiver already waited: one pair that takes at least twice as long as "
        "the usual one is slow or contended, and where it is all pairs of one host it is that "
        "host."
    ),
    judge=judge,
    applies=has_several_hosts,
    passed="The connections between the hosts are about equally fast",
    evidence="messages and time by pair of hosts",
    gain_from="what their messages take longer, both directions added up: an upper bound",
    counts_from=(
        f"{PAIR_RATIO:g} times the usual pair's time over {FEWEST} messages of about one size, "
        f"where {FEWEST_PAIRS} pairs of hosts exchange as many"
    ),
    rank=190,
    references=(
        (
            "OSU micro-benchmarks, osu_latency and osu_bw: "
            "https://mvapich.cse.ohio-state.edu/benchmarks/"
        ),
    ),
)
