"""One run of a sweep: how it ended, and what was measured of it."""

from dataclasses import fields
from typing import Any

from perfscope.schema.study import StudyRunRow, SweepRunRow
from perfscope.structures import dataclass
from perfscope.studies.common.runs import StudyRun
from perfscope.sweep.study.quality import Quality
from perfscope.sweep.study.stored import RUNS, StoredRun

UNKNOWN: dict[str, Any] = {one.name: None for one in fields(StudyRunRow)} | {"command": ()}
"""What is known of a run that left no recording."""


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep."""

    stored: StoredRun  # how it ended
    run: StudyRun | None  # its analysis; None when it left no recording, or none that can be read
    failure: str  # why it counts as failed, "" when it is finished and measured
    # the final value of what the training is for, None where none was found
    quality: Quality | None
    # the throughput that the job printed, None where it was not asked for
    printed: Quality | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it came to its end and can be compared."""
        return not self.failure

    def row(self) -> SweepRunRow:
        """The run as study.json names it."""
        stored, run = self.stored, self.run
        known = vars(run.row()) if run is not None else UNKNOWN | {"wall_s": stored.wall_s}
        told = {
            "label": stored.name,
            "path": f"{RUNS}/{stored.name}/recording" if stored.recording else None,
            "ending": self.failure or None,
        }
        return SweepRunRow(
            **(known | told),
            configuration=stored.configuration,
            repeat=stored.repeat,
            end=stored.end,
            output=f"{RUNS}/{stored.name}/",
            quality=None if self.quality is None else self.quality.value,
            transport={} if run is None else run.transport,
            pinning={} if run is None else run.pinning,
        )
