"""analysis.json, whole, of which docs/analysis-json.md is made."""

from typing import Literal

from perfscope.schema.activities import Activities
from perfscope.schema.communication import Collectives
from perfscope.schema.devices import Devices, Hardware, NoProfile
from perfscope.schema.findings import FindingRow, HowMeasured, QualityRow
from perfscope.schema.horovod import Horovod, Tensors
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
    TimePart,
    Unlabeled,
)
from perfscope.schema.whole_run import WholeRun
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Analysis:
    """analysis.json, whole."""

    schema_version: Literal["1"]
    tool: Tool
    run: Run
    verdict: Verdict
    # where the ranks' time went: one row for each account, in a fixed order, also for accounts
    # without time; together a partition of every rank's process life
    ledger: tuple[LedgerAccount, ...]
    ledger_functions: tuple[FunctionShare, ...]
    unlabeled: Unlabeled
    metrics: Metrics
    losses: Losses
    phases: tuple[Phase, ...]
    steps: Steps
    timeline: Timeline
    collectives: Collectives
    horovod: Horovod | None  # null where Horovod did not communicate
    # null where no timeline of Horovod was read (see [foreign-traces.md](foreign-traces.md))
    tensors: Tensors | None
    memory: Memory
    threads: Threads
    io: InputOutput
    activities: Activities
    stacks: Stacks | NoStacks
    devices: Devices | NoProfile
    # null for traces without states, and where records of a rank are missing
    hardware: Hardware | None
    other_tools: tuple[ToolReport, ...]  # one row for each file; none of it enters any other figure
    replay: ReplayResult
    # every diagnosis, by status (`fail`, `warn`, `info`, `not_measured`, `not_applicable`, `pass`,
    # `error`), and inside those first whose interval does not reach zero, then by what can be
    # had: what the first action saves, of an upper bound half; one whose interval reaches zero has
    # the confidence `low`, and is `info` unless the program plans it or it comes once
    findings: tuple[FindingRow, ...]
    # `run_length`, `overhead`, `dropped_records`, `missing_ranks`, `endings`, `clocks`,
    # `unlabeled_time`, `replay_error`, `recording_notes`; `sampled_only` only when nothing but
    # stack samples tells phases; `separate_worlds` only when the processes of a job never met
    # because the MPI library of the program is not that of its launcher; `unmeasured` only when a
    # framework did something that a recording cannot tell; `thinned` only when not all of the run
    # was kept in detail
    quality: tuple[QualityRow, ...]
    how_measured: tuple[HowMeasured, ...]  # what the numbers mean for this run
    # null where nothing was thinned away: then all else is of the whole run
    whole_run: WholeRun | None = None
    # where the run went, so that accounts and `outside` add up to `run.wall_s`
    breakdown: tuple[TimePart, ...] = ()
