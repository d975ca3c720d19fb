"""Metadata is text from a file: whatever stands in it, no diagnosis fails by itself."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.sampled_from(["", "0-3", "1", "[redacted]", "AVX2", "\x1b[31m", "x" * 500]),
    st.just([None, {}, "a"]),
)


def rows(**columns: Any) -> st.SearchStrategy[Any]:
    """A list of objects of these columns, or something else."""
    return ODD | st.lists(st.fixed_dictionaries({}, optional={**columns}) | ODD, max_size=3)


LOADER = dict.fromkeys(("workers", "sampler", "dataset", "samples", "training"), ODD)
FRAMEWORKS = {
    "torch": st.fixed_dictionaries({"loaders": rows(**LOADER), "threads": ODD}),
    "torch.distributed": st.fixed_dictionaries({"ddp": st.just(value=True) | ODD}),
    "horovod": st.fixed_dictionaries({"optimizers": st.just(1) | ODD, "broadcasts": rows()}),
    "tensorflow": st.fixed_dictionaries({"intra_op_threads": ODD, "inter_op_threads": ODD}),
    "daal4py": st.fixed_dictionaries({"threads": ODD}),
}
TOPOLOGY = {
    "cpus": ODD,
    "numa_nodes": ODD,
    "numa": ODD | st.dictionaries(st.sampled_from(["0", "1", "x"]), ODD),
    "cpu_features": ODD | st.just(["sse2", "avx2"]),
}
NUMA = {"moves": ODD, "bytes_by_node": ODD | st.dictionaries(st.sampled_from("01x"), ODD)}
VARIABLES = ("OMP_NUM_THREADS", "ATEN_CPU_CAPABILITY", "I_MPI_ASYNC_PROGRESS", "OPENBLAS_CORETYPE")
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "frameworks": ODD | st.fixed_dictionaries({}, optional={**FRAMEWORKS}),
        "topology": ODD | st.fixed_dictionaries({}, optional={**TOPOLOGY}),
        "numa": ODD | st.fixed_dictionaries({}, optional={**NUMA}),
        "environment": ODD | st.dictionaries(st.sampled_from(VARIABLES), ODD),
        "versions": ODD | st.just({"torch": "2"}),
        "blas_libraries": rows(library=ODD | st.just("libgomp.so"), threads=ODD),
        "blas_threads": ODD,
        "children_cpu_s": ODD,
        "file_systems": rows(type=ODD, mount=ODD, stripes=ODD),
    },
)


@settings(max_examples=25)
@given(METADATA, METADATA)
def test_no_diagnosis_fails_by_itself(first: dict[str, Any], second: dict[str, Any]) -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for number, metadata in enumerate((first, second)):
        rank = builder.rank(number).init(1.0).finalize(19.0)
        rank.set(metadata=metadata, cpus_allowed="0", workers=({"pid": 7},))
        rank.thread("python", tid=1000 + number, cpu_s=9.0, samples=36, runnable=30)
        for half in range(2, 38):
            at = half / 2
            rank.process_sample(
                at,
                cpu_s=at / 2,
                queue_delay_s=at / 2,
                threads=9,
                runnable=half % 4,
                blocked=half % 3,
            )
    analyzed = analyze_trace(builder.build())
    assert [f.summary for f in analyzed.findings.values() if f.status is Status.ERROR] == []
    assert analyzed.document()
