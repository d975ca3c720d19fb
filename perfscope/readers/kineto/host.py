"""What the host did in a Kineto trace: steps, phases, collectives of the CPU, waits for devices."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.readers.kineto.file import (
    ANNOTATION,
    BACKWARD,
    CALL,
    FOREIGN,
    OTHER,
    RUNTIME,
    KinetoContents,
)
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import PHASE_DTYPE, STEP_DTYPE, Table
from perfscope.trace.operations import BY_NAME

Times = Ints
MOST_USER_PHASES = 200
BACKWARD_GAP_NS = 10_000_000
"""Autograd pauses for less inside one backward pass."""

_STEP = re.compile(r"ProfilerStep\s*#\s*(\d{1,18})$")
_COLLECTIVE = re.compile(r"(gloo|mpi|ucc):(\w+)$")
_LIBRARY = re.compile(r"(nccl|rccl|hccl|oneccl|xccl|gloo|mpi|ucc):")
_OF_WHAT = re.compile(r"\s+\([^()]*\)\s*$")
"""What something was done to, as in `FSDP::pre_forward (layers.0._checkpoint_wrapped_module)`."""
_WAITS = ("*Synchronize", "*SynchronizeWithFlags", "cudaMemcpy", "hipMemcpy", "hipMemcpyWithStream")
_OPERATIONS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "_all_gather_base": "all_gather_into_tensor",
    "_allgather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
}
DEFAULT_RULES: tuple[tuple[PhaseKind, tuple[str, ...]], ...] = (
    (
        PhaseKind.INPUT,
        ("enumerate(dataloader)#*", "*dataloader*next*", "data", "input", "*load*batch*"),
    ),
    (PhaseKind.INPUT, ("*wait_for_batch*", "*data_load*", "*data*loading*", "*next_batch*")),
    (PhaseKind.INPUT, ("iteratorgetnext*",)),
    (
        PhaseKind.OPTIMIZER,
        ("optimizer.step#*", "optimizer.zero_grad#*", "optimizer", "optimizer_step"),
    ),
    (PhaseKind.EVALUATE, ("*evaluat*", "*validat*", "eval")),
    (PhaseKind.CHECKPOINT, ("*checkpoint*", "save_model*")),
    (PhaseKind.FORWARD, ("distributeddataparallel.forward", "fullyshardeddataparallel.forward")),
    (PhaseKind.FORWARD, ("forward", "fwd")),
    (PhaseKind.BACKWARD, ("backward", "bwd")),
)
"""Which annotations are a phase, by their text in lower case without ornament."""
_KINDS = {kind.name.lower(): kind for kind in PhaseKind}


@dataclass(frozen=True)
class HostCollective:
    """A collective of a CPU backend, as recorded and as far as nothing hides it."""

    operation: str
    recorded_ns: int  # when its thread began it
    start_ns: int  # from here on no node of autograd runs beside it
    end_ns: int


@dataclass
class HostTables:
    """One rank's host; `names` of phases are texts, to be numbered by the trace."""

    main_thread: int  # place in KinetoContents.threads
    steps: Table
    phases: Table  # `name` is a place in `names`
    names: list[str]
    collectives: list[HostCollective]
    runtime: Table  # t0, t1, name (place in KinetoContents.names) on the main thread
    notes: list[str]


def host_tables(contents: KinetoContents, rules: Sequence[tuple[str, str]] = ()) -> HostTables:
    """What the host rows of a file say.

    The user's rules, (phase id, glob), come before the defaults.
    """
    main = _main_thread(contents)
    rows = contents.host[contents.host["thread"] == main]
    annotations = rows[np.isin(rows["kind"], (ANNOTATION, OTHER, FOREIGN))]
    used = np.unique([contents.host["name"], contents.host["category"]]).tolist()
    meaning = _Meaning.of(contents.names, used, rules)
    step = meaning.steps[annotations["name"]]
    steps = np.zeros(int(np.count_nonzero(step >= 0)), STEP_DTYPE)
    found = annotations[step >= 0]
    steps["t0"], steps["t1"], steps["number"] = found["t0"], found["t1"], step[step >= 0]
    steps["epoch"] = -1
    phases, names, notes = _phases(contents, annotations, meaning, main)
    phases["step"] = step_at(steps, phases["t0"])
    runtime = rows[rows["kind"] == RUNTIME]
    return HostTables(main, steps, phases, names, _collectives(contents, meaning), runtime, notes)


