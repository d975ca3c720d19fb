"""Where the program deals out work by rank: ranges and slices that begin at what its number tells.

Which rank has how much is set there, and not where the work is done. The program's own files are
read for that when it is over, on the first rank. Nothing of them is run. The number is what a
communicator or `torch.distributed` tells in the same scope or in one around it, what is told these,
and what a function of the program is given of that.
"""

from __future__ import annotations

import time

from . import metadata, recorder, sources
from .kinds import Any, Iterable, Iterator
from .pace import Budget

_MOST_PLACES = 8
_MOST_BYTES = 1 << 17
"""Of a file: its tree of syntax takes some hundred times as much."""

_BYTE_NS = 1000
"""What a byte of a file may take, at most."""

_KEEP = ("int", "min", "max", "abs", "divmod", "round", "len")
"""Functions whose result derives from what they are given as a sum does."""

_BEGIN = {"range": 2, "arange": 2, "slice": 2, "islice": 3}
"""What begins at a number where it is given so many: at its first, `islice` at its second."""

_SPAWN = ("spawn", "start_processes")
"""What starts a function in processes, each with its number as the first argument."""

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

    files: list[tuple[str, Any]] = []
    begin_ns = time.monotonic_ns()
    for file, text in sources.texts([b"rank"]):
        budget.spent_ns += _BYTE_NS * len(text)
        if len(text) > _MOST_BYTES or not budget.is_left():
            return False
        files.append((file, sources.tree(ast, text)))
        now_ns = time.monotonic_ns()
        budget.spent_ns += now_ns - begin_ns - _BYTE_NS * len(text)
        begin_ns = now_ns
    found = places(ast, [(file, tree) for file, tree in files if tree is not None])
    budget.spent_ns += time.monotonic_ns() - begin_ns
    if not found:
        return False
    metadata.facts["splits"] = [
        recorder.place_text(function, file, line) for file, function, line in found[:_MOST_PLACES]
    ]
    return True


def places(ast: Any, files: Iterable[tuple[str, Any]]) -> list[tuple[str, str, int]]:
    """File, function and line of all ranges and slices that begin at what the rank tells.

    A function of the program is followed into where it is given the rank, also in another file.
    """
    known = [scope for file, tree in files for scope in scopes(ast, file, tree)]
    functions = _functions(ast, known)
    before = -1
    while before < sum(len(one.given) for one in known):
        before = sum(len(one.given) for one in known)
        for scope in known:  # those around it come first
            seen = scope.around.seen if scope.around else set()
            begin = (seen - scope.own) | scope.given | _told(ast, scope.nodes)
            scope.derived = _derived(ast, scope.nodes, begin)
            # what a class names, its methods do not see
            scope.seen = seen if isinstance(scope.node, ast.ClassDef) else scope.derived
            for node in scope.nodes:
                _pass_on(ast, node, scope.derived, functions)
    found = {
        (one.file, one.name, node.lineno)
        for one in known
        for node in one.nodes
        if _is_split(ast, node, one.derived)
    }
    return sorted(found, key=lambda one: (one[0], one[2]))


class Scope:
    """A function, a class or a file, and the names in it that derive from the rank."""

    def __init__(self, ast: Any, file: str, node: Any, around: Scope | None) -> None:
        self.file, self.node, self.around = file, node, around
        self.name = getattr(node, "name", "<lambda>" if around else "<module>")
        self.nodes, self.inner = _nodes(ast, node)
        self.own = _bound(ast, node, self.nodes)
        self.given: set[str] = set()  # parameters that are given it
        self.derived: set[str] = set()
        self.seen: set[str] = set()  # by the scopes in it


def scopes(ast: Any, file: str, tree: Any) -> Iterator[Scope]:
    """Those of a file, each behind the one around it."""
    left: list[tuple[Any, Scope | None]] = [(tree, None)]
    while left:
        node, around = left.pop()
        scope = Scope(ast, file, node, around)
        yield scope
        left += [(one, scope) for one in scope.inner]


def _functions(ast: Any, scopes: list[Scope]) -> dict[str, tuple[Scope, list[str]]]:
    """Functions of which the program has one of that name, with the parameters that a call gives.

    That of a class is the one that makes its objects.
    """
    found: dict[str, tuple[Scope, list[str]]] = {}
    names: list[str] = []
    for scope in scopes:
        if not isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        given = scope.node.args
        parameters = [one.arg for one in [*getattr(given, "posonlyargs", ()), *given.args]]
        is_method = bool(scope.around) and isinstance(
            getattr(scope.around, "node", 0), ast.ClassDef
        )
        is_first = is_method and scope.name == "__init__" and scope.around
        name = scope.around.name if is_first and scope.around else scope.name
        names.append(name)
        found[name] = scope, parameters[is_method:] + [one.arg for one in given.kwonlyargs]
    return {name: one for name, one in found.items() if names.count(name) == 1}


