"""What a person has to know about an OTF2 archive: what was odd in it, what it does not hold."""

from collections.abc import Sequence

from perfscope.readers.otf2.ranks import Places
from perfscope.readers.otf2.reduced import Reduced
from perfscope.trace.model import Rank
from perfscope.units import counted

_ODD = (
    ("unknown", "event", "Skipped: {} of kinds newer than OTF2 3.2."),
    ("backwards", "time", "The clock of a location went back {}."),
    ("stray_leaves", "time", "A region was left that had not been entered, {}; that was skipped."),
    ("left_open", "region", "Entered and never left: {}, taken to end with what encloses it."),
    ("stray_messages", "message record", "Outside any MPI call, and so without a time: {}."),
    ("unstarted_requests", "request", "Ended on a thread that is not seen to start it: {}."),
    ("undefined_regions", "call", "Of regions that the archive does not define: {}."),
)


def notes_on(reduced: Reduced, places: Places, ranks: Sequence[Rank]) -> list[str]:
    """What was odd, one sentence each."""
    notes = []
    for key, noun, text in _ODD:
        count = sum(row[key] for row in reduced.locations)
        if count:
            notes.append(text.format(counted(count, noun)))
    if reduced.impossible_sizes:
        calls = counted(reduced.impossible_sizes, "call")
        notes.append(f"Sizes that cannot be, in {calls}: 0 bytes are taken.")
    if any(row["counters_thinned"] for row in reduced.locations):
        notes.append("Counters have more samples than are kept; they were thinned evenly.")
    if reduced.phases_dropped:
        notes.append(
            "The regions that are phases, or the pieces of device work, are too many for the "
            "memory that is left here: none of them is shown."
        )
    if places.others:
        shown = ", ".join(places.others[:5])
        groups = counted(len(places.others), "location group")
        notes.append(f"Left out {groups} of no rank: {shown}.")
    wrong = sum(
        1
        for rank in places.ranks
        for place in rank.threads
        if place.events != reduced.locations[place.index]["events"]
    )
    if wrong:
        places_wrong = counted(wrong, "location")
        notes.append(f"Events are not as many as the definitions say in {places_wrong}.")
    if len(places.ranks) > len(ranks):
        notes.append(f"{counted(len(places.ranks) - len(ranks), 'rank')} recorded no event.")
    return notes


def reasons(reduced: Reduced, ranks: Sequence[Rank], *, most_calls: int) -> dict[str, str]:
    """Why parts of the analysis are empty, by part."""
    found = {
        "memory": "an OTF2 archive has no samples of the processes' memory",
        "threads": "an OTF2 archive does not tell which threads ran on a CPU",
        "io": "an OTF2 archive has no counters of the processes' input and output",
        "environment": "an OTF2 archive does not hold the environment of the run",
        "steps": "no region of the archive is a training step",
    }
    if all(rank.devices is None for rank in ranks):
        found["devices"] = "no location of the archive is a stream of an accelerator"
    if reduced.rows_dropped:
        calls = sum(row["mpi_calls"] for row in reduced.locations)
        found["operations"] = (
            f"the trace holds {counted(calls, 'MPI call')}, and the memory that is left here "
            f"suffices for {most_calls:,} calls and completions one by one; their time was only "
            "added up (where more memory is free, they are kept)"
        )
    if any(len(rank.steps) for rank in ranks):
        del found["steps"]
    silent = not any(len(rank.operations) or len(rank.background) for rank in ranks)
    if len(ranks) > 1 and silent and not reduced.rows_dropped:
        found["communication"] = (
            "no region of the archive is a call of MPI or of another library by which ranks "
            "communicate"
        )
    return found
