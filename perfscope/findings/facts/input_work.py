"""Reading, decoding and copying told apart: what a rank and its producers do for a batch."""

from collections.abc import Mapping

from perfscope.findings.core.finding import Evidence, Gain
from perfscope.findings.core.gain import as_bare_bound, error_of_share, replayed, with_error
from perfscope.findings.core.wording import place
from perfscope.findings.facts.repeated_reads import moved, reads_many_files_once
from perfscope.findings.facts.searched import action, does, searched_at
from perfscope.judging import MAIN
from perfscope.metrics.host.input_parts import InputPart, InputParts
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Account
from perfscope.trace.model import Frame
from perfscope.units import format_share

PARTS_LEAST_SAMPLES = 5  # of getting batches ready: fewer do not tell reading from decoding
_ACTIONS = {
    InputPart.READ: (
        "Most of it is reading: keep the data in memory or on a disk of the node, in few large "
        "files."
    ),
    InputPart.DECODE: (
        "Most of it is decoding and transforming: do once, before training, what gives the same in "
        "each epoch, and store the result."
    ),
    InputPart.COPY: (
        "Most of it is copying and putting together: take whole batches out of one array instead "
        "of single samples."
    ),
}

_CHEAPER = {
    InputPart.READ: "keep the data in memory, or read it in few large chunks.",
    InputPart.DECODE: "store the data decoded and scaled once.",
    InputPart.COPY: "take whole batches out of one array instead of single samples.",
    InputPart.OTHER: (
        "call {0} once for many batches. This code of the program runs again for each batch: if it "
        "gives the same each time, run it once before training, and else make it cheaper."
    ),
}
"""What makes the main part of the work on batches cheaper."""


def cheaper(results: Results, rank: int) -> str:
    """What makes batches cheaper where the training thread makes them itself."""
    found = searched_at(results, getting_place(results, rank))
    if found is not None:
        told = f"its line {does(found)}. {action(found)}"
        return f"Make batches cheaper to load: {told}"
    main = main_part(results, rank)
    how = "store the data decoded and scaled, and read in large chunks."
    how = how if main is None else _CHEAPER.get(main, how)
    return f"Make batches cheaper to load: {how.format(_called_there(results, rank))}"


def _called_there(results: Results, rank: int) -> str:
    """What the line in which a rank gets its batches calls most, by name where that is known."""
    where = getting_place(results, rank)
    rows = [one for one in results.activities.rows if one.rank == rank and one.where == where]
    most = max(rows, key=lambda one: one.ns, default=None) if where is not None else None
    calls = most.calls.strip("?.") if most is not None else ""
    return f"`{public_name(calls)}`" if calls else "it"


def public_name(calls: str) -> str:
    """A call without the modules that are its library's own: those begin with `_`."""
    return ".".join(part for part in calls.split(".") if not part.startswith("_") or part == "_")


def getting_place(results: Results, rank: int) -> Frame | None:
    """Where the training thread of a rank is most while it gets a batch that it makes itself."""
    parts = _alone(results, rank)
    return parts.own if parts is not None else None


def work_evidence(results: Results, rank: int) -> list[Evidence]:
    """What was seen of it on a rank, a row each for the training thread and for its producers."""
    parts = _of(results, rank)
    if parts is None:
        return []
    rows = (
        ("Seen in the training thread while it gets a batch", parts.getting),
        (f"Seen in the {makers(parts)} that make batches", parts.producing),
    )
    return [Evidence(label, _in_words(seen)) for label, seen in rows if _is_enough(seen)]


def makers(parts: InputParts) -> str:
    """What makes the batches of a rank beside its training thread."""
    return "worker processes" if parts.by_processes else "threads"


def who_makes(results: Results, rank: int) -> str:
    """The same of a rank."""
    parts = _of(results, rank)
    return makers(parts) if parts else ""


def producers_place(results: Results, rank: int) -> Frame | None:
    """Where those that make the batches of a rank are most; None where nobody was seen to."""
    parts = _of(results, rank)
    if parts is None or (parts.by_processes and _mostly_wait(parts.producing)):
        return None
    return parts.place


def work_action(results: Results, rank: int) -> str:
    """What to change in the main part of the work on batches; "" where no part is most of it."""
    main = main_part(results, rank)
    return _ACTIONS.get(main, "") if main is not None else ""


def is_at_work(results: Results, rank: int) -> bool:
    """Whether the training thread was seen to work on its batches, and nobody else was.

    Of what is neither reading, decoding nor copying nobody knows that it is no waiting.
    """
    return _alone(results, rank) is not None and main_part(results, rank) in _ACTIONS