def _main_thread(contents: KinetoContents) -> int:
    """The thread that runs the steps; without steps, the one with most annotations and calls."""
    for place, thread in enumerate(contents.threads if contents.main_tid is not None else ()):
        is_own = not contents.part.process or thread.process == contents.part.process
        if is_own and thread.thread == str(contents.main_tid):
            return place
    host, calls = contents.host, contents.calls[contents.calls["kind"] == CALL]
    steps = np.zeros(len(contents.names), np.bool_)
    for place in np.unique(host["name"]).tolist():
        steps[place] = is_step(contents.names[place])
    threads = host["thread"][steps[host["name"]]]
    if not len(threads):
        chosen = host["thread"][host["kind"] != BACKWARD]
        threads = np.concatenate([chosen, calls["thread"]])
    if not len(threads):
        threads = host["thread"]
    return int(np.bincount(threads).argmax()) if len(threads) else 0


def is_step(name: str) -> bool:
    """Whether an annotation is a step of the profiler's schedule."""
    return _STEP.match(name) is not None


@dataclass(frozen=True)
class _Meaning:
    """What each name of a file means; arrays by its number."""

    steps: Times  # number of the step, -1 none
    kinds: Ints  # PhaseKind, USER for other annotations, 0 for those of libraries
    waits: Bools
    operations: list[str]  # "" none
    by_rule: Ints  # PhaseKind that the user gives to a name or category, 0 none

    @classmethod
    def of(
        cls, names: Sequence[str], used: Sequence[int], rules: Sequence[tuple[str, str]]
    ) -> "_Meaning":
        """Of the names that host rows use; there may be a million others, of kernels."""
        steps = np.full(len(names), -1, np.int64)
        kinds = np.zeros(len(names), np.int64)
        waits = np.zeros(len(names), np.bool_)
        operations = [""] * len(names)
        by_rule = np.zeros(len(names), np.int64)
        for place in used:
            name = names[place]
            by_rule[place] = _ruled(name, rules)
            if (step := _STEP.match(name)) is not None:
                steps[place] = int(step[1])
            else:
                kinds[place] = _kind(name, rules)
            waits[place] = any(fnmatchcase(name, pattern) for pattern in _WAITS)
            operations[place] = _operation(name)
        return cls(steps, kinds, waits, operations, by_rule)

    def of_rows(self, rows: Table) -> Times:
        """The PhaseKind of each row: by its name, else by the category that another tool gave."""
        by_category = self.by_rule[rows["category"]]
        is_told = (self.by_rule[rows["name"]] == 0) & (by_category > 0) & (rows["kind"] == FOREIGN)
        found: Times = np.where(is_told, by_category, self.kinds[rows["name"]])
        return found


def is_phase(name: str, rules: Sequence[tuple[str, str]]) -> bool:
    """Whether an interval is a phase by what it is called, or by the user's rules."""
    return bool(_ruled(name, rules)) or _kind(name, ()) not in (0, PhaseKind.USER)


def _kind(name: str, rules: Sequence[tuple[str, str]]) -> int:
    if ruled := _ruled(name, rules):
        return ruled
    if _LIBRARY.match(name):
        return 0
    plain = _OF_WHAT.sub("", name).strip("# \t").lower()
    for kind, patterns in DEFAULT_RULES:
        if any(fnmatchcase(plain, pattern) for pattern in patterns):
            return kind
    return PhaseKind.USER


def _ruled(name: str, rules: Sequence[tuple[str, str]]) -> int:
    """The phase that the user gives to a name, 0 none."""
    for phase, pattern in rules:
        if fnmatchcase(name, pattern):
            return _KINDS.get(phase, PhaseKind.USER)
    return 0


def _operation(name: str) -> str:
    found = _COLLECTIVE.match(name)
    if found is None:
        return ""
    operation = f"torch.distributed.{_OPERATIONS.get(found[2], found[2])}"
    return operation if operation in BY_NAME else ""


