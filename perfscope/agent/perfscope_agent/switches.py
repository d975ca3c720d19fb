"""Which lines of the program switch on what slows everything that runs under it.

A mode costs time wherever it holds, and the line to change is another one: that of the call, of
the keyword or of the option, which the program's own files are searched for at the end, where such
a mode was on. Of a job with known ranks the first one searches: all run the same files.
"""

from __future__ import annotations

from . import metadata, recorder, roles, sources
from .kinds import Any

_MOST_PLACES = 8

_ANY, _NONE = "", "-"
_PROFILERS = ("cProfile", "profile")
_HOOKS = ("sys", "threading")
_CALLS = {
    "set_detect_anomaly": ("anomaly_mode", "mode", ()),
    "detect_anomaly": ("anomaly_mode", _NONE, ()),
    "use_deterministic_algorithms": ("deterministic", "mode", ()),
    "debug_nans": ("debug_nans", _ANY, ()),
    "disable_jit": ("disable_jit", "disable", ()),
    "run_functions_eagerly": ("functions_run_eagerly", "run_eagerly", ()),
    "setprofile": ("profile_function", _ANY, _HOOKS),
    "Profile": ("profile_function", _NONE, _PROFILERS),
    "run": ("profile_function", _NONE, _PROFILERS),
    "runctx": ("profile_function", _NONE, ()),
    "runcall": ("profile_function", _NONE, ()),
    "settrace": ("trace_function", _ANY, _HOOKS),
    "set_trace": ("trace_function", _NONE, ()),
    "start": ("tracemalloc_frames", _NONE, ("tracemalloc",)),
}
"""What is called: the mode's fact, the argument that tells whether it is on, and whose it must be.

That is the first one, or the one of that keyword; none of them tells where it is always on.
"""

_NAMED = {"run_eagerly": "run_eagerly", "detect_anomaly": "anomaly_mode"}
"""Keywords, defaults and attributes that set a mode, and its fact."""

_OPTIONS = {"jax_debug_nans": "debug_nans", "jax_disable_jit": "disable_jit"}
"""What is given to a function `update`, or set as an attribute."""


def note() -> bool:
    """At exit: the lines that set those of the modes that were on; whether any was looked for."""
    wanted = {fact for fact, _, _ in _CALLS.values()} | set(_NAMED.values())
    frameworks = metadata.facts.get("frameworks")
    told = list(frameworks.values()) if isinstance(frameworks, dict) else []
    wanted = {fact for fact in wanted if any(one.get(fact) for one in (metadata.facts, *told))}
    if not wanted or roles.rank_and_size()[0] > 0:
        return False
    found: dict[str, list[str]] = {}
    for file, text in sources.texts(_words(wanted)):
        for fact, function, line in _uses(text):
            places = found.setdefault(fact, []) if fact in wanted else None
            if places is not None and len(places) < _MOST_PLACES:
                places.append(recorder.place_text(function, file, line))
    metadata.facts["switches"] = found
    return True


def _words(wanted: set[str]) -> list[bytes]:
    """What a file has to hold to set one of the modes."""
    told = [*_NAMED.items(), *_OPTIONS.items()]
    for name, (fact, _, owners) in _CALLS.items():
        is_rare = not owners or owners == _HOOKS
        told += [(word, fact) for word in ((name,) if is_rare else owners)]
    return [word.encode() for word, fact in told if fact in wanted]


def _uses(text: bytes) -> list[tuple[str, str, int]]:
    """Fact, function and line of all that sets a mode in a file, as far as it can be read."""
    import ast  # only where a mode was on, and in the main thread

    tree = sources.tree(ast, text)
    if tree is None:
        return []
    nodes = list(sources.nodes(ast, tree))
    origins = _origins(ast, [node for _, node in nodes])
    found = [
        (fact, function, line)
        for function, node in nodes
        for fact, line in _set_by(ast, node, origins)
    ]
    return sorted(set(found), key=lambda one: one[2])


def _origins(ast: Any, nodes: list[Any]) -> dict[str, str]:
    """What the names that a file imports are called where they come from."""
    origins = {}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            within = getattr(node, "module", None)
            for one in node.names:
                if one.asname or within:
                    whole = "%s.%s" % (within, one.name) if within else one.name
                    origins[one.asname or one.name] = whole
    return origins


def _set_by(ast: Any, node: Any, origins: dict[str, str]) -> list[tuple[str, int]]:
    """The facts of the modes that a part of a tree switches on, and at which line."""
    named = {**_NAMED, **_OPTIONS}
    if isinstance(node, ast.Call):
        fact = _switched(ast, node, _called(ast, node.func, origins))
        line = getattr(node.func, "end_lineno", None) or node.lineno
        given = [(_NAMED.get(one.arg), one.value) for one in node.keywords]
        found = [(fact, line)] if fact else []
    elif isinstance(node, ast.arguments):
        places = [*getattr(node, "posonlyargs", ()), *node.args]
        defaults = [*zip(reversed(places), reversed(node.defaults))]
        defaults += zip(node.kwonlyargs, node.kw_defaults)
        # whatever else is a default, a call has to switch it on
        told = [(one, value) for one, value in defaults if value and _value(ast, value) is True]
        given, found = [(_NAMED.get(one.arg), value) for one, value in told], []
    elif isinstance(node, ast.Assign):
        names = [getattr(one, "attr", "") for one in node.targets]
        given, found = [(named.get(name), node.value) for name in names], []
    else:
        return []
    return found + [(one, value.lineno) for one, value in given if one and not _is_off(ast, value)]


def _called(ast: Any, function: Any, origins: dict[str, str]) -> list[str]:
    """The parts of the name of what is called, as its module calls it."""
    parts: list[str] = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    name = getattr(function, "id", "")
    return [*origins.get(name, name).split("."), *reversed(parts)]


def _switched(ast: Any, call: Any, whole: list[str]) -> str:
    """The fact of the mode that a call switches on; "" for none."""
    if whole[-1] == "update" and len(call.args) == 2:
        option = _OPTIONS.get(str(_value(ast, call.args[0])), "")
        return "" if _is_off(ast, call.args[1]) else option
    fact, keyword, owners = _CALLS.get(whole[-1], ("", _NONE, ()))
    if owners and (whole[0] not in owners or len(whole) < 2):
        return ""
    told = call.args[:1]
    told += [one.value for one in call.keywords if keyword in (_ANY, one.arg)][:1]
    is_off = keyword != _NONE and bool(told) and _is_off(ast, told[0])
    return "" if is_off else fact


def _is_off(ast: Any, node: Any) -> bool:
    """Whether a value is a constant that switches nothing on."""
    value = _value(ast, node)
    return value is not ... and not value


def _value(ast: Any, node: Any) -> Any:
    """The constant that a part of a tree is; an ellipsis for what is none."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...
