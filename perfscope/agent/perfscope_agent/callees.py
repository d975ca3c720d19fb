"""What the line of a frame is calling, where that is no Python code: `gc.collect`, `file.write`.

A C function has no frame. What a line calls is told by its bytecode, and what the names there
stand for by the frame's globals and the kinds of its variables. No code of the program runs for
that: only dictionaries of modules and classes are read, and getters of Python's own kinds called.
"""

from __future__ import annotations

import sys

from . import bytecode, files, recorder, unnamed
from .bytecode import CONSTANT, GLOBAL, LOCAL, Expression
from .kinds import Any, Callable, CodeType, FrameType, Mapping

FILE = "<built-in>"
"""The file of frames that stand for what has none."""

UNTOLD = "?"
"""What a call or an operator is named of which nothing tells what it works on."""

_MOST_KNOWN = 20000
_Function = type(lambda: None)
_Method = type(bytecode.Expression(("", None), ()).values)
_Builtin = type(len)
_Module = type(sys)
_mro: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_members: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__
_module: Callable[[type], object] = type.__dict__["__module__"].__get__
_qualname: Callable[[type], object] = type.__dict__["__qualname__"].__get__
_contents: Callable[[Any], dict[str, Any]] = _members(_Module)["__dict__"].__get__
_own_self: Callable[[Any], Any] = _members(_Builtin)["__self__"].__get__
_bound: Callable[[Any], Any] = _members(_Method)["__func__"].__get__
_own_name: Callable[[Any], object] = _members(_Builtin)["__name__"].__get__
_MISSING = object()
_ALIASES = {"posix": "os", "nt": "os", "_io": "io"}

_known: dict[tuple[int, int], str] = {}
_kept: dict[int, CodeType] = {}
"""By the identity of their code, which is kept for that: its hash looks at all that it holds."""
_modules: dict[str, str] = {}
"""The names of the modules that were loaded when they were gone through last, by their files."""
_modules_seen = 0
_reads_variables: bool | None = None


def called(frame: FrameType) -> str:
    """What a frame is calling, as `module.function`, `module.Class.method` or `.method`.

    Empty where it calls nothing or Python code, `?` where it cannot be told what it calls.
    """
    code, last = frame.f_code, frame.f_lasti
    found = known(code, last)
    if found is None:
        found = _called(frame) if bytecode.is_known() else ""
        _keep(code, last, found)
    return found


def called_before(code: CodeType, last: int, frame: FrameType | None) -> str:
    """The same of a frame that was at this instruction a moment ago, by what is there now.

    `frame` is the innermost one of its thread now.
    """
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    place = _Place(code, last, frame)
    found = _called(place)
    if not place.is_missed:
        _keep(code, last, found)
    return found


class _Place:
    """A frame that may be over; one of the same code stands in for it, where there is one."""

    def __init__(self, code: CodeType, last: int, frame: FrameType | None) -> None:
        self.f_code = code
        self.f_lasti = last
        self.frame = frame
        self.is_missed = False

    @property
    def f_globals(self) -> dict[str, Any]:
        """The variables of the module that the code is from, none where that is not to be found."""
        if self.frame is not None:
            return self.frame.f_globals
        found = variables_of(self.f_code.co_filename)
        self.is_missed = self.is_missed or found is None
        return found or {}

    @property
    def f_builtins(self) -> dict[str, Any]:
        """The functions that every module has."""
        return _contents(sys.modules["builtins"])


def variables_of(file: str) -> dict[str, Any] | None:
    """The variables of the module that is loaded from a file, None where there is none."""
    global _modules_seen
    found = _of_module("__main__", file) or _of_module(_modules.get(file, ""), file)
    if found is None and len(sys.modules) != _modules_seen:
        # Programs have thousands: they are gone through when others have come.
        loaded = list(sys.modules.items())
        _modules_seen = len(loaded)
        _modules.clear()
        for name, module in reversed(loaded):
            path = _contents(module).get("__file__") if _is_module(module) else None
            if type(path) is str:
                _modules[path] = name
        found = _of_module(_modules.get(file, ""), file)
    return found


def _of_module(name: str, file: str) -> dict[str, Any] | None:
    """The variables of a module, None where it is not loaded, or from another file."""
    module = sys.modules.get(name)
    contents = _contents(module) if _is_module(module) else {}
    path = contents.get("__file__")
    # A comparison of anything else might be the program's own code.
    return contents if type(path) is str and path == file else None


def _is_module(value: Any) -> bool:
    return issubclass(type(value), _Module)


def known(code: CodeType, last: int) -> str | None:
    """What an instruction calls, if that has been looked up."""
    return _known.get((id(code), last))


def _keep(code: CodeType, last: int, found: str) -> None:
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
        _kept.clear()
    _kept[id(code)] = code
    _known[id(code), last] = found


