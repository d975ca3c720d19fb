"""The files of a sweep: plan.json, and outcome.json of each of its runs."""

from typing import Literal

from perfscope.schema.run import Tool
from perfscope.structures import dataclass

KindOfAxis = Literal["environment", "variable", "set"]


@dataclass(frozen=True)
class PlanAxis:
    """One thing that is varied; secrets are redacted in the values that are shown."""

    name: str
    kind: KindOfAxis
    values: tuple[str, ...]
    shown_values: tuple[str, ...]


@dataclass(frozen=True)
class PlanConfiguration:
    """One point of the grid, as it is started and as it is shown."""

    number: int
    name: str
    label: str
    values: dict[str, str]
    shown_values: dict[str, str]
    environment: dict[str, str | None]
    shown_environment: dict[str, str | None]
    command: tuple[str, ...]
    shown_command: tuple[str, ...]
    ranks: int | None
    threads: int | None
    is_here: bool | None
    refused: str | None


@dataclass(frozen=True)
class PlanFile:
    """plan.json; fields with a default came later than its version."""

    schema_version: Literal["1"]
    kind: Literal["sweep-plan"]
    tool: Tool
    identity: str
    command: tuple[str, ...]
    shown_command: tuple[str, ...]
    directory: str
    axes: tuple[PlanAxis, ...]
    configurations: tuple[PlanConfiguration, ...]
    cpus: int | None
    repeat: int
    recording: tuple[str, ...]
    time_limit_s: float | None
    search: int | None
    batch: bool
    metric: str | None
    throughput: str | None = None
    search_repeat: int | None = None


@dataclass(frozen=True)
class RunRecord:
    """outcome.json: how a run ended; its recording is null where it left none."""

    schema_version: Literal["1"]
    run: str
    configuration: int
    repeat: int
    end: str
    reason: str
    exit_code: int
    start_unix_s: float
    wall_s: float
    recording: str | None
