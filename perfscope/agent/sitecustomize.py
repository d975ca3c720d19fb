"""Starts the recording agent in a Python process of a recorded job, then steps aside.

Python imports this module at start-up because its directory comes first in PYTHONPATH. The user's
own `sitecustomize`, the next one on `sys.path`, runs as if this one did not exist.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_LARGEST = 1 << 16
"""Bytes of the code of one module that are read at once."""


def _is_main_interpreter() -> bool:
    """Whether this is not one of the further interpreters that a process may make.

    Python sets up each of them as a process of its own, and so calls this. What watches a process
    may be there once only.
    """
    signal = sys.modules.get("_signal") or __import__("_signal")
    try:
        # Python refuses it to others; at its start nobody has set one yet.
        signal.set_wakeup_fd(-1)
    except ValueError:
        return False
    return True


def _may_files_be_cut() -> bool:
    """Whether a limit ends files early: Python would keep half a module, which loads nowhere."""
    try:
        import resource
    except ImportError:
        return False
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY


class _Kept:
    """Finds the agent's modules by the code that Python keeps of them, and loads it.

    Python's own way asks each finder and each place of the path for each module, which was half of
    what starting the agent takes. It stays the way of all that is not kept as is usual.
    """

    def __init__(self) -> None:
        self._codes = {}  # type: dict[str, CodeType]

    def find_spec(self, name: str, path: object = None, target: object = None) -> "Any":
        """How a module of the agent is loaded; None where Python has to see to that."""
        if name.partition(".")[0] != "perfscope_agent":
            return None
        base = "%s/%s" % (_HERE, name.replace(".", "/"))
        code, place = _kept_code(base), None
        if code is None:
            code, place = _kept_code(base + "/__init__"), base
        if code is None:
            return None
        self._codes[name] = code
        spec = sys.modules["_frozen_importlib"].ModuleSpec(name, self, origin=code.co_filename)
        spec.submodule_search_locations = [place] if place else None
        return spec

    def create_module(self, spec: object) -> None:
        """Has Python make the module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Runs a module that was found."""
        code = self._codes.pop(module.__name__)
        module.__file__ = code.co_filename
        sys.modules["_frozen_importlib"]._call_with_frames_removed(exec, code, module.__dict__)


def _kept_code(base: str) -> "CodeType | None":
    """What Python keeps of a source, if that is as it was."""
    import marshal

    source, (directory, _, name) = base + ".py", base.rpartition("/")
    tag = sys.implementation.cache_tag
    try:
        status = os.stat(source)
        kept = os.open("%s/__pycache__/%s.%s.pyc" % (directory, name, tag), os.O_RDONLY)
        try:
            data = os.read(kept, _LARGEST)
        finally:
            os.close(kept)
        numbers = (0, int(status.st_mtime), status.st_size)
        begin = b"".join([(n & 0xFFFFFFFF).to_bytes(4, "little") for n in numbers])
        if data[:16] != sys.modules["_frozen_importlib_external"].MAGIC_NUMBER + begin:
            return None
        code = marshal.loads(data[16:])  # type: CodeType
        sys.modules["_imp"]._fix_co_filename(code, source)
        return code
    except (OSError, ValueError, EOFError, TypeError):
        return None


def _is_kept_as_usual() -> bool:
    """Whether Python keeps code beside its source, and with all of its statements in it."""
    return not sys.flags.optimize and getattr(sys, "pycache_prefix", None) is None


def _load_all() -> None:
    """Loads what the agent would load later, when Python keeps what it compiles again."""
    import pkgutil

    for module in pkgutil.walk_packages(
        sys.modules["perfscope_agent"].__path__, "perfscope_agent."
    ):
        __import__(module.name)


def _start_agent() -> None:
    """Starts the agent; whatever goes wrong stays here, the job must not notice."""
    of_user = sys.dont_write_bytecode
    finders = [_Kept()] if _is_kept_as_usual() else []  # type: list[Any]
    try:
        if not _is_main_interpreter():
            return
        if _HERE not in sys.path:
            sys.path.insert(0, _HERE)
        may_be_cut = not of_user and _may_files_be_cut()
        sys.dont_write_bytecode = of_user or may_be_cut
        sys.meta_path[:0] = finders
        __import__("perfscope_agent.start").start.start()
        if may_be_cut:
            _load_all()
    except Exception:
        # There is no place yet to note it: the job runs without the agent.
        return
    finally:
        sys.dont_write_bytecode = of_user
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in finders]


def _run_next_sitecustomize() -> None:
    """Runs the user's own sitecustomize; raises what importing it raises."""
    others = [p for p in sys.path if os.path.abspath(p or os.getcwd()) != _HERE]
    # The frozen modules behind `importlib`: importing the package would take a millisecond.
    finder = sys.modules["_frozen_importlib_external"].PathFinder
    spec = finder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        # `site` passes over exactly this error, so the process looks as if it had no sitecustomize.
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
    module = sys.modules["_frozen_importlib"].module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("PERFSCOPE_DIR"):
    _start_agent()
_run_next_sitecustomize()
