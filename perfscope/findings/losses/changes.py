"""What to change about losses that no diagnosis explains, and what they are called."""

import re

from perfscope.findings.facts.imbalance_facts import DIVIDE_ANEW
from perfscope.findings.losses.callees import FilesUse
from perfscope.schema.enums import Activity, LossPattern
from perfscope.trace.operations import OperationClass

CHANGES: dict[Activity, str] = {
    Activity.DATA_PREPARATION: (
        "Prepare what is known before the first step ahead of time, and the rest in worker "
        "processes, as far as CPUs are free for them. Keep numbers in arrays instead of lists."
    ),
    Activity.TEXT: (
        "Parse each piece of text once and keep the result; use simpler patterns, compiled once, "
        "where texts are new."
    ),
    Activity.UNPACKING: (
        "Decompress each piece once, and keep the result in memory or in an uncompressed file; or "
        "have a background thread decompress the next piece."
    ),
    Activity.COMPRESSION: (
        "Write without compression, or at a cheaper level, or from a background thread."
    ),
    Activity.HASHING: (
        "Compute checksums only where something compares them, and only once for data that do not "
        "change."
    ),
    Activity.FILES: (
        "Keep files open. What is read, read in large blocks, once before the first step or in a "
        "loader process; what is written, write less often, and from one rank."
    ),
    Activity.NETWORK: (
        "Fetch what is needed before the first step, and send results in the background. Where "
        "each small request waits some 40 ms, send it with one call, or set TCP_NODELAY."
    ),
    Activity.SLEEP: (
        "Remove the sleep; if the program sleeps to wait for an event, wait for that event instead "
        "of a fixed time."
    ),
    Activity.SUBPROCESS: (
        "If processes are started repeatedly, start them once and reuse them, or call a function "
        "instead; while the program waits for them, do other work."
    ),
    Activity.GARBAGE_COLLECTION: (
        "Where the program collects garbage itself, leave that to Python, or do it once per epoch; "
        "where Python does, let it collect less often (gc.set_threshold(100_000, 50, 50)), or make "
        "fewer objects that refer to each other; gc.freeze() after set-up exempts what lives on."
    ),
    Activity.MEMORY_MANAGEMENT: "Reuse buffers in all steps, and write results into them (out=).",
    Activity.SERIALIZATION: (
        "Send arrays as buffers: mpi4py's calls with a capital letter (Allreduce, Send) copy no "
        "objects; save in a binary format."
    ),
    Activity.COMPILING: (
        "Compile once: keep the shapes and types of arguments constant, define functions once, and "
        "pass eval() and exec() code that was compiled before the loop (`compile()`). Code that "
        "is compiled once already needs no change for longer runs; later ones are spared it where "
        "the compiler keeps it on disk: JAX in JAX_COMPILATION_CACHE_DIR, torch.compile in "
        "TORCHINDUCTOR_CACHE_DIR, Numba with cache=True."
    ),
    Activity.IMPORTING: (
        "Import at the start of the program; keep the environment on a local disk."
    ),
    Activity.LOGGING: (
        "Log only every N steps, and from one rank; and format values only where the message is "
        'written, as logging does with arguments: log.debug("%s", value).'
    ),
    Activity.DEBUGGING: (
        "Switch off what only debugging needs: torch.autograd.set_detect_anomaly, tracemalloc, "
        "sys.settrace, checks that format a traceback each time."
    ),
    Activity.INTERPRETER: (
        "Replace loops over numbers with array operations, or run this code less often."
    ),
}
"""By activity: what to change."""

OF_FILES: dict[FilesUse, str] = {
    FilesUse.ARCHIVE: (
        "Read each array once and keep it in memory, or store arrays as .npy and memory-map them "
        '(`numpy.load(path, mmap_mode="r")`): now each access reads the whole of what it asks for, '
        "and decompresses it where it is compressed."
    ),
    FilesUse.READS: (
        "Keep files open, and read in large blocks, once before the first step or in a loader "
        "process."
    ),
    FilesUse.WRITES: "Keep files open, and write less often, in large blocks, from one rank.",
}
"""The same of file I/O, where it is seen what is done with files."""

OF_DRAWING = "Draw only every N steps, or once behind the last one, and from one rank."
"""The same of logs and output where figures are drawn."""

DRAWS = frozenset("matplotlib seaborn plotly bokeh".split())
"""Libraries that draw them."""

OF_RECURSION = (
    "This function calls itself: where the same arguments come again, keep what it returns "
    "(`functools.lru_cache(None)`); elsewhere use a loop or arrays in place of calls."
)
"""The same of Python code of a function that calls itself."""

ONE_LINE = (
    "Replace what this one line does for each item, in a loop, a comprehension or a function that "
    "a library calls for each, with whole-array operations, or run the line less often."
)
"""The same of Python code where samples show a single line, which may be no loop."""