def _called(frame: FrameType | _Place) -> str:
    try:
        expression = bytecode.called(frame.f_code, frame.f_lasti)
        if expression is not None:
            return (_iterated if expression.is_iterated else _name)(frame, expression)
        return UNTOLD if bytecode.works(frame.f_code, frame.f_lasti) else ""
    except Exception:  # what is unusual about this frame must not end the sampling
        return ""


def _name(frame: FrameType | _Place, expression: Expression) -> str:
    if expression.operands:
        return _operator(frame, expression)
    found = _of_root(frame, expression)
    attributes = expression.attributes
    if expression.root[0] in (GLOBAL, LOCAL) and len(attributes) > 1 and found.startswith("."):
        holder = _type_behind(frame, (expression.root[1], *attributes[:-1]))
        if holder is not None and not issubclass(holder, _Module):
            return _of_type(holder, attributes[-1:])
    return found


def _of_root(frame: FrameType | _Place, expression: Expression) -> str:
    """The name as far as the kind of the root tells it; `.name` where that lies further behind."""
    kind, root = expression.root
    attributes = expression.attributes
    if kind == GLOBAL:
        value = _global(frame, str(root))
        if value is not _MISSING:
            return _followed(value, attributes)
    elif kind == CONSTANT and attributes:
        return _of_type(type(root), attributes)
    elif kind == LOCAL and attributes:
        found = _type_of_variable(frame, root)
        if found is not None:
            return _of_type(found, attributes)
    return "." + attributes[-1] if attributes else UNTOLD


def _iterated(frame: FrameType | _Place, expression: Expression) -> str:
    """What is asked for items: the kind of a variable, or the function that made it.

    An iterator does not tell what it asks in turn, nor does a function of the program.
    """
    kind, root = expression.root
    if kind == LOCAL and not expression.attributes:
        found = _type_of_variable(frame, root)
        is_told = found is not None and _member(found, "__next__") is None
        return _of_class(found) if found is not None and is_told else UNTOLD
    value = _global(frame, str(root)) if kind == GLOBAL else _MISSING
    for attribute in expression.attributes:
        value = _contents(value).get(attribute, _MISSING) if _is_module(value) else _MISSING
    if type(value) is _Function:
        module = _text(value.__module__)
        return UNTOLD if _is_program_module(module) else _qualified(module, value.__name__)
    return _name(frame, expression) or UNTOLD


def _global(frame: FrameType | _Place, name: str) -> Any:
    found = dict.get(frame.f_globals, name, _MISSING)
    return dict.get(frame.f_builtins, name, _MISSING) if found is _MISSING else found


def _followed(value: Any, attributes: tuple[str, ...]) -> str:
    """The name of what attributes lead to from a value."""
    owner = ""
    for place, attribute in enumerate(attributes):
        kind = type(value)
        if not _is_module(value):
            rest = attributes[place:]
            return _of_type(value if issubclass(kind, type) else kind, rest)
        contents = _contents(value)
        owner = _text(contents.get("__name__"))
        value = contents.get(attribute, _MISSING)
        if value is _MISSING:
            return "%s.%s" % (owner, ".".join(attributes[place:]))
    return _of_value(value, owner, attributes[-1] if attributes else "")


def _of_value(value: Any, owner: str, name: str) -> str:
    """The name of a called object that stands in a module, or in the frame's globals."""
    value = _replaced(value)
    kind = type(value)
    if kind is _Method:  # Cython binds its functions so, too
        value = _bound(value)
        kind = type(value)
    if kind is _Function:
        return ""
    if kind is _Builtin:
        return _of_builtin(value, owner)
    if issubclass(kind, type):
        return "" if _is_programs(value) else _of_class(value)
    call = _member(kind, "__call__")
    if call is None or _is_python(call[1]) or _is_programs(kind):
        return ""
    is_library = bool(owner) and not _is_program_module(owner)
    return "%s.%s" % (owner, name) if is_library else _of_class(kind)


def _of_builtin(value: Any, owner: str) -> str:
    name, bound = _text(_own_name(value)), _own_self(value)
    if _is_module(bound):
        return _qualified(_text(_contents(bound).get("__name__")), name)
    if bound is None or (owner and not _is_program_module(owner)):
        return _qualified(owner, name)
    kind = bound if issubclass(type(bound), type) else type(bound)
    return _of_type(kind, (name,))


def _of_type(kind: type, attributes: tuple[str, ...]) -> str:
    """The name of a method of a class; what lies behind further attributes is not known."""
    name = attributes[-1]
    found = _member(kind, name) if len(attributes) == 1 else None
    if found is None:
        return "." + name
    if _is_python(found[1]):
        return ""
    return "%s.%s" % (_of_class(found[0]), name)


