"""A tree of functions with the time spent in each, by group and rank, and its reduction."""

import re

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.stack_rules import AGENT, is_user_file
from perfscope.schema.common import Place
from perfscope.schema.resources import StackNode, TopFunction
from perfscope.structures import dataclass
from perfscope.trace.stack_spans import StackForest

LEAST_SHARE = 0.005
"""A node with less of its group's time is left out: in a drawing it would be a hair."""

MOST_NODES = 240
MOST_DEPTH = 48
"""Levels that are shown; what lies below counts for its callers."""

MOST_TOP = 10
_PASSED_OVER = re.compile(r"^<frozen importlib|(^|/)importlib/_bootstrap|^$")
_BOOTSTRAP = re.compile(r"(^|/)(multiprocessing/process|threading)\.py$")
_RECORDER = re.compile(r"/perfscope_agent/(stacks|memory_detail)\.py$")
_WAITS = (
    ("wait", re.compile(r"(^|/)threading\.py$")),
    ("select", re.compile(r"(^|/)selectors\.py$")),
    ("get", re.compile(r"(^|/)queue\.py$")),
    ("put", re.compile(r"(^|/)queue\.py$")),
    ("_recv", re.compile(r"(^|/)multiprocessing/connection\.py$")),
    ("__enter__", re.compile(r"(^|/)multiprocessing/synchronize\.py$")),
    ("poll", re.compile(r"(^|/)multiprocessing/popen_fork\.py$")),
    ("_worker", re.compile(r"(^|/)concurrent/futures/thread\.py$")),
    ("_run", re.compile(r"(^|/)concurrent/futures/process\.py$")),
    ("accept", re.compile(r"(^|/)socket\.py$")),
    ("serve_forever", re.compile(r"(^|/)multiprocessing/(forkserver|managers)\.py$")),
    ("main", re.compile(r"(^|/)multiprocessing/resource_tracker\.py$")),
)
"""Innermost frames in which a thread waits for others: what a worker without work does."""


@dataclass(frozen=True)
class Reduced:
    """What is shown of one group."""

    seconds: float
    nodes: tuple[StackNode, ...]
    nodes_left_out: int
    left_out_s: float
    top: tuple[TopFunction, ...]
    ranks: tuple[int, ...]


