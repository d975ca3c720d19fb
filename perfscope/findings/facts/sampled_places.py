"""Which functions of the user's program findings name for its communication and file access."""

from collections.abc import Sequence

from perfscope.findings.core import wording
from perfscope.findings.core.finding import Evidence
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.metrics.communication.call_sites import Places
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame


def frames(places: Places) -> tuple[Frame, ...]:
    """The places with enough samples."""
    least = FEWEST_SAMPLES
    return tuple(place.frame for place in places.most if place.samples >= least)


def main_place(places: Places) -> tuple[Frame, ...]:
    """The place of most of the samples, alone; none where they are few or spread."""
    is_most = places.most and places.most[0].samples >= (MAIN * places.samples)
    return frames(places)[:1] if is_most else ()


def mostly(places: Places, text: str) -> str:
    """Some text and the place of most of the samples: `, mainly in read() (train.py:8)`."""
    found = main_place(places)
    return f"{text} {wording.place(found[0])}" if found else ""


def rows(places: Places, told: Sequence[Frame]) -> tuple[Evidence, ...]:
    """How often main threads were seen in the places that are told."""
    return tuple(
        Evidence(
            f"Seen in {wording.place(place.frame)}",
            f"{place.samples:,} of {places.samples:,} samples",
        )
        for place in places.most
        if place.frame in told
    )


def transfer_rows(results: Results) -> tuple[Evidence, ...]:
    """How often main threads were seen in the places that move data."""
    found = results.call_sites.transfer
    return rows(found, frames(found))


def exchanges_itself(results: Results) -> bool:
    """Whether a framework exchanges gradients on its own: the program is seen where it waits."""
    return results.horovod is not None or results.gradient_exchange is not None


def calls(results: Results, text: str) -> str:
    """Some text and the place that calls most of the transfer; "" where a framework does it."""
    return "" if exchanges_itself(results) else mostly(results.call_sites.transfer, text)


def waits(results: Results) -> str:
    """A sentence that tells where the program mostly waits for a framework's exchange."""
    text = mostly(results.call_sites.transfer, " The main thread mainly waits for it in")
    return f"{text}." if text else ""
