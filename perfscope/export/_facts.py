"""What an export says beside its events: see `perfscope.readers.common.exported`."""

from typing import Any

from perfscope.dataframes.source import Source
from perfscope.readers.common.exported import facts
from perfscope.trace.exported import Judged


def facts_of(source: Source) -> dict[str, Any]:
    """Over which time the recording is judged, what is wrong with it, and how its ranks ended."""
    prepared = source.prepared
    focus = prepared.focus
    judged = Judged(focus.start_ns, focus.end_ns, focus.kind, focus.reason, prepared.damage)
    return facts(source.trace, judged)
