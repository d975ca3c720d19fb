"""The scopes of a program's files, and which function of the program a call in one means.

Nothing of them is run. A call means a function only where its text says so: by a name that the
scope or one around it defines or imports from a file of the program, or by an object of a class of
the program. Any other call may be one of a library, whatever it is called.
"""

from __future__ import annotations

from .kinds import Any, Iterator

_STATIC, _OF_CLASS = "staticmethod", "classmethod"


class Scope:
    """A function, a class or a file, and the names in it that derive from the rank."""

    def __init__(self, ast: Any, file: str, node: Any, around: Scope | None) -> None:
        self.file, self.node, self.around = file, node, around
        self.name: str = getattr(node, "name", "<lambda>" if around else "<module>")
        self.is_class = isinstance(node, ast.ClassDef)
        self.is_method = around is not None and around.is_class and hasattr(node, "args")
        self.called: str = self.name
        if around is not None and around.is_class:
            self.called = "%s.%s" % (around.called, self.name)
        self.nodes, self.inner = _nodes(ast, node)
        self.own = _bound(ast, node, self.nodes)
        self.imports = _imports(ast, self.nodes)
        self.within: list[Scope] = []
        self.named: dict[str, list[Scope]] = {}
        self.given: set[str] = set()  # parameters that are given it
        self.derived: set[str] = set()
        self.seen: set[str] = set()  # by the scopes in it
        if around is not None:
            around.within.append(self)
            around.named.setdefault(self.name, []).append(self)

    def defined(self, name: str) -> Scope | None:
        """The function or class that a name of its own means, whatever happens in it."""
        found = self.named.get(name, ())
        return found[0] if len(found) == 1 and name not in self.own else None

    def parameters(self) -> list[str]:
        """Those that take what a call gives by place."""
        given = self.node.args
        return [one.arg for one in [*getattr(given, "posonlyargs", ()), *given.args]]

    def has_decorator(self, name: str) -> bool:
        """Whether a decorator is that one, by the last part of its name."""
        return any(last(one) == name for one in getattr(self.node, "decorator_list", ()))


class Called:
    """A function that a call means."""

    def __init__(self, scope: Scope, *, skipped: int) -> None:
        self.scope = scope
        self.places = scope.parameters()[skipped:]
        self.names = [*self.places, *(one.arg for one in scope.node.args.kwonlyargs)]


class Program:
    """The files of a program, in which calls are looked up."""

    def __init__(self, ast: Any, scopes: list[Scope]) -> None:
        self._ast = ast
        self._files = [one for one in scopes if one.around is None]
        self._counts: dict[str, int] = {}
        for one in scopes:
            self._counts[one.name] = self._counts.get(one.name, 0) + 1

    def called(self, scope: Scope, node: Any) -> Called | None:
        """What an expression in a scope means as a function; None where that is not known."""
        if isinstance(node, self._ast.Name):
            return _as_function(self._meant(scope, node.id))
        if not isinstance(node, self._ast.Attribute):
            return None
        owner, is_object = self._owner(scope, node.value)
        found = owner.defined(node.attr) if owner is not None else None
        if found is None or not found.is_method:
            return _as_function(found)
        if is_object and self._counts[found.name] > 1:
            return None  # the object may be one of a class that has another
        is_bound = is_object and not found.has_decorator(_STATIC)
        return Called(found, skipped=int(is_bound or found.has_decorator(_OF_CLASS)))

    def imported(self, scope: Scope, name: str) -> tuple[str, str]:
        """The module and the name there of what a scope imports; empty where it imports no such."""
        around: Scope | None = scope
        while around is not None:
            if name in around.imports:
                return around.imports[name]
            around = around.around
        return "", ""

    def _meant(self, scope: Scope, name: str) -> Scope | None:
        """The function, class or file that a name means."""
        around = _binder(scope, name)
        if around is None:
            return None
        if name not in around.imports:
            return around.defined(name)
        module, attribute = around.imports[name]
        if name in around.named or name in around.own:
            return None
        file = self._file(module)
        found = file.defined(attribute) if file is not None and attribute else file
        return found or (self._file("%s.%s" % (module, attribute)) if attribute else None)

    def _file(self, module: str) -> Scope | None:
        path = "/" + module.strip(".").replace(".", "/")
        ends = (path + ".py", path + "/__init__.py")
        found = [one for one in self._files if ("/" + one.file).endswith(ends)]
        return found[0] if len(found) == 1 else None

    def _owner(self, scope: Scope, node: Any) -> tuple[Scope | None, bool]:
        """The file or class in which an attribute is looked up, and whether of an object of it."""
        if isinstance(node, self._ast.Call):
            return self._made(scope, node), True
        if not isinstance(node, self._ast.Name):
            return None, False
        around = _binder(scope, node.id)
        if around is None or node.id not in around.own:
            return self._meant(scope, node.id), False
        sets = [one for one in around.nodes if _is_set(self._ast, one, node.id)]
        if node.id not in _given(self._ast, around.node):
            values = [one.value for one in around.nodes if _is_single(self._ast, one, node.id)]
            is_one = len(sets) == len(values) == 1
            return (self._made(around, values[0]) if is_one else None), True
        is_self = around.is_method and around.parameters()[:1] == [node.id] and not sets
        if not is_self or around.has_decorator(_STATIC):
            return None, False
        return around.around, not around.has_decorator(_OF_CLASS)

    def _made(self, scope: Scope, node: Any) -> Scope | None:
        """The class of the program of which a call makes an object."""
        function = getattr(node, "func", None)
        if not isinstance(function, self._ast.Name):
            return None
        found = self._meant(scope, function.id)
        return found if found is not None and found.is_class else None


