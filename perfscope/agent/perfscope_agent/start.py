"""Starts and ends the agent in one process."""

from __future__ import annotations

import os
import sys
import time

from . import afterwards, metadata, notes, recorder, roles
from .kinds import Any, Callable

_MAX_RECORDED_FORKS = 64

_is_started = False
_pid = 0
_role = ""
_is_numbered = False
"""Whether a launcher told this process, or the one it was forked from, its number."""

_is_forked = False
_is_finished = False
_fork_count = 0
_arguments: list[str] = []
_stacks: Any = None
"""What samples stacks; a process that records nothing does not load it."""

_of_parent: list[object] = []
"""What a forked child has of its parent's and must not free."""

_in_child: dict[str, Callable[[], None]] = {}
"""What else a forked child does at its start."""


def start(begin_ns: int) -> None:
    """Starts the agent once in this process, as far as its role asks for; does not raise.

    `begin_ns` is the CPU time that the process had taken before any of the agent was loaded.
    """
    global _is_started
    if _is_started:
        return
    _is_started = True
    try:
        _start(roles.command_line(), begin_ns)
    except Exception as error:
        notes.failure("agent not started", error)
        _try("metadata", metadata.write)


def _start(arguments: list[str], begin_ns: int) -> None:
    global _pid, _role, _is_numbered
    _pid = os.getpid()
    _arguments[:] = arguments
    _is_numbered = bool(roles.signature())
    # The marker must be read before `decide` writes this process's own.
    descends_from_python = roles.owner() is not None
    _role, owner_pid = roles.decide(arguments)
    if roles.is_launcher(arguments):
        metadata.begin(_role, owner_pid, arguments)
        return
    _register_fork()
    if _role == roles.Role.WORKER:
        workers = _load_for_workers()
        spent_ns = time.thread_time_ns() - begin_ns
        metadata.begin(_role, owner_pid, arguments, start_cpu_ns=spent_ns)
        _let_spy(starts=False)
        _await_mpi()
        if workers is not None and not roles.only_serves(arguments):
            workers.start()
        return
    _start_recording(is_lazy=_role == roles.Role.UNRANKED and descends_from_python)


def _start_recording(is_lazy: bool) -> None:
    """Opens the records and starts everything that writes them."""
    global _stacks
    import atexit

    from . import (  # noqa: F401 - what threads use is loaded before them
        garbage,
        loops,
        operands,
        placement,
        python_objects,
        read_files,
        stacks,
        told_of,
        topology,
        turns,
        workers,
    )
    from .frameworks import install

    _stacks, _in_child["collections"] = stacks, garbage.forget
    if "PERFSCOPE_STEPS" in os.environ or "PERFSCOPE_STOP_AFTER" in os.environ:
        from . import window

        recorder.on_open = window.begin
    if recorder.load(*roles.rank_and_size()):
        _prepare_workers(workers)
        if not is_lazy:
            recorder.activate()
    metadata.begin(_role, None, _arguments)
    atexit.register(_finish)
    if recorder.can_record():
        install()
        _start_details(is_lazy)
        stacks.start(  # a failure there must not end the sampler thread
            lambda: _try("after the start", _after_start),
            lambda busy: _try("placement", lambda: _later(busy)),
        )


def _load_for_workers() -> Any:
    """What samples this process and those that it forks, loaded if anything is to be sampled."""
    global _stacks
    from .pace import requested_hz

    if requested_hz() <= 0 or not recorder.load(-1, -1):
        return None
    from . import stacks, workers

    _stacks = stacks
    _prepare_workers(workers)
    recorder.deactivate()
    return workers


def _prepare_workers(workers: Any) -> None:
    """Has what is forked from here sampled, if it lives for a moment."""
    workers.prepare(recorder.functions(), _finish)
    _in_child["samples"] = lambda: workers.start_in_child(_fork_count < _MAX_RECORDED_FORKS)


