"""analysis.json, whole; docs/analysis-json.md says more of each field."""

from dataclasses import dataclass
from typing import Literal

from perfscope.schema.activities import Activities
from perfscope.schema.communication import Collectives, Horovod, Tensors
from perfscope.schema.devices import Devices, Hardware, NoProfile
from perfscope.schema.findings import FindingRow, HowMeasured, QualityRow
from perfscope.schema.losses import Losses
from perfscope.schema.other_tools import ToolReport
from perfscope.schema.replay import ReplayResult
from perfscope.schema.resources import InputOutput, Memory, NoStacks, Stacks, Threads
from perfscope.schema.run import Run, Tool, Verdict
from perfscope.schema.time import (
    FunctionShare,
    LedgerAccount,
    Metrics,
    Phase,
    Steps,
    Timeline,
    Unlabeled,
)


@dataclass(frozen=True)
class Analysis:
    """analysis.json, whole."""

    schema_version: Literal["1"]
    tool: Tool
    run: Run
    verdict: Verdict
    ledger: tuple[LedgerAccount, ...]
    ledger_functions: tuple[FunctionShare, ...]
    unlabeled: Unlabeled
    metrics: Metrics
    losses: Losses
    phases: tuple[Phase, ...]
    steps: Steps
    timeline: Timeline
    collectives: Collectives
    horovod: Horovod | None
    tensors: Tensors | None
    memory: Memory
    threads: Threads
    io: InputOutput
    activities: Activities
    stacks: Stacks | NoStacks
    devices: Devices | NoProfile
    hardware: Hardware | None
    other_tools: tuple[ToolReport, ...]
    replay: ReplayResult
    findings: tuple[FindingRow, ...]
    quality: tuple[QualityRow, ...]
    how_measured: tuple[HowMeasured, ...]
