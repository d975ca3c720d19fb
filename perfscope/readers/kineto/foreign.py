"""Chrome traces that PyTorch's profiler did not write: who did, and what they cannot tell."""

from collections.abc import Sequence

import numpy as np

from perfscope.readers.kineto.calls import is_export
from perfscope.readers.kineto.file import FOREIGN, OTHER, KinetoContents

NOT_TOLD = "a Chrome trace of a tool that knows no ranks does not hold their communication"
_TOOLS = (
    ("viztracer_metadata", "VizTracer"),
    ("smdebug", "SageMaker Debugger"),
    ("/host:", "the profiler of TensorFlow or JAX"),
    ("/device:", "the profiler of TensorFlow or JAX"),
    ("crrenderermain", "a browser"),
    ("crbrowsermain", "a browser"),
    ("product-version", "a browser"),
    ("perfetto", "Perfetto"),
    ("nsys", "Nsight Systems"),
)
"""What members, processes, threads or categories of a file are called, and which tool calls so."""


OF_TORCH = ("aten::", "autograd::", "c10d::", "torch", "ProfilerStep#", "nn.Module: ", "Optimizer.")
"""How what PyTorch's profiler writes is called: its operators, and what it adds by itself."""


def is_of_torch(contents: KinetoContents) -> bool:
    """Whether PyTorch made it, as its names tell: JAX and TensorFlow may write the same format."""
    return any(name.startswith(OF_TORCH) for name in contents.names)


def is_foreign(contents: KinetoContents) -> bool:
    """Whether a file holds nothing but intervals of names and categories that Kineto lacks."""
    kinds = np.unique(contents.host["kind"]).tolist()
    told = {"schemaVersion", "deviceProperties", "distributedInfo"} & contents.members.keys()
    counts = contents.counts
    is_known = told or counts["operators"] or len(contents.calls) or is_export(contents)
    return not is_known and bool(kinds) and set(kinds) <= {OTHER, FOREIGN}


def notes_on(contents: KinetoContents) -> list[str]:
    """Who wrote a file of another tool, and what became of its events."""
    if not is_foreign(contents):
        return []
    tool = _tool(contents)
    of = tool or "another tool"
    note = (
        f"{contents.path.name} is a Chrome trace of {of}: its events are phases by their names, "
        "and of ranks and communication it tells nothing. --phase ID=GLOB takes names and "
        "categories together."
    )
    return [note]


def _tool(contents: KinetoContents) -> str:
    words: Sequence[str] = [
        *contents.members,
        *(str(value)[:2000] for value in contents.members.values()),
        *(process.name for process in contents.processes),
        *(thread.name for thread in contents.threads),
        *(contents.names[place] for place in np.unique(contents.host["category"]).tolist()),
    ]
    text = "\n".join(words).lower()
    return next((tool for word, tool in _TOOLS if word in text), "")
