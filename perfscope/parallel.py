"""One function for each of many items, in threads where there is enough to do."""

from collections.abc import Callable, Sequence
from contextvars import copy_context
from os import cpu_count
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
ENOUGH_ROWS = 200_000
"""Of fewer rows starting threads costs more than they bring."""

FEW_ROWS = 10_000
"""Of fewer rows an item is too small to be handed to a thread."""


def each(
    function: Callable[[Item], Result], items: Sequence[Item], *, rows: int | None = None
) -> list[Result]:
    """The results, in the order of the items.

    The function spends its time in numpy or in the engine, which let other threads run; `rows` is
    how many rows of tables the items have together, None enough. Of many small items most of it is
    Python's, for which threads would wait in turn.
    """
    workers, least = min(len(items), cpu_count() or 1), max(ENOUGH_ROWS, FEW_ROWS * len(items))
    if workers < 2 or (rows is not None and rows < least):
        return [function(item) for item in items]
    # a short run does without; loading it takes longer than many of its stages
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    with ThreadPoolExecutor(max_workers=workers) as pool:
        inside = [copy_context() for _ in items]  # numpy's memory is a matter of the context
        return list(pool.map(lambda item, own: own.run(function, item), items, inside))
