"""What makes the memory of a rank grow, as far as it was observed, and by how much per call."""

from collections.abc import Sequence

from perfscope.findings.core import thresholds
from perfscope.findings.facts.device_facts import is_of_torch
from perfscope.findings.facts.tracing import Traced, traced_often
from perfscope.judging import MAIN
from perfscope.metrics.host.framework_calls import FrameworkCalls
from perfscope.metrics.host.memory_growth import MemoryGrowth
from perfscope.metrics.host.memory_kinds import MemoryKind
from perfscope.metrics.results import Results
from perfscope.schema.enums import Status
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.units import format_bytes

KEPT_FAIL_BYTES = 50 << 10  # per call, steady: retracing, compiling anew and new models keep more
KEPT_WARN_BYTES = 5 << 10
WARM_UP_BYTES = 128 << 10  # per call: predict fills its caches by less, more is no warm-up
BYTES_PER_BLOCK = 64 << 20  # of growth per block of Python's: more cannot hang on Python's objects
BYTES_OF_BLOCK = 4 << 10  # of growth per block of Python's: more is held by objects, or beside them
PIPELINES = ("predict", "evaluate", "fit")
"""Methods of a Keras model that build an input pipeline in every call."""

INSTEAD = {
    "predict": "predict_on_batch(x) or model(x, training=False)",
    "evaluate": "test_on_batch(x, y)",
    "fit": "train_on_batch(x, y), or one fit() over all epochs",
}
BETWEEN = (
    "Keep less from step to step: {0}give caches a bound, and drop results that nobody reads again."
)
GRAPHS = "store `loss.item()` and detached tensors instead of those that hold their graphs, "
"""What programs keep that compute with PyTorch."""

HELD_OR_BESIDE = (
    "That much is either held by these objects (arrays, tensors, bytes: small objects around large "
    "buffers), or memory of a library that grows beside them: perfscope run --memory-detail names "
    "the lines that allocate it."
)
NATIVE = (
    "Make what libraries work with once, and use it again in each step (handles, sessions, plans, "
    "buffers of one size), or try a newer version of them: nothing of Python's keeps the memory."
)
EITHER = (
    "Either a native library keeps it (buffers that it never frees, or is never asked to free), "
    "or arrays and tensors that Python keeps: perfscope run --memory-detail tells which by the "
    "lines that allocate it."
)
BLOCK_BYTES = 512  # a block of Python's own allocator at most; larger ones are of malloc
BY_KIND = {
    MemoryKind.FREED: (
        "memory that the program has freed stays with malloc (fragmentation)",
        (
            "Before the job starts, `export MALLOC_ARENA_MAX=1` or `export "
            "MALLOC_TRIM_THRESHOLD_=131072`; or allocate buffers of changing sizes once and use "
            "them again; another allocator (jemalloc, tcmalloc) may do better."
        ),
    ),
    MemoryKind.SHARED: (
        "shared memory, or files in /dev/shm, that stay mapped",
        (
            "Close and unlink the shared memory and pinned buffers of each step, or make them once "
            "(multiprocessing.shared_memory, loader workers, page-locked host memory)."
        ),
    ),
    MemoryKind.FILES: (
        "pages of mapped files, which the kernel takes back when memory is short",
        (
            "Nothing needs to be done as long as no limit counts them: numpy.memmap and mapped "
            "data sets bring the pages that are read into memory."
        ),
    ),
}


@dataclass(frozen=True)
class Cause:
    """Why memory grows: in words ("" unknown), what to do, whose calls keep it, where, if known.

    `is_freed`: the program has given it back, and uses it again: it need not go on.
    """

    what: str
    actions: tuple[str, ...]
    calls: FrameworkCalls | None = None
    is_compiling: bool = False
    where: tuple[Frame, ...] = ()
    is_freed: bool = False


def compiled_again(results: Results) -> list[Traced]:
    """What was compiled too often, for calls that keep what they compiled."""
    return [one for one in traced_often(results) if not (one.is_pipeline or one.is_torch)]


def cause_of(
    results: Results, rank: int, growth: MemoryGrowth | None, again: Sequence[Traced]
) -> Cause:
    """What makes a rank grow: compiling again, calls of a model, Python's objects or native code.

    `growth` is None where the run was too short to tell; `again` was compiled too often.
    """
    keeper = keeping(results, rank)
    if again and again[0].times > thresholds.TRACED_FAIL:
        unit = keeper or most_called(results, rank)
        first = again[0]
        return Cause(first.what, (first.action,), unit, is_compiling=True, where=first.where)
    if keeper is not None and keeper.name in PIPELINES:
        return Cause(f"Model.{keeper.name} keeps memory in every call", (_instead(keeper),), keeper)
    if keeper is not None:
        what = f"{keeper.name}() keeps memory in every call"
        drop = f"Drop what {keeper.name}() leaves behind in each call: results, caches, callbacks."
        return Cause(what, (drop,), keeper)
    old = _pipelines_of_old(results, rank, growth)
    return old or _by_objects(growth, BETWEEN.format(GRAPHS if is_of_torch(results) else ""))


