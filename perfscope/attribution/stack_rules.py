"""What a sampled stack reveals: the user's own function, and the phase that its names suggest."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Trace

TRAINING_KINDS = (PhaseKind.TRAIN, PhaseKind.FORWARD, PhaseKind.BACKWARD, PhaseKind.OPTIMIZER)
"""Phases of a training step."""

UNLABELED = -1
_RARE = -2

DEFAULT_RULES: tuple[tuple[str, str], ...] = (
    *(
        ("evaluate", glob)
        for glob in ("eval", "eval_*", "*_eval", "*_eval_*", "*evaluat*", "*validat*", "test_epoch")
    ),
    *(("evaluate", glob) for glob in ("test_model", "test_loop", "run_test*")),
    *(
        ("checkpoint", glob)
        for glob in ("*checkpoint*", "save_model*", "save_weights*", "save_state*", "*_ckpt*")
    ),
    *(
        ("input", glob)
        for glob in ("*load*batch*", "*next*batch*", "*get*batch*", "*read*batch*", "*fetch*batch*")
    ),
    *(
        ("input", glob)
        for glob in ("*data_loader*", "*dataloader*", "*minibatch*", "*mini_batch*", "*input_fn*")
    ),
    *(
        ("progress", glob)
        for glob in ("*compute_error*", "*epoch_error*", "*training_error*", "*track_error*")
    ),
    *(("train", glob) for glob in ("*train*", "*pretrain*", "*retrain*", "fit", "fit_*", "*_fit")),
    *(
        ("progress", glob)
        for glob in ("progress", "*_progress", "*progress_bar*", "print_*", "report", "report_*")
    ),
    *(
        ("progress", glob)
        for glob in ("log_metric*", "log_stat*", "log_epoch*", "log_error*", "log_accuracy*")
    ),
    *(("progress", glob) for glob in ("show_*", "display_*", "monitor_*")),
)
"""Names of the user's functions that tell a phase, unless a rule of the user's does; any case.

A leading `*` stands for whole words: `constrain` does not train, `pre_train` and `preTrain` do.
"""

FIGURE_VERBS = frozenset("calc calculate check compute get global mean total".split())
FIGURES = frozenset(
    "acc accuracy err error errors metric metrics score scores statistics stats".split()
)
IN_STEPS = frozenset("batch iter iteration per sample step".split())
"""Words of functions that compute a figure for progress output, unless training needs it in each
step: that names cannot tell. No loss is among them: to compute it is a part of most steps."""

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_LIBRARY_INPUT = (
    ("get", re.compile(r"(^|/)(queue|queues)\.py$")),
    ("__next__", re.compile(r"torch/utils/data/dataloader\.py$")),
)
"""Functions of libraries in which a program waits for its input."""

AGENT = "/perfscope_agent/"
"""In the paths of what perfscope itself runs in the program."""

BUILT_IN = "<built-in>"
"""The file of a function without Python code that was called from the line of the next frame."""
SYSTEM_CALL = "<system-call>"
"""The file of a system call in which the thread was blocked."""
FROM_TEXT = "<string>"
"""The file of code that eval or exec was given as text: the program's, or that of a library."""
NATIVE_FILES = frozenset({BUILT_IN, SYSTEM_CALL})

_LIBRARY_FILE = re.compile(
    r"/(site|dist)-packages/|/lib(64)?/python\d(\.\d+)?/|/python\d+\.zip/"
    r"|^<(frozen|built-in|system-call)"
    r"|(^|/)perfscope_agent/"
    r"|(^|/)__autograph_generated_file"  # what TensorFlow writes in place of a function
)

EVALUATION_LIKE = "evaluation-like"
"""The phase of work that recurs as an evaluation does, until its name or a framework says more."""

_KINDS = {
    kind.name.lower(): kind for kind in PhaseKind if kind not in (PhaseKind.USER, PhaseKind.IO)
} | {"io": PhaseKind.IO, EVALUATION_LIKE: PhaseKind.EVALUATE}


@lru_cache(maxsize=65536)
def is_user_file(file: str) -> bool:
    """Whether a file is the user's: not of Python, an installed package, or code without a file."""
    return bool(file) and not _LIBRARY_FILE.search(file)


def ends_in(trace: Trace, files: Collection[str]) -> Bools:
    """By stack whether its innermost frame is in one of some files; of no frame it is not."""
    ends = [bool(stack) and trace.frames[stack[-1]].file in files for stack in trace.stacks]
    return np.array(ends, np.bool_)


def kind_of_id(phase_id: str) -> PhaseKind:
    """The kind of a phase id; an id that is none of perfscope's is the user's own."""
    return _KINDS.get(phase_id, PhaseKind.USER)


def full_id(phase_id: str) -> str:
    """The id under which a phase is reported: `user:<name>` for the user's own."""
    own = kind_of_id(phase_id) is PhaseKind.USER and not phase_id.startswith("user:")
    return f"user:{phase_id}" if own else phase_id


@dataclass(frozen=True)
class StackLabels:
    """What each stack of the trace says; arrays are indexed by stack.

    `label` is an index in `ids` or UNLABELED; `user_frame` the innermost frame of the user (else
    the innermost of all), `label_frame` the frame whose name told the phase (of training: the
    user's innermost), `caller` the user's frame that called it, -1 none. Frames are indices in
    Trace.frames. `recurring` are functions of the user's that a rhythm shows in few of the steps.
    """

    ids: tuple[str, ...]
    label: Ints
    user_frame: Ints
    label_frame: Ints
    caller: Ints
    recurring: frozenset[Function] = frozenset()

    @property
    def train(self) -> int:
        """The label of training work."""
        return self.ids.index("train")


