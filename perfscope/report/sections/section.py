"""What a section of the report declares."""

from collections.abc import Callable
from typing import Any

from perfscope.structures import dataclass

Context = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """One section: its anchor, its heading, its template, and the pure function that fills it.

    Of one `is_folded` the page shows the heading and the `takeaway` of its context, and the rest
    once it is unfolded; where its context names what is `absent`, that is all. The context of a
    section of a run takes the structures of its result, that of a study's the document. One that
    `is_summary` is printed where no more than the answer is asked for.
    """

    id: str
    title: str
    template: str
    context: Callable[[Any], Context]
    is_folded: bool = False
    is_summary: bool = False
