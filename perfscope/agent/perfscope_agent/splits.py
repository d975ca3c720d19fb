"""Where the program deals out work by rank: ranges and slices that begin at what its number tells.

Which rank has how much is set there, and not where the work is done. The program's own files are
read for that when it is over, on the first rank. Nothing of them is run. The number is what a
communicator or `torch.distributed` tells in the same scope or in one around it, what is told these,
and what a function of the program is given of that.
"""

from __future__ import annotations

import time

from . import metadata, recorder, scopes, sources
from .kinds import Any, Iterable, Iterator
from .pace import Budget
from .scopes import Program, Scope, last

_MOST_PLACES = 8
_MOST_BYTES = 1 << 18
"""Of all files together: trees of syntax take some fifty times as much."""

_BYTE_NS = 1000
"""About what a byte of a file takes to be read into such a tree, which nothing ends early."""

_KEEP = ("int", "min", "max", "abs", "divmod", "round", "len")
"""Functions whose result derives from what they are given as a sum does."""

_BEGIN = {"range": 2, "arange": 2, "slice": 2, "islice": 3}
"""What begins at a number where it is given so many: at its first, `islice` at its second."""

_SPAWN = ("spawn", "start_processes")
"""What starts a function in processes, each with its number as the first argument."""

_STARTERS = ("multiprocessing", "mp", "xla_multiprocessing", "xmp")
"""Whose functions these are: of PyTorch and of its XLA, by usual names."""

_PARTS = ("array_split", "tensor_split")
"""What cuts into parts, of which one is taken by its number."""


def note(budget: Budget) -> bool:
    """At exit: the lines that deal out work; whether any were found.

    None are told where there was no time for all files: one that is told is to be the only one.
    """
    rank, size = recorder.rank_and_size()
    if rank != 0 or size < 2:
        return False
    import ast  # in the main thread, when all is over

    try:
        found = _found(ast, Clock(budget))
    except NoTimeError:
        return False
    if not found:
        return False
    metadata.facts["splits"] = [
        recorder.place_text(function, file, line) for file, function, line in found[:_MOST_PLACES]
    ]
    return True


def _found(ast: Any, clock: Clock) -> list[tuple[str, str, int]]:
    files: list[tuple[str, Any]] = []
    left = _MOST_BYTES
    for file, text in sources.texts([b"rank"]):
        left -= len(text)
        clock.ask(_BYTE_NS * len(text))
        if left < 0:
            raise NoTimeError
        files.append((file, sources.tree(ast, text)))
    clock.ask()
    return places(ast, [(file, tree) for file, tree in files if tree is not None], clock)


class NoTimeError(Exception):
    """What may be spent has been, or would be."""