def _start_details(is_lazy: bool) -> None:
    """Starts what is recorded on request only; nothing of it is loaded without."""
    _let_spy(starts=not is_lazy)
    if "PERFSCOPE_MEMORY_DETAIL" in os.environ and not is_lazy:
        from . import memory_detail

        _in_child["memory detail"] = memory_detail.forget
        _try("memory detail", memory_detail.start)


def _let_spy(*, starts: bool) -> None:
    """Lets py-spy look at this process and those forked from it, and starts it where it is to."""
    if "PERFSCOPE_STACKS_HZ" in os.environ:
        from . import spy

        _in_child["py-spy"] = spy.permit
        _try("py-spy", spy.start if starts else spy.permit)


def _after_start() -> None:
    """What can wait until the program runs: a short-lived process never pays for it."""
    from . import garbage, operands, python_objects, read_files, stacks, told_of, topology, turns

    rec = recorder.activate()
    if rec is not None:
        garbage.start(rec)
        operands.start(rec)
        turns.start(rec)
        read_files.start()
        looks = (garbage.tick, read_files.look, operands.look, turns.look, told_of.look)
        stacks.with_each_sample += [lambda: python_objects.sample(rec), *looks]
    found = topology.topology()
    metadata.facts["topology"] = found
    metadata.collect_versions()
    if found["numa"]:
        _watch_numa(found["numa"])
    metadata.write()


def _watch_numa(nodes: dict[str, str]) -> None:
    """Has the main thread watched where the process may run on several NUMA nodes."""
    from . import placement, stacks

    if placement.begin(nodes):
        stacks.with_each_sample.append(lambda: _try("NUMA node", placement.watch))


def _later(busy: Any) -> None:
    """What is noted at exit, once before: a program that is killed has none.

    Looking at memory and mounts may take long, and a fork must not wait for it.
    """
    from . import placement

    placement.note()
    with busy:
        _note_code()
        metadata.write()


def _note_code() -> None:
    """What lines work on and which go round together, what files are read, and the forks."""
    from . import loops, operands, read_files, turns

    _try("operands", lambda: metadata.facts.update(operands=operands.told()))
    _try("loops", lambda: metadata.facts.update(loops=loops.told()))
    _try("turns of loops", lambda: metadata.facts.update(loop_turns=turns.told()))
    _try("files that are read", lambda: metadata.facts.update(read_files=read_files.told()))
    metadata.facts["forks"] = _fork_count


def _note_placement() -> None:
    """Where memory, workers and files are."""
    from . import placement

    placement.note()


def _await_mpi() -> None:
    """Lets a worker that turns out to be an MPI process, or to train itself, record as a rank."""
    from . import hooks

    hooks.on_import("mpi4py.MPI", _promote)
    if not _is_numbered:
        from .frameworks import await_joining

        recorder.becomes_rank = _promote_to
        await_joining()


def _promote_to(rank: int, size: int) -> None:
    """Records a worker as a rank that initialized a process group or computes gradients itself."""
    # Its main thread is the one whose stacks, steps and waits are those of a rank.
    if _role == roles.Role.WORKER and recorder.native_thread_id() == os.getpid():
        recorder.becomes_rank = None
        _try("worker that becomes a rank", lambda: _become_rank(rank, size))


def _become_rank(rank: int, size: int) -> None:
    from . import workers

    workers.leave()
    if not recorder.load(rank, size):
        return
    if _is_forked:
        _forget_parent()
    done = "joined a job of several processes" if rank >= 0 else "trains a model itself"
    _record_as_rank("another Python started it: it " + done)
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # Its forked processes end without what is registered with atexit.
        util.Finalize(None, _finish, exitpriority=-100)


def _forget_parent() -> None:
    """Has all of the agent drop what it has seen of the parent, and numbered for its files."""
    for name, module in list(sys.modules.items()):
        if name.startswith("%s." % __package__) and hasattr(module, "forget"):
            module.forget()


def _promote(module: Any) -> None:
    """Records a worker that initialized MPI as a rank: a wrapper started the real program."""
    if _role != roles.Role.WORKER or not recorder.load(-1, -1):
        return
    from . import workers

    if not recorder.is_open() or (workers.is_recorded() and not module.Is_initialized()):
        recorder.deactivate()
        return
    workers.leave()
    _record_as_rank("another Python of the same rank started it: it initialized MPI")