def _operator(frame: FrameType | _Place, expression: Expression) -> str:
    """The kind of value that an operator works on, if it is one of a library."""
    told = UNTOLD
    for kind, root in expression.values():
        found = None
        if kind == LOCAL:
            found = _type_of_variable(frame, root)
        elif kind == GLOBAL:
            value = _global(frame, str(root))
            found = None if value is _MISSING else type(value)
        if found is None or issubclass(found, _Module):
            continue
        told = ""
        if not _is_programs(found):
            name = _of_class(found)
            if not name.startswith("builtins."):
                return name + ".operator"
    return told


def _member(kind: type, name: str) -> tuple[type, Any] | None:
    """The class that defines an attribute of a class, and what it is there."""
    for base in _mro(kind):
        found = _members(base).get(name, _MISSING)
        if found is not _MISSING:
            return base, found
    return None


def _replaced(value: Any) -> Any:
    """What a function of the agent stands for, whose own frames no stack shows."""
    while type(value) is _Function and value.__code__.co_filename.startswith(files.AGENT):
        behind = value.__dict__.get("__wrapped__")
        if behind is None:
            break
        value = behind
    return value


def _is_python(member: Any) -> bool:
    """Whether what a class has under a name is Python code, which has frames of its own."""
    return type(_replaced(member)) in (_Function, property, staticmethod, classmethod)


def _of_class(kind: type) -> str:
    module, name = _text(_module(kind)), _text(_qualname(kind))
    module = unnamed.module_of(kind, name) if module == "builtins" else module
    return _qualified(module, name)


def _qualified(module: str, name: str) -> str:
    module = _ALIASES.get(module, module)
    return "%s.%s" % (module, name) if module else name


def _text(value: object) -> str:
    return value if type(value) is str else ""


def _is_programs(kind: type) -> bool:
    return _is_program_module(_text(_module(kind)))


def _is_program_module(name: str) -> bool:
    """Whether a module is one of the program itself."""
    module = dict.get(sys.modules, name)
    if name == "__main__" or module is None or not issubclass(type(module), _Module):
        return name == "__main__"
    file = _text(_contents(module).get("__file__"))
    return bool(file) and files.is_program(file)


def _type_of_variable(frame: FrameType | _Place, place: Any) -> type | None:
    """The kind of a variable of a frame; `f_locals` would copy all of them and keep them alive."""
    if isinstance(frame, _Place):
        found = None if frame.frame is None else _type_of_variable(frame.frame, place)
        frame.is_missed = frame.is_missed or found is None
        return found
    rec = recorder.current
    return None if rec is None or variables_at(rec) is None else _read(rec, frame, place)


def _type_behind(frame: FrameType | _Place, path: tuple[object, ...]) -> type | None:
    """The kind of what objects keep behind a variable, as in `self.log.file`; None unknown.

    The recorder follows the attributes, which runs no code of the program.
    """
    if isinstance(frame, _Place):
        found = None if frame.frame is None else _type_behind(frame.frame, path)
        frame.is_missed = frame.is_missed or found is None
        return found
    rec = recorder.current
    offsets = None if rec is None else variables_at(rec)
    if rec is None or offsets is None or not rec.can_look_at_operands():
        return None
    asked = ((frame.f_code, frame.f_lasti, (path,)),)
    for _, answers in rec.operands(asked, (), (), 0, *offsets):
        for answer in answers:
            if answer and answer[0] == len(path):
                kind: type = answer[3]
                return kind
    return None


def variables_at(rec: recorder.Recorder) -> tuple[int, int] | None:
    """Where a frame has its variables: behind what the pointer there points to, at an offset.

    The first number is 0 where they are in the frame itself; None where that cannot be known.
    """
    global _reads_variables
    if _reads_variables is None:
        _reads_variables = _has_known_layout() and _can_read(rec)
    return _layout() if _reads_variables else None


def _layout() -> tuple[int, int]:
    if sys.version_info >= (3, 11):
        return 24, 72
    else:  # noqa: RET505 - what follows instead would be no code to mypy
        return 0, type(sys._getframe()).__basicsize__ - 8


def _has_known_layout() -> bool:
    """Whether this Python is built as usual: neither for debugging nor without its lock."""
    return not getattr(sys, "abiflags", "?") and object.__basicsize__ == 16


def _can_read(rec: recorder.Recorder) -> bool:
    """Whether the kinds of two known variables are read right, in a frame of this function."""
    frame, number, data = sys._getframe(), 1j, b""
    return (_read(rec, frame, 2), _read(rec, frame, 3)) == (type(number), type(data))


def _read(rec: recorder.Recorder, frame: FrameType, place: int) -> type | None:
    inner, start = _layout()
    kind = rec.type_of_variable(id(frame), inner, start + 8 * place, id(None))
    return kind if issubclass(type(kind), type) else None