OF_SPARSE = (
    "Select rows of a sparse matrix from CSR, and columns from CSC, converted once before the "
    "steps (`matrix.tocsr()`): of the other format all entries are searched each time."
)
"""The same where parts of a sparse matrix are selected, or its format is converted."""

OF_SEARCH = (
    "Look values up in a set or a dictionary that is made once: a list is searched from its "
    "beginning, item by item, each time."
)
"""The same where a list, or anything else whose items are in a row, is searched for a value."""

SEARCHES = frozenset(
    f"{kind}.__contains__" for kind in ("builtins.list", "builtins.tuple", "collections.deque")
)
"""What searches so."""

IN_LIBRARY = (
    "Call {} less often, with more data at a time. Move what does not change from call to call out "
    "of the loop."
)
"""The same where a function of a library is what takes the time."""

AFTER_TURNS = (
    (
        "Post receives early, and begin the next piece of work, such as the next batch, before the "
        "others have finished with this one; or split batches into micro-batches."
    ),
    "Synchronize once per step.",
)
"""What else helps ranks that take turns, after the first step."""

OF_PATTERN: dict[LossPattern, tuple[str, str]] = {
    LossPattern.STATIC: (
        "{ranks} {work} longer in each step{at}, and {rest} {wait}",
        (
            "Give the late rank less of this work and the other ranks more, or have all ranks do "
            "it at once."
        ),
    ),
    LossPattern.SERIAL: (
        "Ranks take turns inside each step: while one works, {rest} {wait}",
        (
            "Have each rank send what the others need to begin before it works itself, so that "
            "all work at the same time."
        ),
    ),
    LossPattern.VARYING: (
        "In each step another rank works longer{at}, and {rest} {wait}",
        (
            "Give all ranks batches of similar cost in the same step (sort samples by size into "
            "groups), or synchronize less often."
        ),
    ),
    LossPattern.ALTERNATING: (
        "In turn, each rank works longer in steps of its own{at}, and {rest} {wait}",
        (
            "Do this work on all ranks in the same step, so that nobody waits for one rank, or "
            "split each part of it over all ranks."
        ),
    ),
    LossPattern.CHAINED: (
        "In each step {rest} {wait} for the result while {ranks} {work}{at}",
        (
            "Let the ranks that wait do a part of this work as well, also those that hand it out, "
            "and combine the results; or let them do meanwhile what does not need the result."
        ),
    ),
    LossPattern.BURSTS: (
        "{each} works much longer in a few steps{at}, and {rest} {wait}",
        (
            "Do what is done only in these steps less often, on all ranks at once, or in the "
            "background."
        ),
    ),
    LossPattern.WINDOW: (
        "{each} is slower for a part of the run{at}, and {rest} {wait}",
        (
            "Give the slow rank less of this work in that part of the run. Work over everything "
            "kept so far grows: bound what is kept. If it does as much work as before, move it to "
            "CPUs that nothing else uses."
        ),
    ),
    LossPattern.SHIFTING: (
        "Work shifts to {ranks} during the run{at}, and {rest} {wait}",
        f"{DIVIDE_ANEW}: the other ranks have less work then.",
    ),
    LossPattern.ONCE: (
        "{each} works longer once{at}, and {rest} {wait}",
        "Do this work on all ranks at once, or while the other ranks work.",
    ),
    LossPattern.SYSTEM: (
        "{each} works longer while no CPU is free for it{at}, and {rest} {wait}",
        "Give each rank cores of its own, and keep other programs off them.",
    ),
}
"""By pattern of waiting: what is seen, and what to change."""

OF_CALLS: dict[OperationClass, tuple[str, str]] = {
    OperationClass.ONE_SIDED: (
        "One-sided communication",
        (
            "Issue all gets and puts of a step before one flush or unlock, instead of completing "
            "each of them; fetch neighboring data with one call or a derived datatype. "
            "Fences and other synchronizing calls also wait for late ranks; how long is not "
            "recorded."
        ),
    ),
    OperationClass.COMMUNICATOR: (
        "Making and freeing communicators",
        (
            "Make communicators before the first step and keep them: all members of the old one "
            "meet in each of these calls."
        ),
    ),
}
"""By class of calls of which the waiting is not told apart: what they are, and what to change."""

WINDOWS_ACTION = (
    "Make windows before the first step and keep them: all ranks meet in each of these calls."
)
"""The same of the one-sided calls that make or free what the others work on."""

TRANSFER_ACTION = (
    "Send less data, less often: fuse small messages, use a smaller data type, overlap transfers "
    "with computation, and check that the fastest transport is used."
)


def of_world(change: str, world: int) -> str:
    """What to change where `world` ranks run: a single one has no others to leave it to."""
    return change if world > 1 else re.sub(", (and )?from one rank", "", change)