def _record_as_rank(although: str) -> None:
    global _role
    _role = roles.Role.RANK
    notes.add("recorded although " + although)
    _start_recording(is_lazy=False)


def _register_fork() -> None:
    held = []

    def before() -> None:
        # A fork must not catch the sampler thread inside the recorder or an import.
        sampler = _stacks.sampler if _stacks is not None else None
        if sampler is not None and sampler.busy.acquire(True, 0.2):
            held.append(sampler.busy)

    def in_parent() -> None:
        global _fork_count
        _fork_count += 1
        while held:
            held.pop().release()

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=_become_child)


def _become_child() -> None:
    """Makes a forked child a worker that touches nothing of its parent's recording.

    Most children live for a moment, and each page that is written in one is copied first. So what
    is known of the parent stays where it is, unfreed, until the child turns out to be a rank.
    """
    global _pid, _role, _is_forked
    try:
        begin_ns = time.thread_time_ns()
        owner_pid, _pid = _pid, os.getpid()
        _role, _is_forked = roles.Role.WORKER, True
        recorder.becomes_rank = None if _is_numbered else _promote_to
        metadata.leave()
        if _stacks is not None:
            _leave_recording()
        for name, action in _in_child.items():
            _try(name, action)
        if _fork_count < _MAX_RECORDED_FORKS:
            spent_ns = time.thread_time_ns() - begin_ns
            metadata.forget()
            metadata.begin(_role, owner_pid, _arguments, fork_cpu_ns=spent_ns)
    except Exception as error:
        notes.failure("forked child", error)


def _leave_recording() -> None:
    """Leaves what the parent records with, and who looks at it, to the parent."""
    _of_parent[:] = (recorder.functions(), _stacks.sampler)
    _stacks.sampler = None
    recorder.deactivate()


def _finish() -> None:
    """At exit, after the program's own handlers: closes what is open, writes the last metadata."""
    global _is_finished
    if _is_finished or os.getpid() != _pid:
        return
    if _role == roles.Role.WORKER:
        from . import workers

        _try("samples of a worker", workers.finish)
        return
    _is_finished = True
    from . import stacks
    from .frameworks import finish

    stacks.stop()
    for name, action in (
        ("details", _finish_details),
        ("frameworks", finish),
        ("open step", _close_step),
        ("exception", _note_exception),
        ("statistics", _note_statistics),
        ("end of the program", _note_end),
        ("placement", _note_placement),
        ("metadata", metadata.write),
        ("afterwards", afterwards.finish),
    ):
        _try(name, action)


def _finish_details() -> None:
    for name in ("memory_detail", "spy"):
        module = sys.modules.get("%s.%s" % (__package__, name))
        if module is not None:
            module.finish()


def _note_end() -> None:
    """The program's own work is over; what kills the process now does so in its teardown."""
    metadata.facts["program_end_ns"] = recorder.current and recorder.current.now()


def _close_step() -> None:
    # A program that never used the marker has not loaded it.
    marker = sys.modules.get(__package__ + ".marker")
    if marker is not None:
        marker.close_step()


def _note_exception() -> None:
    if getattr(sys, "last_value", None) is None:
        return
    from . import exceptions

    metadata.facts["exception"] = exceptions.last_exception()


def _note_statistics() -> None:
    from . import caches, garbage, received, stacks, told_of

    _note_code()
    metadata.facts["caches"] = caches.told()
    metadata.collect_versions()
    metadata.facts["garbage_collector"] = garbage.finish()
    told_of.note(recorder.current)
    received.note(recorder.current)
    metadata.facts["stack_sampler"] = dict(stacks.statistics)
    steps = sys.modules.get(__package__ + ".steps")
    metadata.facts["step_source"] = steps.source if steps is not None else None


def _try(name: str, action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as error:
        notes.failure(name, error)
