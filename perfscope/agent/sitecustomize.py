"""Starts the recording agent in a Python process of a recorded job, then steps aside.

Python imports this module at start-up because its directory comes first in PYTHONPATH. The user's
own `sitecustomize`, the next one on `sys.path`, runs as if this one did not exist.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


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
    finder = None
    begin_ns = (sys.modules.get("time") or __import__("time")).thread_time_ns()
    try:
        if not _is_main_interpreter():
            return
        if _HERE not in sys.path:
            sys.path.insert(0, _HERE)
        may_be_cut = not of_user and _may_files_be_cut()
        sys.dont_write_bytecode = of_user or may_be_cut
        if _is_kept_as_usual():
            finder = __import__("perfscope_agent.kept").kept.Kept(_HERE)
            sys.meta_path.insert(0, finder)
        __import__("perfscope_agent.start").start.start(begin_ns)
        if may_be_cut:
            _load_all()
    except Exception:
        # There is no place yet to note it: the job runs without the agent.
        return
    finally:
        sys.dont_write_bytecode = of_user
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


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
