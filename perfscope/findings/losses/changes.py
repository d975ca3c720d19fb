"""What to change about losses that no diagnosis explains, and what they are called."""

from perfscope.findings.facts.imbalance_facts import DIVIDE_ANEW
from perfscope.schema.enums import Activity, LossPattern
from perfscope.trace.operations import OperationClass

CHANGES: dict[Activity, str] = {
    Activity.DATA_PREPARATION: (
        "What is known before the first step can be prepared ahead of time, and the rest in other "
        "processes alongside this one, as far as CPUs are free for them. Keep numbers in arrays "
        "instead of lists."
    ),
    Activity.TEXT: (
        "Do less for each piece of text{}: simpler patterns, compiled once, and results that are "
        "kept instead of parsed again."
    ),
    Activity.UNPACKING: (
        "Unpack each piece once, and keep it in memory or in a file without compression; or have "
        "a thread unpack the next piece{} while the run goes on."
    ),
    Activity.COMPRESSION: (
        "Write without compression, at a cheaper level, or from a thread{} while the run goes on."
    ),
    Activity.HASHING: (
        "Compute checksums only where something compares them, once for what stays the same."
    ),
    Activity.FILES: (
        "Keep files open, and read what is needed in large blocks before the first step or in a "
        "loader process; write less often, and from one rank."
    ),
    Activity.NETWORK: (
        "Fetch what is needed before the first step, and send results in the background."
    ),
    Activity.SLEEP: (
        "Leave the sleep out; where it waits for something, wait for that event itself instead of "
        "a fixed time."
    ),
    Activity.SUBPROCESS: (
        "Where processes are started again and again, start them once and reuse them, or call a "
        "function instead; where they are waited for, do other work meanwhile."
    ),
    Activity.GARBAGE_COLLECTION: (
        "Leave garbage collection to Python, or collect once per epoch; gc.freeze() after set-up "
        "exempts what lives on."
    ),
    Activity.MEMORY_MANAGEMENT: "Reuse buffers in all steps, and write results into them (out=).",
    Activity.SERIALIZATION: (
        "Send arrays as buffers: mpi4py's calls with a capital letter (Allreduce, Send) copy no "
        "objects; save in a binary format."
    ),
    Activity.COMPILING: (
        "Compile once: keep shapes and types of arguments the same, define functions once, and "
        "give eval() and exec() what compile() made of the text before the loop."
    ),
    Activity.IMPORTING: (
        "Import at the start of the program; keep the environment on a local disk."
    ),
    Activity.LOGGING: (
        "Log only every N steps, and from one rank; and make texts of values only where they are "
        'written, as logging does with arguments: log.debug("%s", value).'
    ),
    Activity.DEBUGGING: (
        "Switch off what only debugging needs: torch.autograd.set_detect_anomaly, tracemalloc, "
        "sys.settrace, checks that format a traceback each time."
    ),
    Activity.INTERPRETER: "Do loops over numbers{} with array operations, or run it less often.",
}
"""By activity: what to change; `{}` is where."""

ONE_LINE = (
    "All of it is in one line, and no loop over others was seen{}: where the line itself goes "
    "through elements, replace that with whole-array operations, or run it less often."
)
"""The same of Python code where samples show a single line, which may be no loop."""

IN_LIBRARY = (
    "Call it less often, with more data at a time, and do once, before the loop, what stays the "
    "same from call to call."
)
"""The same where a function of a library is what takes the time."""

OF_PATTERN: dict[LossPattern, tuple[str, str]] = {
    LossPattern.STATIC: (
        "{ranks} {work} longer in each step{at}, and {rest} {wait}",
        "Balance the work, and look at what is done more there than on the other ranks.",
    ),
    LossPattern.SERIAL: (
        "Ranks take turns inside each step: while one works, {rest} {wait}",
        (
            "Let the ranks work at the same time: have each begin its next piece of work, such as "
            "the next batch, before the others have finished with this one (post receives early, "
            "send what others wait for first), split batches into micro-batches, and synchronize "
            "once per step."
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
            "Do this work on all ranks in the same step, so that nobody waits for it, or deal out "
            "each part of it to all ranks."
        ),
    ),
    LossPattern.CHAINED: (
        "In each step {ranks} {work}{at} while {rest} {wait} for the result",
        (
            "Deal this work out over all ranks, as a collective such as Allreduce does with sums, "
            "or let the others do what does not need its result meanwhile."
        ),
    ),
    LossPattern.BURSTS: (
        "{each} works much longer in a few steps{at}, and {rest} {wait}",
        (
            "Look at what is done in these steps alone: do it more rarely, on all ranks at once, "
            "or in the background."
        ),
    ),
    LossPattern.WINDOW: (
        "{each} is slower for a part of the run{at}, and {rest} {wait}",
        (
            "Look at what it does more of then: work over all that was kept so far grows, and data "
            "differ. Other programs on the node and clocks can slow it down as well."
        ),
    ),
    LossPattern.SHIFTING: (
        "Work shifts to {ranks} during the run{at}, and {rest} {wait}",
        f"{DIVIDE_ANEW}: the others do less then.",
    ),
    LossPattern.ONCE: (
        "{each} works longer once{at}, and {rest} {wait}",
        "Do it on all ranks at once, or while the others work.",
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
            "each of them; fetch neighboring data by one call, or with a derived datatype. "
            "Fences and other calls that synchronize also wait for late ranks, which the recording "
            "does not tell apart: check that the ranks work equally long before them."
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
    "Send less and less often: fuse small messages, use a smaller number type, overlap transfer "
    "with work, and check that the fastest transport is used."
)