class Clock:
    """What is spent by now, against what may be."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._begin_ns = budget, time.monotonic_ns()

    def ask(self, ahead_ns: int = 0) -> None:
        """Goes on if that is left for what comes.

        Raises:
            NoTimeError: where it is not.
        """
        now_ns = time.monotonic_ns()
        self._budget.spent_ns += now_ns - self._begin_ns
        self._begin_ns = now_ns
        self._budget.spent_ns += ahead_ns
        is_left = self._budget.is_left()
        self._budget.spent_ns -= ahead_ns
        if not is_left:
            raise NoTimeError


def places(ast: Any, files: Iterable[tuple[str, Any]], clock: Clock) -> list[tuple[str, str, int]]:
    """File, function and line of all ranges and slices that begin at what the rank tells.

    A function of the program is followed into where it is given the rank, also in another file.
    """
    known = []
    for file, tree in files:
        for scope in scopes.of_file(ast, file, tree):
            clock.ask()
            known.append(scope)
    program = Program(ast, known)
    left = list(known)  # those around it come first
    waiting = set(left)
    for scope in left:  # it grows by those that are told something new
        clock.ask()
        waiting.discard(scope)
        grown = [one for one in _learn(ast, scope, program, clock) if one not in waiting]
        left += dict.fromkeys(grown)
        waiting.update(grown)
    found: set[tuple[str, str, int]] = set()
    for scope in known:
        clock.ask()
        splits = [one for one in scope.nodes if _is_split(ast, one, scope.derived)]
        found.update((scope.file, scope.called, one.lineno) for one in splits)
    return sorted(found, key=lambda one: (one[0], one[2]))


def _learn(ast: Any, scope: Scope, program: Program, clock: Clock) -> list[Scope]:
    """Reckons what derives in a scope; those that this tells something new."""
    seen = scope.around.seen if scope.around else set()
    begin = (seen - scope.own) | scope.given | _told(ast, scope.nodes)
    scope.derived = _derived(ast, scope.nodes, begin, clock)
    # what a class names, its methods do not see
    told = seen if scope.is_class else scope.derived
    grown = list(scope.within) if told != scope.seen else []
    scope.seen = told
    for node in scope.nodes:
        if isinstance(node, ast.Call):
            grown += _pass_on(ast, node, scope, program)
    return grown


def _pass_on(ast: Any, node: Any, scope: Scope, program: Program) -> list[Scope]:
    """Notes which parameters of a function of the program a call gives what derives."""
    arguments, names = list(node.args), scope.derived
    if arguments and _is_spawn(ast, node.func, scope, program):
        called = program.called(scope, arguments[0])
        return _give(called.scope, set(called.places[:1])) if called else []
    # most calls give nothing that derives, and need not be looked up
    values = [*arguments, *(one.value for one in node.keywords)]
    if not any(_derives(ast, one, names) for one in values):
        return []
    called = program.called(scope, node.func)
    if called is None or any(isinstance(one, ast.Starred) for one in arguments):
        return []
    pairs = [*zip(called.places, arguments), *((one.arg, one.value) for one in node.keywords)]
    given = {name for name, value in pairs if _derives(ast, value, names)}
    return _give(called.scope, given.intersection(called.names))


def _give(scope: Scope, names: set[str]) -> list[Scope]:
    is_new = not names <= scope.given
    scope.given |= names
    return [scope] if is_new else []


def _is_spawn(ast: Any, node: Any, scope: Scope, program: Program) -> bool:
    """Whether it is the function of PyTorch, or XLA, that starts one in numbered processes."""
    if last(node) not in _SPAWN:
        return False
    if isinstance(node, ast.Name):
        module, _ = program.imported(scope, node.id)
        return module.split(".")[-1] in _STARTERS
    return last(node.value) in _STARTERS


def _told(ast: Any, nodes: list[Any]) -> set[str]:
    """The names that a scope tells `torch.distributed` as its rank."""
    values = [
        one.value
        for node in nodes
        if isinstance(node, ast.Call) and last(node.func) == "init_process_group"
        for one in node.keywords
        if one.arg == "rank"
    ]
    return {one.id for one in values if isinstance(one, ast.Name)}


def _derived(ast: Any, nodes: list[Any], known: set[str], clock: Clock) -> set[str]:
    """The names of a scope that derive from the rank, with those that are known."""
    # the last statement stands first: in the order of the program most are found at once
    pairs = [pair for node in reversed(nodes) for pair in _assigned(ast, node)]
    found, before = set(known), -1
    while len(found) > before:
        clock.ask()
        before = len(found)
        found.update(name for name, value in pairs if _derives(ast, value, found))
    return found


def _assigned(ast: Any, node: Any) -> Iterator[tuple[str, Any]]:
    """The variables that a statement assigns to, each with the value that it gets."""
    if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or node.value is None:
        return
    left = [(one, node.value) for one in getattr(node, "targets", None) or [node.target]]
    while left:
        target, value = left.pop()
        if isinstance(target, ast.Name):
            yield target.id, value
        targets, values = getattr(target, "elts", ()), getattr(value, "elts", ())
        is_paired = len(targets) == len(values)
        is_paired = is_paired and not any(isinstance(x, ast.Starred) for x in [*targets, *values])
        left += zip(targets, values) if is_paired else [(one, value) for one in targets]


def _derives(ast: Any, node: Any, names: set[str]) -> bool:
    """Whether a value is reckoned from the rank."""
    left = [node]
    while left:
        node = left.pop()
        if _is_rank(ast, node) or (isinstance(node, ast.Name) and node.id in names):
            return True
        if isinstance(node, ast.Call) and last(node.func) in _KEEP:
            left += node.args
        elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Tuple)):
            left += ast.iter_child_nodes(node)
        elif isinstance(node, ast.Subscript):
            left.append(sources.index_of(node))
    return False


def _is_rank(ast: Any, node: Any) -> bool:
    """Whether it is the number of this rank: `comm.rank`, `comm.Get_rank()`, `dist.get_rank()`."""
    if isinstance(node, ast.Call):
        name = last(node.func)
        holder = last(getattr(node.func, "value", None))
        is_told = name == "get_rank" and holder in ("", "dist", "distributed")
        return is_told or name == "Get_rank" or (name == "rank" and holder in ("hvd", "horovod"))
    holder = last(node.value) if isinstance(node, ast.Attribute) else ""
    is_communicator = any(one.endswith("comm") for one in holder.lower().split("_"))
    return is_communicator and node.attr == "rank"


def _is_split(ast: Any, node: Any, names: set[str]) -> bool:
    """Whether a range or slice begins at what derives from the rank, or a part is taken by it."""
    begins: list[Any] = []
    if isinstance(node, ast.Call):
        least = _BEGIN.get(last(node.func), 0)
        begins = node.args[least - 2 : least - 1] if least and len(node.args) >= least else []
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        index = sources.index_of(node)
        axes = getattr(index, "dims", None) or getattr(index, "elts", None) or [index]
        begins = [one.lower for one in axes if isinstance(one, ast.Slice)]
        if isinstance(node.value, ast.Call) and last(node.value.func) in _PARTS:
            begins.append(index)
    return any(one is not None and _derives(ast, one, names) for one in begins)
