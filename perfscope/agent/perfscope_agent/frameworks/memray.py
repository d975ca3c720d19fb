"""memray's tracker, for `memory_detail`: allocations of the C library, so of C extensions too."""

from __future__ import annotations

import os

from ..kinds import Any


class Memray:
    """One tracker after the other; `file` is scratch, which is gone when a window is over.

    Raises:
        ImportError: memray is not installed.
    """

    def __init__(self, file: str, most_places: int, most_frames: int) -> None:
        import memray

        self._memray = memray
        self._file = file
        self._most_places = most_places
        self._most_frames = most_frames
        self._tracker: Any = None
        self.name = "memray %s" % getattr(memray, "__version__", "")

    def begin(self) -> None:
        """Starts to track; the file holds one entry a place, however long that goes on."""
        aggregated = self._memray.FileFormat.AGGREGATED_ALLOCATIONS
        self._tracker = self._memray.Tracker(self._file, file_format=aggregated)
        self._tracker.__enter__()

    def end(self) -> dict[str, Any]:
        """Stops, and reduces what was written to its largest places."""
        tracker, self._tracker = self._tracker, None
        tracker.__exit__(None, None, None)
        try:
            with self._memray.FileReader(self._file) as reader:
                records = list(reader.get_leaked_allocation_records(merge_threads=True))
                records.sort(key=lambda record: -record.size)
                places = [self._place(record) for record in records[: self._most_places]]
        finally:
            os.unlink(self._file)
        return {
            "kept_bytes": sum(record.size for record in records),
            "count": sum(record.n_allocations for record in records),
            "places": places,
        }

    def _place(self, record: Any) -> dict[str, Any]:
        """Bytes kept, allocations, and the stack, innermost frame first."""
        stack = [list(frame) for frame in record.stack_trace(max_stacks=self._most_frames)]
        return {"bytes": record.size, "count": record.n_allocations, "stack": stack}