def label_stacks(
    trace: Trace, rules: Sequence[tuple[str, str]] = (), rare: Collection[Function] = ()
) -> StackLabels:
    """Labels all stacks of a trace; the user's rules go before the defaults.

    Among the functions of a stack the innermost one that matches tells the phase, but `train` only
    where nothing else matches. The user's rules look at every function, the defaults at the user's
    own functions. Those in `rare` compute figures that training does not need: they are progress
    output where no other phase calls them.
    """
    matcher = _Matcher(rules, rare)
    frames = [matcher.of_frame(frame) for frame in trace.frames]
    is_user = [is_user_file(frame.file) for frame in trace.frames]
    is_native = [frame.file in NATIVE_FILES for frame in trace.frames]
    has_file = [not frame.file.startswith("<") for frame in trace.frames]
    labels, users, tellers, callers = [], [], [], []
    for stack in trace.stacks:
        depth, label = _telling_level(stack, frames, matcher)
        own = [level for level, frame in enumerate(stack) if is_user[frame]]
        # code made from a text has no file: who runs it can be looked up
        own = [level for level in own if has_file[stack[level]]] or own
        user = own[-1] if own else _innermost(stack, is_native)
        by_name = label not in (UNLABELED, matcher.train)
        teller = depth if by_name and is_user[stack[depth]] else user
        outer = [level for level in own if level < teller]
        labels.append(label)
        users.append(stack[user])
        tellers.append(stack[teller])
        callers.append(stack[outer[-1]] if outer else -1)
    return StackLabels(
        ids=tuple(matcher.ids),
        label=np.array(labels, np.int64),
        user_frame=np.array(users, np.int64),
        label_frame=np.array(tellers, np.int64),
        caller=np.array(callers, np.int64),
    )


def _innermost(stack: Sequence[int], is_native: Sequence[bool]) -> int:
    """The level of the innermost Python code, 0 where there is none."""
    return max((level for level, frame in enumerate(stack) if not is_native[frame]), default=0)


def _telling_level(
    stack: Sequence[int], frames: Sequence[int], matcher: _Matcher
) -> tuple[int, int]:
    """Level and label of what tells the phase: anything, else a rare figure, else training."""
    training = (len(stack) - 1, UNLABELED)
    figure = None
    for level in range(len(stack) - 1, -1, -1):
        label = frames[stack[level]]
        if label == matcher.train and training[1] == UNLABELED:
            training = (level, label)
        elif label == _RARE:
            figure = figure or (level, matcher.progress)
        elif label not in (UNLABELED, matcher.train):
            return level, label
    return figure or training


class _Matcher:
    """Finds the first rule that a function's name matches; names are compared in lower case."""

    def __init__(self, rules: Sequence[tuple[str, str]], rare: Collection[Function]) -> None:
        self.ids: list[str] = ["train", "input"]
        self._rules = [(self._index(full_id(name)), glob.lower(), False) for name, glob in rules]
        self._rules += [(self._index(full_id(name)), glob, True) for name, glob in DEFAULT_RULES]
        self.train = self.ids.index("train")
        self._rare = rare
        self.progress = self._index(full_id("progress"))

    def _index(self, phase_id: str) -> int:
        if phase_id not in self.ids:
            self.ids.append(phase_id)
        return self.ids.index(phase_id)

    def of_frame(self, frame: Frame) -> int:
        """The label that this frame alone tells."""
        if frame.file in NATIVE_FILES:
            return UNLABELED
        own_name = frame.function.rpartition(".")[2]
        name, whole = own_name.lower(), frame.function.lower()
        ends = _word_ends(own_name) if is_user_file(frame.file) else ()
        is_rare = frame.key in self._rare
        for label, glob, is_default in self._rules:
            if is_default and _matches(ends, glob):
                return _RARE if is_rare and label == self.train else label
            if not is_default and (fnmatchcase(name, glob) or fnmatchcase(whole, glob)):
                return label
        if is_rare:
            return _RARE
        for function, file in _LIBRARY_INPUT:
            if name == function and file.search(frame.file):
                return self.ids.index("input")
        return UNLABELED


def computes_figure(frame: Frame) -> bool:
    """Whether a function of the user's computes, by its name, an error, a score or the like."""
    if not is_user_file(frame.file):
        return False
    words = words_of(frame.function.rpartition(".")[2])
    if not words or words[-1] not in FIGURES or not IN_STEPS.isdisjoint(words):
        return False
    return len(words) == 1 or words[0] in FIGURE_VERBS


def names_training(name: str) -> bool:
    """Whether a name, of a function or a file, is one of training work by the default rules."""
    ends = _word_ends(name)
    return any(_matches(ends, glob) for phase, glob in DEFAULT_RULES if phase == "train")


def words_of(name: str) -> list[str]:
    """The words of a name in lower case: of `loadImage` and of `load_image` `load` and `image`."""
    return [word for word in _WORD_START.sub("_", name).lower().split("_") if word]


def _word_ends(name: str) -> tuple[str, ...]:
    """A name in lower case from each of its words on, the whole name first."""
    words = words_of(name)
    return tuple("_".join(words[start:]) for start in range(len(words)))


def _matches(ends: Sequence[str], glob: str) -> bool:
    """Whether a default rule tells of a name, whose leading `*` stands for whole words."""
    if glob.startswith("*"):
        return any(fnmatchcase(end, glob.lstrip("*_")) for end in ends)
    return bool(ends) and fnmatchcase(ends[0], glob)


def most_seen_line(lines: Sequence[int]) -> int:
    """The line seen most often, the smallest of several, 0 when none is known."""
    known = [line for line in lines if line > 0]
    if not known:
        return 0
    values, counts = np.unique(known, return_counts=True)
    return int(values[int(np.argmax(counts))])
