"""Files of other tools that no reader takes: what they are, by how they begin, and what to do.

A profile that somebody has is often one step away from one that can be read. Signs are those of the
tools' own formats; where a format has none that is known, the ending of the name is told as such.
"""

import re
from pathlib import Path

from perfscope.structures import dataclass

SPEEDSCOPE = "Write speedscope or collapsed stacks with that tool, which perfscope reads."
LIST = "Record the job with `perfscope run -- COMMAND`; `perfscope formats` lists what can be read."
TABLES = "Give perfscope analyze the directory that it stands in, with its tables.json."
TIMELINE = "Record the run as OTF2 (Score-P), or with `perfscope run -- COMMAND`."


@dataclass(frozen=True)
class LookAlike:
    """Files of one kind."""

    what: str  # what a person calls it, with an article
    # how its content begins, or what stands early in it; matched from the first byte
    sign: re.Pattern[bytes]
    action: str = LIST  # what to do about it


def _kind(what: str, sign: bytes, action: str = LIST) -> LookAlike:
    return LookAlike(what, re.compile(sign, re.DOTALL), action)


KINDS = (
    _kind(
        "a table that perfscope exported",
        rb"rank,(?:tid,|host,pid,|number,epoch,|device,stream,)|collective,name,communicator,"
        rb"|source,target,communicator,",
        TABLES,
    ),
    _kind("a Parquet file, such as perfscope exports among others", rb"PAR1", TABLES),
    _kind("a Java flight recording (JFR)", rb"FLR\0"),
    _kind(
        "the records of Linux perf (perf.data)",
        rb"PERFILE2",
        "perf script, then collapse its stacks.",
    ),
    _kind(
        "text that perf script printed",
        rb"# =+\n# captured on|"
        rb"\S[^\n]{0,60}?\s+\d+(?:/\d+)?\s+(?:\[\d+\]\s+)?\d+\.\d+:\s+(?:\d+\s+)?[\w:/-]+:",
        "Collapse its stacks (stackcollapse-perf): perfscope reads them as py-spy's raw form.",
    ),
    _kind(
        "a profile of pprof",
        rb"(?:\x0a\x04\x08[\x01-\x7f]\x10[\x01-\x7f]){1,8}\x12",
        SPEEDSCOPE,
    ),
    _kind("events of TensorBoard (tfevents)", rb".{0,60}brain\.Event:"),
    _kind("the log of a run of Weights & Biases", rb":W&B"),
    _kind("Dask's performance report", rb"\s*<!DOCTYPE html.{0,4000}?Dask Performance Report"),
    _kind("a report of pyinstrument", rb"\s*<!DOCTYPE html.{0,4000}?pyinstrument", SPEEDSCOPE),
    _kind(
        "a session of pyinstrument",
        rb'\s*\{\s*"start_time"\s*:[^{}]{0,4000}"root_frame"\s*:|'
        rb'\s*\{\s*"session"\s*:\s*\{\s*"start_time"',
        "Write speedscope's form, which perfscope reads: pyinstrument -r speedscope",
    ),
    _kind("a profile of timemory", rb'\s*\{\s*"timemory"\s*:'),
    _kind("a profile of Caliper", rb'\s*\{\s*"data"\s*:\s*\[\s*\[.*"column_metadata"\s*:'),
    _kind(
        "a trace of Perfetto as text",
        rb"(?:\s*#[^\n]*\n)*\s*packet\s*\{",
        "Give the trace as it was recorded, in protocol buffers.",
    ),
    _kind("a profile of TAU", rb"\d+ templated_functions", TIMELINE),
    _kind("the definitions of a trace of TAU", rb"# FunctionId Group Tag", TIMELINE),
    _kind("a measurement of HPCToolkit", rb"HPCRUN", TIMELINE),
    _kind("a database of HPCToolkit", rb"HPCTOOLKIT|.{0,400}?<HPCToolkitExperiment", TIMELINE),
    _kind("a log of Charm++ (Projections)", rb"PROJECTIONS-RECORD|PROJECTIONS_ID", TIMELINE),
    _kind(
        "the settings of Vampir",
        rb".{0,400}?<Vampir",
        "Give the archive (traces.otf2) that it showed.",
    ),
    _kind(
        "a CUBE profile of before version 4 (.cube)",
        rb".{0,400}?<cube version=\"[0-3]\.",
        "Convert it with Cube's own tool, and give the result: cube3to4 FILE.cube profile.cubex",
    ),
    _kind("the report of IPM", rb".{0,400}?<ipm", TIMELINE),
    _kind("the report of mpiP", rb"@ mpiP", TIMELINE),
    _kind("the statistics of cProfile", rb"[{\xfb][()\xa8\xa9]\x03"),
    _kind("what callgrind counted", rb"(?:# callgrind format|version: 1\ncreator: callgrind)"),
    _kind("what massif saw of the heap", rb"desc: [^\n]*\ncmd: [^\n]*\ntime_unit:"),
    _kind("the counts of gprof", rb"gmon\x01"),
    _kind("samples of Austin", rb"# austin:", "austin2speedscope makes what perfscope reads."),
    _kind("a capture of Tracy", rb"tlZ|tr\xfdP|trac[ey]"),
    _kind(
        "a snapshot of PyTorch's allocator",
        rb"\x80[\x02-\x05].{0,4000}?(?:device_traces|segments)",
        "perfscope run --memory-detail 0 records which lines keep memory.",
    ),
    _kind(
        "an execution trace of PyTorch (Chakra)",
        rb'\s*\{\s*"schema"\s*:\s*"[\d.]+(?:-chakra[^"]*)?"\s*,\s*"pid"',
        "Give the profiler's own trace of the run (prof.export_chrome_trace).",
    ),
    _kind(
        "a profile of JavaScript by V8 (Chrome, Node.js)",
        rb'\s*\{\s*"(?:nodes"\s*:\s*\[|head"\s*:)\s*\{[^{}]*"(?:callFrame|functionName)"',
    ),
    _kind("a log of V8 (node --prof)", rb"(?:v8-version|shared-library),"),
    _kind(
        "a profile of Firefox",
        rb'\s*\{\s*"(?:meta"\s*:\s*\{.{0,4000}?"(?:processType|gcpoison|interval)"|'
        rb'format"\s*:\s*"profileJSON)',
    ),
    _kind(
        "a trace of methods of Android (ART)", rb"\*version\r?\n\d+\r?\n|SLOW[\x02\x03\xf0-\xf5]\0"
    ),
    _kind("the records of Android's simpleperf", rb"SIMPLEPERF"),
    _kind("text of Linux's ftrace, as systrace prints it", rb"# tracer: \w+"),
    _kind("what DHAT saw of the heap", rb'\s*\{\s*"dhatFileVersion"\s*:'),
    _kind(
        "sums by instruction of rocprofv3, which tell no times",
        rb'"?CodeObj"?,"?Vaddr"?,"?Instruction',
        "Give the tables of kernels: rocprofv3 --kernel-trace --output-format csv",
    ),
    _kind(
        "counters of rocprofv3, which ran kernels one by one: their times are not the run's",
        rb'"?Correlation_Id"?,"?Dispatch_Id"?,[^\n]*Counter_Name',
        "Give the tables of kernels: rocprofv3 --kernel-trace --output-format csv",
    ),
    _kind(
        "sums of rocprofv3, which tell no times",
        rb'"?Name"?,"?Calls"?,"?TotalDurationNs',
        "Give the tables of kernels: rocprofv3 --kernel-trace --output-format csv",
    ),
    _kind(
        "what sacct told as JSON",
        rb'\s*\{\s*"meta"\s*:.{0,2000}?"[Ss]lurm"',
        "Give its table: sacct -P -o ALL",
    ),
    _kind(
        "a database of nvprof",
        rb"SQLite format 3\0.{0,60000}?CREATE TABLE (?:StringTable|CUPTI_ACTIVITY)",
        "Profile with Nsight Systems, and export: nsys export --type sqlite REPORT.nsys-rep",
    ),
    _kind("a profile of Scalene", rb'\s*\{.{0,200}?"alloc_samples"'),
    _kind(
        "the database of the old rocprof (results.db)",
        rb"SQLite format 3\0.{0,60000}?CREATE TABLE \w+ \(\"BeginNs\" INTEGER",
        "Give the results.json that rocprof writes beside it, which perfscope reads.",
    ),
    _kind("an SQLite database", rb"SQLite format 3\0"),
    _kind("a zip archive", rb"PK\x03\x04", "Unpack it, and give what it holds."),
    _kind("data compressed with zstd", rb"\x28\xb5\x2f\xfd", "Decompress it: zstd -d FILE"),
    _kind("data compressed with xz", rb"\xfd7zXZ\0", "Decompress it: xz -d FILE"),
    _kind("data compressed with bzip2", rb"BZh", "Decompress it: bzip2 -d FILE"),
    _kind("a program or library", rb"\x7fELF"),
    _kind("a picture", rb"\x89PNG|\xff\xd8\xff"),
    _kind(
        "the records of one process; give the run directory that holds them",
        rb"PERFSCP1",
        "Give the directory that `perfscope run` printed (trace/).",
    ),
    _kind("a web page", rb"\s*<(?i:!DOCTYPE )?(?i:html)"),
)
ENDINGS = {
    ".nsys-rep": ("a report of Nsight Systems", "nsys export --type sqlite REPORT.nsys-rep"),
    ".qdrep": ("a report of Nsight Systems", "nsys export --type sqlite REPORT.qdrep"),
    ".ncu-rep": ("a report of Nsight Compute", "Profile the run with Nsight Systems instead."),
    ".vtune": ("a project of VTune", LIST),
    ".stf": ("a trace of Intel's Trace Analyzer and Collector", TIMELINE),
    ".slog2": ("a trace of Jumpshot", TIMELINE),
    ".darshan": ("a log of Darshan", LIST),
}


def look_alike(head: bytes) -> LookAlike | None:
    """What content that begins so is; None where it is not known."""
    return next((kind for kind in KINDS if kind.sign.match(head)), None)


def by_ending(path: Path) -> tuple[str, str] | None:
    """What a file is by its name, and what to do about it; None where that is not known."""
    return ENDINGS.get(path.suffix.lower())