class FunctionTree:
    """Stacks joined by function: the lines of one function are one node."""

    def __init__(self, forest: StackForest, ranks: list[int]) -> None:
        self._forest = forest
        self._ranks = ranks
        self._functions: dict[tuple[str, str], int] = {}
        self._names: list[tuple[str, str]] = []
        self._parents: list[int] = [-1]
        self._function: list[int] = [-1]
        self._depths: list[int] = [0]
        self._children: dict[tuple[int, int], int] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._spent: dict[str, dict[tuple[int, int], float]] = {}
        self._lines: dict[tuple[str, int], dict[int, float]] = {}

    def node(self, stack: int, below: tuple[str, ...] = ()) -> tuple[int, int]:
        """The node of a stack, and the stack itself for its lines; `below` are roots above it."""
        root = 0
        for name in below:
            root = self._child(root, (name, ""))
        return self._place(stack, root), stack

    def _place(self, stack: int, root: int) -> int:
        """The node of a stack under a root; stacks share their outer part."""
        path = []
        while stack > 0 and (stack, root) not in self._known:
            path.append(stack)
            stack = self._forest.parents[stack]
        node = self._known[stack, root] if stack > 0 else root
        for inner in reversed(path):
            function, file, _ = self._forest.frames[self._forest.places[inner]]
            if root and function.endswith("_bootstrap") and _BOOTSTRAP.search(file):
                node = root  # what stands above is the stack of the process that forked it
            elif not _PASSED_OVER.search(file) and AGENT not in file:
                node = self._child(node, (function, file))
            self._known[inner, root] = node
        return node

    def _child(self, parent: int, name: tuple[str, str]) -> int:
        function = self._functions.setdefault(name, len(self._names))
        if function == len(self._names):
            self._names.append(name)
        found = self._children.setdefault((parent, function), len(self._parents))
        if found == len(self._parents):
            self._parents.append(parent)
            self._function.append(function)
            self._depths.append(self._depths[parent] + 1)
        return found

    def is_root(self, node: int) -> bool:
        """Whether nothing of the stack itself is left: all of it was passed over."""
        function = self._function[node]
        return function < 0 or not self._names[function][1]

    def add(self, group: str, node: tuple[int, int], position: int, ns: float) -> None:
        """Adds time that a rank spent in a stack, as part of a group."""
        place, stack = node
        spent = self._spent.setdefault(group, {})
        spent[place, position] = spent.get((place, position), 0.0) + ns
        while stack > 0:
            function, file, line = self._forest.frames[self._forest.places[stack]]
            known = self._functions.get((function, file))
            if known is not None:
                lines = self._lines.setdefault((group, known), {})
                lines[line] = lines.get(line, 0.0) + ns
            stack = self._forest.parents[stack]

    def waits(self, stack: int) -> bool:
        """Whether the innermost function only waits for work."""
        function, file, _ = self._forest.frames[self._forest.places[stack]]
        name = function.rpartition(".")[2]
        return any(name == known and where.search(file) for known, where in _WAITS)

    def is_recorder(self, stack: int) -> bool:
        """Whether a thread of the agent itself runs there."""
        while stack > 0:
            if _RECORDER.search(self._forest.frames[self._forest.places[stack]][1]):
                return True
            stack = self._forest.parents[stack]
        return False

    def groups(self) -> list[str]:
        """The groups with any time."""
        return [name for name, spent in self._spent.items() if sum(spent.values()) > 0]

    def reduced(self, group: str, most_ranks: int) -> Reduced:
        """The larger nodes of a group, its top functions, and the ranks with most time in it."""
        own = np.zeros((len(self._parents), len(self._ranks)))
        for (node, position), ns in self._spent[group].items():
            own[node, position] += ns / 1e9
        whole = own.copy()
        for node in range(len(self._parents) - 1, 0, -1):
            whole[self._parents[node]] += whole[node]
        inclusive = whole.sum(axis=1)
        total = float(inclusive[0])
        used = np.flatnonzero(inclusive[1:] > 0) + 1
        order = used[np.lexsort((used, -inclusive[used]))]
        order = order[inclusive[order] >= LEAST_SHARE * total]
        kept = np.sort(order[np.array(self._depths)[order] <= MOST_DEPTH][:MOST_NODES])
        by_rank = whole[0]
        ranks = np.sort(np.lexsort((np.arange(len(by_rank)), -by_rank))[:most_ranks])
        ranks = ranks[by_rank[ranks] > 0]
        nodes = self._nodes(group, kept, inclusive, whole[:, ranks])
        left_out = np.setdiff1d(used, kept)
        return Reduced(
            seconds=total,
            nodes=nodes,
            nodes_left_out=len(left_out),
            left_out_s=float(own[left_out].sum()),
            top=self._top(group, used, own.sum(axis=1), inclusive),
            ranks=tuple(self._ranks[position] for position in ranks.tolist()),
        )

    def _nodes(
        self, group: str, kept: Ints, inclusive: Floats, by_rank: Floats
    ) -> tuple[StackNode, ...]:
        index = {node: place for place, node in enumerate(kept.tolist())}
        below = np.zeros(len(kept))
        parents = []
        for node in kept.tolist():
            parent = index.get(self._parents[node], -1)
            parents.append(parent)
            if parent >= 0:
                below[parent] += inclusive[node]
        return tuple(
            StackNode(
                parent=parent,
                **vars(self._line(group, self._function[node])),
                is_user=self._is_user(self._function[node]),
                seconds=float(inclusive[node]),
                self_s=max(0.0, float(inclusive[node] - below[place])),
                seconds_by_rank=tuple(by_rank[node].tolist()),
            )
            for place, (node, parent) in enumerate(zip(kept.tolist(), parents, strict=True))
        )

    def _line(self, group: str, function: int) -> Place:
        """A function, and its line seen most."""
        name, file = self._names[function]
        lines = self._lines.get((group, function), {})
        line = max(lines, key=lambda number: (lines[number], -number)) if lines else 0
        return Place(file, line, name)

    def _is_user(self, function: int) -> bool:
        return is_user_file(self._names[function][1])

    def _top(
        self, group: str, used: Ints, own: Floats, inclusive: Floats
    ) -> tuple[TopFunction, ...]:
        alone: dict[int, float] = {}
        total: dict[int, float] = {}
        for node in used.tolist():
            function = self._function[node]
            alone[function] = alone.get(function, 0.0) + float(own[node])
            if not self._is_recursive(node):
                total[function] = total.get(function, 0.0) + float(inclusive[node])
        ranked = sorted((f for f in alone if alone[f] > 0), key=lambda f: (-alone[f], f))
        return tuple(
            TopFunction(
                **vars(self._line(group, f)),
                is_user=self._is_user(f),
                self_s=alone[f],
                total_s=total.get(f, 0.0),
            )
            for f in ranked[:MOST_TOP]
            if self._names[f][1]
        )

    def _is_recursive(self, node: int) -> bool:
        function, node = self._function[node], self._parents[node]
        while node > 0:
            if self._function[node] == function:
                return True
            node = self._parents[node]
        return False
