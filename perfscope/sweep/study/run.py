"""One run of a sweep: how it ended, and what was measured of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfscope.studies.common.runs import StudyRun
from perfscope.sweep.study.quality import Quality
from perfscope.sweep.study.stored import RUNS, StoredRun

Json = dict[str, Any]


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep.

    Attributes:
        stored: how it ended.
        run: its analysis; None when it left no recording, or none that can be read.
        failure: why it counts as failed, "" when it is finished and measured.
        quality: the final value of what the training is for, None where none was found.
        printed: the throughput that the job printed, None where it was not asked for.
    """

    stored: StoredRun
    run: StudyRun | None
    failure: str
    quality: Quality | None
    printed: Quality | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it came to its end and can be compared."""
        return not self.failure

    def as_json(self) -> Json:
        """The object of study.json's `runs`."""
        base = self.run.as_json() if self.run is not None else {"command": []}
        stored = self.stored
        return base | {
            "label": stored.name,
            "path": f"{RUNS}/{stored.name}/recording" if stored.recording else None,
            "configuration": stored.configuration,
            "repeat": stored.repeat,
            "end": stored.end,
            "ending": self.failure or None,
            "output": f"{RUNS}/{stored.name}/",
            "wall_s": stored.wall_s if self.run is None else self.run.result.run.wall_s,
            "quality": None if self.quality is None else self.quality.value,
            "transport": {} if self.run is None else self.run.transport,
            "pinning": {} if self.run is None else self.run.pinning,
        }