def _phases(
    contents: KinetoContents, annotations: Table, meaning: _Meaning, main: int
) -> tuple[Table, list[str], list[str]]:
    marked = annotations[meaning.of_rows(annotations) > 0]
    is_user = meaning.of_rows(marked) == PhaseKind.USER
    names, notes = [""], []
    own = np.unique(marked["name"][is_user])
    if len(own) > MOST_USER_PHASES:
        notes.append(
            f"{contents.path.name}: of {len(own)} annotations with names of their own only the "
            f"{MOST_USER_PHASES} of longest time are phases."
        )
        spent = np.zeros(len(contents.names))
        np.add.at(spent, marked["name"], (marked["t1"] - marked["t0"]) * 1.0)
        own = own[np.argsort(-spent[own], kind="stable")]
        marked = marked[~is_user | np.isin(marked["name"], own[:MOST_USER_PHASES])]
    tables = [
        _marked(marked, meaning),
        _device_waits(contents, meaning, main),
        _backward(contents, marked, meaning),
    ]
    phases = np.concatenate(tables)
    phases = phases[np.lexsort((-phases["t1"], phases["t0"]))]
    phases["epoch"], phases["step"] = -1, -1
    return phases, names + contents.names, notes


def _rows(starts: Times, ends: Times, kinds: Times, names: Times) -> Table:
    rows = np.zeros(len(starts), PHASE_DTYPE)
    rows["t0"], rows["t1"], rows["kind"], rows["name"] = starts, ends, kinds, names
    return rows


def _marked(marked: Table, meaning: _Meaning) -> Table:
    """What the program or the framework named, and whether its ends are exact."""
    rows = _rows(marked["t0"], marked["t1"], meaning.of_rows(marked), marked["name"] + 1)
    rows["flags"] = marked["flags"]
    return rows


def _device_waits(contents: KinetoContents, meaning: _Meaning, main: int) -> Table:
    host = contents.host
    rows = host[(host["thread"] == main) & (host["kind"] == RUNTIME) & meaning.waits[host["name"]]]
    kinds = np.full(len(rows), PhaseKind.DEVICE_WAIT, np.int64)
    return _rows(rows["t0"], rows["t1"], kinds, np.zeros(len(rows), np.int64))


def _backward(contents: KinetoContents, marked: Table, meaning: _Meaning) -> Table:
    """Passes of autograd, from the first to the last node, where the program marked none."""
    nodes = contents.host[contents.host["kind"] == BACKWARD]
    kinds = meaning.of_rows(marked)
    if not len(nodes) or np.any(kinds == PhaseKind.BACKWARD):
        return np.zeros(0, PHASE_DTYPE)
    reach = np.maximum.accumulate(nodes["t1"])
    breaks = marked["t0"][np.isin(kinds, (PhaseKind.FORWARD, PhaseKind.OPTIMIZER))]
    before = np.searchsorted(np.sort(breaks), nodes["t0"])
    first = np.ones(len(nodes), np.bool_)
    first[1:] = (before[1:] != before[:-1]) | (nodes["t0"][1:] - reach[:-1] > BACKWARD_GAP_NS)
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:] - 1, len(nodes) - 1)
    kind = np.full(len(starts), PhaseKind.BACKWARD, np.int64)
    return _rows(nodes["t0"][starts], reach[ends], kind, np.zeros(len(starts), np.int64))


def _collectives(contents: KinetoContents, meaning: _Meaning) -> list[HostCollective]:
    """Collectives of CPU backends on any thread; only what no autograd node hides is exposed."""
    host = contents.host
    known = np.array([bool(name) for name in meaning.operations], np.bool_)
    rows = host[(host["kind"] == ANNOTATION) & known[host["name"]]]
    ends = np.sort(host["t1"][host["kind"] == BACKWARD])
    latest = np.searchsorted(ends, rows["t1"]) - 1
    hidden = ends[np.maximum(latest, 0)] if len(ends) else rows["t0"]
    begin = np.where(latest >= 0, np.maximum(hidden, rows["t0"]), rows["t0"])
    free = (
        np.maximum.accumulate(np.concatenate([begin[:1], rows["t1"][:-1]])) if len(rows) else begin
    )
    begin = np.minimum(np.maximum(begin, free), np.maximum(rows["t1"], free))
    finish = np.maximum(rows["t1"], begin)
    texts = [meaning.operations[name] for name in rows["name"].tolist()]
    columns = (texts, rows["t0"].tolist(), begin.tolist(), finish.tolist())
    return [HostCollective(*one) for one in zip(*columns, strict=True)]


def step_at(steps: Table, moments: Times) -> Times:
    """The number of the step in which each moment lies, -1 outside."""
    if not len(steps):
        return np.full(len(moments), -1, np.int64)
    place = np.searchsorted(steps["t0"], moments, side="right") - 1
    inside = (place >= 0) & (moments <= steps["t1"][np.maximum(place, 0)])
    return np.where(inside, steps["number"][np.maximum(place, 0)], -1)
