"""Lines that compute Fourier transforms of a length with a large prime factor."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.finding import Evidence, Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import frames_of, ranks_of, saved_at_most, seen_on
from perfscope.metrics.host.hot_lines import HotLine
from perfscope.metrics.host.transforms import Transform, factors
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.units import capitalized


@dataclass(frozen=True)
class Transformed:
    """A line of a rank that transforms; its seconds are what a fast length saves at most."""

    line: HotLine
    transform: Transform
    lengths: tuple[int, ...]  # each that it may have

    @property
    def is_known(self) -> bool:
        """Whether the same can be said of all lengths that it may have."""
        needless = [self.transform.needless(one) > 0 for one in self.lengths]
        return bool(needless) and len(set(needless)) == 1


def transformed(run: Facts) -> list[Transformed]:
    """The lines that were looked at and that transform, those that a length costs most first."""
    found = []
    for line in run.hot_lines:
        share, transform = run.line_samples.transforms(line.rank, line.site.frame)
        if transform is None or not line.site.is_innermost:
            continue
        lengths = transform.lengths(line.site)
        needless = min(map(transform.needless, lengths), default=0.0)
        slowed = replace(line, seconds=line.seconds * share * needless)
        found.append(Transformed(slowed, transform, lengths))
    return sorted(found, key=lambda one: -one.line.seconds)


def of_lengths(run: Facts, found: Sequence[Transformed]) -> Finding | None:
    """The finding about lengths that take a way around; None where they take little of the run."""
    slow = [one for one in found if one.line.seconds > 0]
    lines = [one.line for one in slow]
    gain = saved_at_most(run.results, lines)
    status = thresholds.deserved(gain)
    if not slow or not status.is_fault:
        return None
    worst = slow[0]
    length, fast = worst.lengths[0], worst.transform.fast(worst.lengths[0])
    where = frames_of(lines)
    return Finding(
        status=status,
        title=(
            f"{wording.place(where[0])} computes Fourier transforms of length {length:,}, which "
            f"{_told(length)}"
        ),
        summary=(
            "How long a Fourier transform takes depends on the prime factors of its length. Where "
            "one is as large as that, libraries go a long way around (Bluestein's algorithm): "
            f"{length:,} values take them about {_times(worst, length):.0f} times as long as "
            f"{fast:,}, by pocketfft's own estimate. With fast lengths these lines would save "
            f"{wording.saving(run.results, gain.seconds, is_bound=True)}."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(lines),
        where=where,
        evidence=(
            Evidence("Length", f"{length:,} = {_product(length)}"),
            Evidence("Next fast length", f"{fast:,} = {_product(fast)}"),
            *seen_on(lines),
        ),
        actions=(_change(length, fast, is_real=worst.transform.is_real),),
        overlaps=("repeated_work", "growing_steps"),
    )


def _change(length: int, fast: int, *, is_real: bool) -> str:
    real = ", real=True" if is_real else ""
    return (
        f"Pad with zeros to {fast:,} values (`scipy.fft.next_fast_len({length}{real})`) and cut "
        "the result: a convolution or correlation stays the same. If it takes the spectrum at "
        f"exactly {length:,} points, choose another number of samples, of small factors."
    )


def unknown_lengths(found: Sequence[Transformed]) -> str:
    """Of which transforms nobody knows whether their length is slow, as a sentence; "" of none."""
    for one in found:
        if not one.is_known and one.lengths:
            lengths = " or ".join(f"{length:,}" for length in one.lengths[:2])
            slow = next((o for o in one.lengths if one.transform.needless(o)), one.lengths[0])
            return (
                f" {capitalized(wording.place(one.line.site.frame))} computes Fourier transforms "
                f"of length {lengths}, which was not seen: {slow:,} {_told(slow)}, and would be "
                "slow."
            )
    return ""


def _told(length: int) -> str:
    largest = factors(length)[-1]
    return "is prime" if largest == length else f"has the prime factor {largest:,}"


def _times(one: Transformed, length: int) -> float:
    return 1.0 / max(1.0 - one.transform.needless(length), 1e-3)


def _product(length: int) -> str:
    found = factors(length)
    powers = [(one, found.count(one)) for one in dict.fromkeys(found)]
    return " x ".join(f"{one:,}" if count == 1 else f"{one:,}^{count}" for one, count in powers)