def main_part(results: Results, rank: int) -> InputPart | None:
    """The part that is most of the work on batches; None where none is, or too little was seen."""
    parts = _of(results, rank)
    both = (_work(parts.producing), _work(parts.getting)) if parts else ()
    work = next((seen for seen in both if _is_enough(seen)), None)
    if work is None:
        return None
    main = max(work, key=lambda part: work[part])
    return main if work[main] > MAIN * sum(work.values()) else None


def unpacking_action(results: Results, rank: int) -> str:
    """How to unpack only once what each look-up unpacks anew; "" where none does."""
    parts = _of(results, rank)
    if parts is None or parts.unpacks is None:
        return ""
    if parts.is_read:
        return _reading_action(results, parts)
    return (
        f"Decompress once: {place(parts.unpacks)} decompresses the whole item on every access, "
        "and that is most of the work on a batch. Load it before the first step and keep the array "
        "in memory, or store it uncompressed as .npy and memory-map it: "
        '`numpy.load(path, mmap_mode="r")`.'
    )


def _reading_action(results: Results, parts: InputParts) -> str:
    """How to read only once what each look-up in an archive reads whole."""
    assert parts.unpacks is not None
    own = parts.own or parts.place
    called = f", called in {place(own)}," if own else ""
    rank = next(one for one in results.trace.ranks if one.number == parts.rank)
    if reads_many_files_once(rank):
        return (
            f"Store the arrays as .npy, not in archives (.npz): {place(parts.unpacks)}{called} "
            "opens an archive for each sample, finds the array in it and checks every byte, and "
            "that is most of the work on a batch."
        )
    return (
        "Read each array of the archive once, into a variable before the first step (`rows = "
        f'archive["rows"]`), and index that: {place(parts.unpacks)}{called} opens, reads and '
        "checks a whole array on every access, and that is most of the work on a batch"
        f"{moved(rank)}. An array that does not fit into memory can be stored as .npy and "
        'memory-mapped: `numpy.load(path, mmap_mode="r")`.'
    )


def made_once(results: Results, replay: Replay, found: Gain, *, unpacks: bool) -> Gain:
    """What is saved of `found` where batches need no decompressing, or no reading and decoding.

    It is their share of the samples in which training threads get batches, with the samples' error.
    Where others make them, who waits does not tell: at most all waiting goes.
    """
    edits, error = [], 0.0
    for parts in results.input_parts:
        whole = sum(parts.getting.values())
        if sum(parts.producing.values()) or parts.getting.get(InputPart.WAIT, 0) > MAIN * whole:
            return as_bare_bound(found)
        prepared = sum(parts.getting.get(one, 0) for one in (InputPart.READ, InputPart.DECODE))
        gone = parts.unpacked if unpacks else prepared
        if gone:
            share = gone / whole
            edits.append(Edit(Account.INPUT_WAIT, ranks=(parts.rank,), factor=1.0 - share))
            error = max(error, error_of_share(share, gone))
    told = replay.predict(edits) if edits else None
    if told is None:
        return as_bare_bound(found)
    return with_error(replayed(results, told, edits), error)


def _alone(results: Results, rank: int) -> InputParts | None:
    """What a rank was seen doing for its batches where its training thread alone makes them."""
    parts = _of(results, rank)
    return None if parts is None or any(parts.producing.values()) else parts


def _of(results: Results, rank: int) -> InputParts | None:
    return next((parts for parts in results.input_parts if parts.rank == rank), None)


def _mostly_wait(seen: Mapping[InputPart, int]) -> bool:
    return seen.get(InputPart.WAIT, 0) > MAIN * sum(seen.values())


def _work(seen: Mapping[InputPart, int]) -> dict[InputPart, int]:
    return {part: count for part, count in seen.items() if part is not InputPart.WAIT}


def _is_enough(seen: Mapping[InputPart, int]) -> bool:
    return sum(seen.values()) >= PARTS_LEAST_SAMPLES


def _in_words(seen: Mapping[InputPart, int]) -> str:
    """`62.0 % reading, 38.0 % decoding and transforming (of 50 samples)`."""
    whole = sum(seen.values())
    order = sorted(seen.items(), key=lambda item: (-item[1], item[0].value))
    text = ", ".join(f"{format_share(count / whole)} {part.value}" for part, count in order)
    return f"{text} (of {whole} samples)"
