"""What a look sees: the stacks that the main thread has noted, and those of other threads."""

from __future__ import annotations

import sys

from . import awaited, blocked, busy_threads, callees, files, noted, recorder
from . import notes as agent_notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Iterator, List, Optional, Tuple

    Place = Tuple[CodeType, int]
    Moments = Tuple[int, int, int]
    Look = Tuple[int, List[Place], str, Optional[str], Moments]
    """Kernel thread id, places, callee, what the kernel says of it (None: not asked), and moments.

    The moments are when it came, when it was due, and since when the thread has stood there.
    """

    Asked = Tuple[int, List[Place], str, str, Moments]
    """The same once the kernel was asked."""

MAX_WALK = 1000


def seen(
    rec: recorder.Recorder,
    notes: list[noted.Note],
    dues_ns: tuple[int, int],
    watched: dict[int, int],
) -> tuple[list[Look], list[tuple[str, Look]]]:
    """The stacks noted, and those of now of threads that note none; no other thread goes on.

    What has kept the lock until the next look was due is what the main thread does now.
    `dues_ns` is when the last look was due, and the next one. Behind these, with their names, are
    the threads that the main one may wait for: `with_calls` tells whether it does.
    """
    main, (due_ns, next_ns) = recorder.main_thread, dues_ns
    is_missing = bool(due_ns) and (not notes or notes[-1][1] < due_ns)
    main_ns = due_ns if is_missing else next_ns
    is_missing = is_missing or (bool(due_ns) and next_ns <= rec.now())
    told = [_told(note[4]) for note in notes]
    waits = bool(notes) and awaited.is_for_thread(told[-1], notes[-1][3])
    is_awaited = bool(due_ns) and awaited.is_due(waits=waits)
    others: list[tuple[str, Look]] = []
    frames: dict[int, FrameType] | None = {}
    if is_missing or None in told or len(watched) > 1 or is_awaited:
        frames = rec.look_at_all(sys._current_frames)
    if frames is None:
        agent_notes.add("only noted stacks were kept while the process had several interpreters")
        frames = {}
    try:
        found = [_noted(note, watched[main], frames) for note in notes if main in watched]
        if frames and due_ns:
            was_due_ns = {main: main_ns} if is_missing else {}
            was_due_ns.update({one: due_ns for one in watched if one != main})
            found += _of_now(rec, frames, watched, was_due_ns)
            callees_of_main = [one[2] for one in found if one[0] == watched.get(main)]
            if awaited.is_due(waits=any(map(awaited.is_of_threads, callees_of_main[-1:]))):
                others += _others(rec, frames, watched)
    finally:
        # This frame is among them: a cycle that would keep the program's objects alive.
        frames.clear()
    for note in notes[-1:]:
        if _told(note[4]) is not None:
            rec.stack_knows(id(note[4][0][0]), note[4][0][1])
    return found, others


def with_calls(
    found: list[Look], others: list[tuple[str, Look]], watched: dict[int, int], *, is_due: bool
) -> Iterator[Asked]:
    """The same looks with what the kernel says, and the others where the main thread waits.

    The kernel is asked once no frames are held: meanwhile other threads go on.
    """
    main, waits = watched.get(recorder.main_thread), []
    for look in found:
        asked = _asked(look)
        if asked[0] == main:
            waits.append(awaited.is_for_thread(asked[2], asked[3]))
        yield asked
    if is_due and main is not None and awaited.note(waits):
        for name, look in others:
            busy_threads.keep_name(look[0], name)
            yield _asked(look)


def _asked(look: Look) -> Asked:
    thread_id, places, callee, call, moments = look
    return thread_id, places, callee, blocked.asked(thread_id) if call is None else call, moments


def _noted(note: noted.Note, thread_id: int, frames: dict[int, FrameType]) -> Look:
    """What the main thread has noted; its frames of now tell what is called there."""
    at_ns, was_due_ns, _, call, places, stood_ns = note
    callee = _told(places)
    if callee is None:
        callee = callees.called_before(*_seen_place(places), frames.get(recorder.main_thread))
    return thread_id, places, callee, call, (at_ns, was_due_ns, stood_ns)


def _of_now(
    rec: recorder.Recorder,
    frames: dict[int, FrameType],
    watched: dict[int, int],
    was_due_ns: dict[int, int],
) -> Iterator[Look]:
    """Where threads are, by when the look at them was due; those that have ended are forgotten."""
    main = recorder.main_thread
    for identity, thread_id in list(watched.items()):
        frame = frames.get(identity)
        if frame is None and identity != main:
            watched.pop(identity, None)
        elif frame is not None and identity in was_due_ns:
            at_ns = stood_ns = rec.now()
            if identity == main:
                # whoever is asked for the lock gives it away after so long, and then stands still
                stood_ns = min(at_ns, was_due_ns[main] + int(sys.getswitchinterval() * 1e9))
            moments = (at_ns, was_due_ns[identity], stood_ns)
            yield thread_id, walk(frame), _callee(frame), None, moments


def _others(
    rec: recorder.Recorder, frames: dict[int, FrameType], watched: dict[int, int]
) -> Iterator[tuple[str, Look]]:
    """Where the threads are that the main one may wait for, with their names."""
    for thread_id, name, frame in awaited.others(frames, watched):
        now_ns = rec.now()
        yield name, (thread_id, walk(frame), _callee(frame), None, (now_ns, now_ns, now_ns))


def _told(places: list[tuple[CodeType, int]]) -> str | None:
    """What is called at the innermost place of a stack, if that has been looked up."""
    return callees.known(*_seen_place(places))


def _seen_place(places: list[tuple[CodeType, int]]) -> tuple[CodeType, int]:
    """The innermost place that is shown: the agent's own functions stand for what they replace."""
    return next((one for one in places if not _is_own(one[0])), places[0])


def _callee(frame: FrameType | None) -> str:
    while frame is not None and _is_own(frame.f_code):
        frame = frame.f_back
    return "" if frame is None else callees.called(frame)


def _is_own(code: CodeType) -> bool:
    return code.co_filename.startswith(files.AGENT)


def walk(frame: FrameType | None) -> list[tuple[CodeType, int]]:
    """Where a frame and those that called it are: code and instruction, innermost first."""
    places: list[tuple[CodeType, int]] = []
    while frame is not None and len(places) < MAX_WALK:
        places.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return places