def keeping(results: Results, rank: int) -> FrameworkCalls | None:
    """The function in whose calls most of the growth happens; None when it is in none."""
    found = [
        one
        for one in results.framework_calls
        if one.rank == rank
        and one.kept_bytes
        and one.growth_bytes
        and one.kept_bytes >= MAIN * one.growth_bytes > 0
    ]
    return max(found, key=lambda one: (one.kept_bytes or 0.0) * one.steady_calls, default=None)


def most_called(results: Results, rank: int) -> FrameworkCalls | None:
    """The function that the rank calls most often: once in each turn of its loop, mostly."""
    own = [one for one in results.framework_calls if one.rank == rank]
    return max(own, key=lambda one: one.calls, default=None)


def is_too_short(cause: Cause) -> bool:
    """Whether what calls keep may still be warm-up: pipelines fill caches for their first calls."""
    calls = cause.calls
    return (
        calls is not None
        and not cause.is_compiling
        and calls.name in PIPELINES
        and calls.calls < thresholds.CALLS_UNTIL_STEADY
        and (calls.growth_bytes or 0.0) < WARM_UP_BYTES
    )


def is_known_per_call(cause: Cause) -> bool:
    """Whether growth per call says more than growth over time: calls enough, or a known cause."""
    calls = cause.calls
    if calls is None or calls.growth_bytes is None:
        return False
    return cause.is_compiling or calls.calls >= thresholds.CALLS_UNTIL_STEADY


def per_call(cause: Cause) -> Status:
    """What growth per call deserves; PASS where it is not known per call."""
    if not is_known_per_call(cause):
        return Status.PASS
    grown = (cause.calls.growth_bytes or 0.0) if cause.calls else 0.0
    for least, status in (
        (KEPT_FAIL_BYTES, Status.FAIL),
        (KEPT_WARN_BYTES, Status.WARN),
        (thresholds.KEPT_INFO_BYTES, Status.INFO),
    ):
        if grown >= least:
            return status
    return Status.PASS


def is_slight(cause: Cause) -> bool:
    """Whether so little is kept per call, of a function that builds no pipeline, as is usual.

    Only a program that does nothing else fills a node by it.
    """
    calls = cause.calls
    return calls is not None and calls.name not in PIPELINES and per_call(cause) is Status.INFO


def _instead(calls: FrameworkCalls) -> str:
    return (
        f"Use {INSTEAD[calls.name]} for single batches in a loop: Model.{calls.name} builds an "
        "input pipeline and its callbacks in every call."
    )


def _pipelines_of_old(results: Results, rank: int, growth: MemoryGrowth | None) -> Cause | None:
    """Model.predict in a loop, in a recording that does not tell what each call keeps."""
    counted = any(one.rank == rank for one in results.framework_calls)
    if counted or growth is None or growth.calls.get("predict", 0) < thresholds.PREDICTS_OFTEN:
        return None
    rank_of = {one.number: one for one in results.trace.ranks}
    if "keras" not in rank_of[rank].frameworks:
        return None
    action = (
        f"Use {INSTEAD['predict']} for single batches in a loop: Model.predict builds an input "
        "pipeline and its callbacks in every call."
    )
    return Cause("Model.predict is called again and again", (action,))


def _allocated(blocks: float, between: str) -> Cause:
    """Memory of malloc, and more than Python's own allocator takes for the objects that it keeps.

    The buffers of arrays and tensors are of malloc as well: where Python keeps more objects, it may
    be these that hold them.
    """
    what = "memory that was allocated with malloc is never freed"
    if blocks <= 0:
        return Cause(f"{what}, and Python keeps no more objects", (NATIVE,))
    return Cause(
        f"{what}, by a native library or in arrays that Python keeps", (EITHER, between, NATIVE)
    )


def _by_objects(growth: MemoryGrowth | None, between: str) -> Cause:
    """Python's objects against native memory, by whether Python's allocator gives out more.

    `between` says what to look for that Python may keep.
    """
    if growth is None or growth.slope_bytes_per_s <= 0:
        return Cause("", (between,))
    blocks, kind = growth.python_blocks_per_s, growth.kind
    if kind is not None and kind.share >= MAIN and kind.kind in BY_KIND:
        what, action = BY_KIND[kind.kind]
        return Cause(what, (action,), is_freed=kind.kind is MemoryKind.FREED)
    if blocks is None:
        return Cause("", (between,))
    is_main = kind is not None and kind.kind is MemoryKind.ALLOCATED and kind.share >= MAIN
    if kind is not None and is_main and kind.bytes_per_s > BLOCK_BYTES * max(0.0, blocks):
        return _allocated(blocks, between)
    if blocks <= 0 or growth.slope_bytes_per_s / blocks > BYTES_PER_BLOCK:
        return Cause("native memory, not Python's objects", (NATIVE,))
    each = blocks * growth.steady_s / growth.steps if growth.steps else None
    often = f"{each:.1f} more in each step" if each else f"{blocks:,.0f} more per second"
    size = growth.slope_bytes_per_s / blocks
    what = f"Python keeps objects, {often}"
    if size <= BYTES_OF_BLOCK:
        return Cause(f"{what}, of {format_bytes(size)} each", (between,))
    grown = f"{what}, and memory grows by {format_bytes(size)} for each"
    return Cause(grown, (between, HELD_OR_BESIDE))