def _pass_on(
    ast: Any, node: Any, names: set[str], functions: dict[str, tuple[Scope, list[str]]]
) -> None:
    """Notes which parameters of a function of the program a call gives what derives."""
    if not isinstance(node, ast.Call):
        return
    called, arguments = _last(node.func), list(node.args)
    if called in _SPAWN and arguments:
        function = functions.get(_last(arguments[0]))
        if function is not None:
            function[0].given.update(function[1][:1])
        return
    if called not in functions or any(isinstance(one, ast.Starred) for one in arguments):
        return
    scope, parameters = functions[called]
    pairs = [*zip(parameters, arguments), *((one.arg, one.value) for one in node.keywords)]
    scope.given.update(
        name for name, value in pairs if name in parameters and _derives(ast, value, names)
    )


def _told(ast: Any, nodes: list[Any]) -> set[str]:
    """The names that a scope tells `torch.distributed` as its rank."""
    values = [
        one.value
        for node in nodes
        if isinstance(node, ast.Call) and _last(node.func) == "init_process_group"
        for one in node.keywords
        if one.arg == "rank"
    ]
    return {one.id for one in values if isinstance(one, ast.Name)}


def _nodes(ast: Any, scope: Any) -> tuple[list[Any], list[Any]]:
    """What stands in a scope itself, and the scopes in it."""
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    body = scope.body if isinstance(scope.body, list) else [scope.body]
    left, nodes, inner = list(body), [], []
    while left:
        node = left.pop()
        if isinstance(node, scopes):
            inner.append(node)  # its defaults and decorators say nothing here
            continue
        nodes.append(node)
        left += ast.iter_child_nodes(node)
    return nodes, inner


def _bound(ast: Any, scope: Any, nodes: list[Any]) -> set[str]:
    """The names that are the scope's own, whatever those around it mean by them."""
    given = getattr(scope, "args", None)
    found = {one.arg for one in ast.walk(given) if isinstance(one, ast.arg)} if given else set()
    names = [one for one in nodes if isinstance(one, ast.Name)]
    found.update(one.id for one in names if not isinstance(one.ctx, ast.Load))
    shared = [one for one in nodes if isinstance(one, (ast.Global, ast.Nonlocal))]
    return found - {name for one in shared for name in one.names}


def _derived(ast: Any, nodes: list[Any], known: set[str]) -> set[str]:
    """The names of a scope that derive from the rank, with those that are known."""
    pairs = [pair for node in nodes for pair in _assigned(ast, node)]
    found, before = set(known), -1
    while len(found) > before:
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
        if isinstance(node, ast.Call) and _last(node.func) in _KEEP:
            left += node.args
        elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Tuple)):
            left += ast.iter_child_nodes(node)
        elif isinstance(node, ast.Subscript):
            left.append(index_of(node))
    return False


def _is_rank(ast: Any, node: Any) -> bool:
    """Whether it is the number of this rank: `comm.rank`, `comm.Get_rank()`, `dist.get_rank()`."""
    if isinstance(node, ast.Call):
        name = _last(node.func)
        holder = _last(getattr(node.func, "value", None))
        is_told = name == "get_rank" and holder in ("", "dist", "distributed")
        return is_told or name == "Get_rank" or (name == "rank" and holder in ("hvd", "horovod"))
    holder = _last(node.value) if isinstance(node, ast.Attribute) else ""
    is_communicator = any(one.endswith("comm") for one in holder.lower().split("_"))
    return is_communicator and node.attr == "rank"


def _last(node: Any) -> str:
    """The last part of a name; "" of what is none."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def index_of(node: Any) -> Any:
    """What something is indexed with, which Python 3.8 has in a node of its own."""
    cut = node.slice
    return cut.value if type(cut).__name__ == "Index" else cut


def _is_split(ast: Any, node: Any, names: set[str]) -> bool:
    """Whether a range or slice begins at what derives from the rank, or a part is taken by it."""
    begins: list[Any] = []
    if isinstance(node, ast.Call):
        least = _BEGIN.get(_last(node.func), 0)
        begins = node.args[least - 2 : least - 1] if least and len(node.args) >= least else []
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        index = index_of(node)
        axes = getattr(index, "dims", None) or getattr(index, "elts", None) or [index]
        begins = [one.lower for one in axes if isinstance(one, ast.Slice)]
        if isinstance(node.value, ast.Call) and _last(node.value.func) in _PARTS:
            begins.append(index)
    return any(one is not None and _derives(ast, one, names) for one in begins)