def of_file(ast: Any, file: str, tree: Any) -> Iterator[Scope]:
    """Those of a file, each behind the one around it."""
    left: list[tuple[Any, Scope | None]] = [(tree, None)]
    while left:
        node, around = left.pop()
        scope = Scope(ast, file, node, around)
        yield scope
        left += [(one, scope) for one in scope.inner]


def last(node: Any) -> str:
    """The last part of a name; "" of what is none."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _as_function(scope: Scope | None) -> Called | None:
    """Of a class it is the one that makes its objects."""
    if scope is not None and scope.is_class:
        maker = scope.defined("__init__")
        return Called(maker, skipped=1) if maker is not None and maker.is_method else None
    is_function = scope is not None and hasattr(scope.node, "args")
    return Called(scope, skipped=0) if scope is not None and is_function else None


def _binder(scope: Scope, name: str) -> Scope | None:
    """The scope whose name it is; what a class names, its methods do not see."""
    around: Scope | None = scope
    while around is not None:
        is_seen = around is scope or not around.is_class
        is_named = name in around.own or name in around.imports
        if is_seen and (is_named or name in around.named):
            return around
        around = around.around
    return None


def _given(ast: Any, node: Any) -> set[str]:
    """All parameters of a function."""
    given = getattr(node, "args", None)
    return {one.arg for one in ast.walk(given) if isinstance(one, ast.arg)} if given else set()


def _is_set(ast: Any, node: Any, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _is_single(ast: Any, node: Any, name: str) -> bool:
    """Whether a statement gives a value to that variable alone."""
    is_one = isinstance(node, ast.Assign) and len(node.targets) == 1
    return is_one and _is_set(ast, node.targets[0], name)


def _imports(ast: Any, nodes: list[Any]) -> dict[str, tuple[str, str]]:
    """Names that a scope imports, with the module and the name there, "" of a module."""
    found: dict[str, tuple[str, str]] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found.update((one.asname or one.name, (module, one.name)) for one in node.names)
        elif isinstance(node, ast.Import):
            plain = [one for one in node.names if one.asname or "." not in one.name]
            found.update((one.asname or one.name, (one.name, "")) for one in plain)
    return found


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
    found = _given(ast, scope)
    names = [one for one in nodes if isinstance(one, ast.Name)]
    found.update(one.id for one in names if not isinstance(one.ctx, ast.Load))
    shared = [one for one in nodes if isinstance(one, (ast.Global, ast.Nonlocal))]
    return found - {name for one in shared for name in one.names}
