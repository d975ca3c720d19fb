"""That a job stands still, and why, as a block of what is shown."""

from perfscope.standstill.reasons import in_start, reasons, silence
from perfscope.units import format_seconds
from perfscope.watch.block import Block
from perfscope.watch.picture import Picture


def stalled(picture: Picture, stall_s: float) -> Block:
    """What holds up a job in which nothing has begun or ended for so long; else empty."""
    if picture.is_over or picture.stalled_s < stall_s:
        return Block("")
    how_long = format_seconds(picture.stalled_s)
    if not picture.ranks:
        line = (
            f"After {how_long} nothing is recorded: no process of the job has called MPI or run "
            "Python."
        )
        return Block("Stalled", [line], is_loud=True)
    if picture.starting:
        lines = [
            f"No process has come out of MPI_Init for {how_long}.",
            in_start(picture.starting, picture.asked_for),
        ]
        return Block("Stalled", lines, is_loud=True)
    last = "" if picture.steps is None else f" The last step of all was {picture.steps.last}."
    lines = [f"No rank has begun or finished a call, phase or step for {how_long}.{last}"]
    lines += reasons(picture.ranks, picture.pending)
    lines += filter(None, [silence(picture.age_s)])
    return Block("Stalled", lines, is_loud=True)
