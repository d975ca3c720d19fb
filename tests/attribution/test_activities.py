"""Activities come from what the innermost frames belong to, not from the names of the user's."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.stack_rules import BUILT_IN, SYSTEM_CALL, is_user_file, label_stacks
from perfscope.attribution.waited_for import main_wait
from perfscope.schema.enums import Activity, AwaitedThing
from tests.support.trace_builder import FrameLike, TraceBuilder

PACKAGES = "/opt/env/lib/python3.12/site-packages"
LIBRARY = "/usr/lib/python3.11"
LOOP = ("<module>", "/home/me/train.py", 40)
OWN = ("zebra", "/home/me/train.py", 12)


def native(name: str) -> FrameLike:
    return (name, BUILT_IN, 0)


def call(name: str) -> FrameLike:
    return (name, SYSTEM_CALL, 0)


def package(file: str, function: str = "work") -> FrameLike:
    return (function, f"{PACKAGES}/{file}", 3)


def library(file: str, function: str = "work") -> FrameLike:
    return (function, f"{LIBRARY}/{file}", 3)


def activity(*frames: FrameLike) -> Activity:
    return activities(frames)[0]


def activities(*stacks: Sequence[FrameLike]) -> list[Activity]:
    builder = TraceBuilder(1, end_s=1.0)
    for place, frames in enumerate(stacks):
        builder.rank(0).stack(0.1 + 0.1 * place, frames)
    return [ACTIVITIES[int(place)] for place in stack_activities(builder.build())]


def test_the_text_of_an_array_waits_for_what_computes_it() -> None:
    """JAX has returned before the work was done, and nothing but the values tells when it is."""
    read = package("jax/_src/array.py", "ArrayImpl._value")
    leaves = native("jaxlib._jax.ArrayImpl._copy_single_device_array"), call("futex"), read
    logged = library("logging/__init__.py", "LogRecord.getMessage")
    for name in ("ArrayImpl.__format__", "ArrayImpl.__str__"):
        text = package("jax/_src/array.py", name)
        for leaf in leaves:
            assert activity(OWN, text, read, leaf) is Activity.DEVICE_WAIT
            assert activity(OWN, logged, text, read, leaf) is Activity.DEVICE_WAIT
        assert activity(OWN, text) is Activity.LOGGING


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gc.collect", Activity.GARBAGE_COLLECTION),
        ("io.open", Activity.FILES),
        ("_io.TextIOWrapper.write", Activity.FILES),
        ("posix.fsync", Activity.FILES),
        ("posix.waitpid", Activity.SUBPROCESS),
        ("_pickle.dumps", Activity.SERIALIZATION),
        ("_json.make_encoder", Activity.SERIALIZATION),
        ("scipy.sparse._sparsetools.csr_column_index2", Activity.DATA_PREPARATION),
        ("scipy.sparse._sparsetools.csr_matvec", Activity.NUMERIC),
        ("numpy.dot", Activity.NUMERIC),
        ("numpy.ndarray.sum", Activity.NUMERIC),
        ("numpy.ndarray.tobytes", Activity.SERIALIZATION),
        ("numpy._core._multiarray_umath.array", Activity.INTERPRETER),
        ("numpy.core._multiarray_umath.frombuffer", Activity.SERIALIZATION),
        ("numpy._core._multiarray_umath.empty", Activity.NUMERIC),
        ("numpy.ndarray.argsort", Activity.NUMERIC),
        ("numpy.ndarray.argmax", Activity.NUMERIC),
        ("torch._C.TensorBase.backward", Activity.NUMERIC),
        ("time.sleep", Activity.SLEEP),
        ("time.monotonic", Activity.INTERPRETER),
        ("_thread.lock.acquire", Activity.LOCK),
        ("builtins.str.split", Activity.TEXT),
        ("re.Pattern.match", Activity.TEXT),
        ("zlib.compress", Activity.COMPRESSION),
        ("zlib.Decompress.decompress", Activity.UNPACKING),
        ("_bz2.BZ2Decompressor.decompress", Activity.UNPACKING),
        ("snappy.uncompress", Activity.UNPACKING),
        ("_hashlib.HASH.update", Activity.HASHING),
        ("zlib.crc32", Activity.HASHING),
        (".decompress", Activity.UNPACKING),
        ("builtins.list.append", Activity.INTERPRETER),
        ("builtins.print", Activity.LOGGING),
        ("builtins.compile", Activity.COMPILING),
        ("builtins.bytearray", Activity.MEMORY_MANAGEMENT),
        ("mpi4py.MPI.Comm.allreduce", Activity.SERIALIZATION),
        ("mpi4py.MPI.Intracomm.Allreduce", Activity.COMMUNICATION),
        (".acquire", Activity.LOCK),
        (".fsync", Activity.FILES),
        ("mpi4py.MPI.Intracomm.operator", Activity.UNKNOWN),
        ("numpy.ndarray.operator", Activity.NUMERIC),
        (".qwertz", Activity.UNKNOWN),
        ("quokka.hop", Activity.UNKNOWN),
    ],
)
def test_what_a_line_calls_tells(name: str, expected: Activity) -> None:
    assert activity(LOOP, OWN, native(name)) is expected


def test_own_code_without_a_call_is_the_interpreters() -> None:
    assert activity(LOOP, OWN) is Activity.INTERPRETER
    assert activity(LOOP) is Activity.INTERPRETER


def test_a_library_tells_by_its_parts() -> None:
    assert activity(LOOP, package("torch/nn/modules/linear.py")) is Activity.NUMERIC
    assert activity(LOOP, package("torch/distributed/c10d.py")) is Activity.COMMUNICATION
    assert activity(LOOP, package("torch/utils/data/dataloader.py")) is Activity.DATA_PREPARATION
    assert activity(LOOP, package("torch/serialization.py", "save")) is Activity.SERIALIZATION
    assert activity(LOOP, package("quokka/hop.py")) is Activity.UNKNOWN
    assert activity(LOOP, library("json/encoder.py", "iterencode")) is Activity.SERIALIZATION
    assert activity(LOOP, library("threading.py", "Condition.wait")) is Activity.LOCK


def test_a_library_claims_what_it_has_others_do() -> None:
    log = library("logging/__init__.py", "StreamHandler.emit")
    assert activity(LOOP, OWN, log, native("_io.TextIOWrapper.write")) is Activity.LOGGING
    read = package("PIL/Image.py")
    assert activity(LOOP, read, native("numpy.empty")) is Activity.DATA_PREPARATION
    assert activity(LOOP, read, native("io.open")) is Activity.FILES
    load = ("<frozen>", "<frozen importlib._bootstrap>", 3)
    assert activity(LOOP, OWN, load, native("marshal.loads")) is Activity.IMPORTING


def test_a_loader_claims_the_users_function_that_it_calls_back() -> None:
    fetch = package("torch/utils/data/_utils/fetch.py", "fetch")
    assert activity(LOOP, fetch, OWN) is Activity.DATA_PREPARATION
    assert activity(LOOP, fetch, OWN, native("numpy.random.normal")) is Activity.DATA_PREPARATION
    assert activity(LOOP, fetch, OWN, native("time.sleep")) is Activity.SLEEP
    assert activity(LOOP, package("click/core.py"), OWN) is Activity.INTERPRETER


def test_a_compiled_function_that_runs_is_not_compiling() -> None:
    wrapper = package("torch/_dynamo/eval_frame.py", "_fn")
    linear = package("torch/nn/modules/linear.py", "forward")
    assert activity(LOOP, wrapper, OWN, linear) is Activity.NUMERIC
    convert = package("torch/_dynamo/convert_frame.py", "compile_inner")
    assert activity(LOOP, wrapper, convert, OWN, linear) is Activity.COMPILING


def test_what_autograph_only_passes_on_is_not_compiling() -> None:
    """Its wrapper stands below each step that Keras runs eagerly; a traced one has a graph."""
    wrapper = package("tensorflow/python/autograph/impl/api.py", "wrapper")
    operator = [
        package("tensorflow/python/ops/gen_math_ops.py", "mat_mul"),
        native("tensorflow.python.pywrap_tfe.TFE_Py_FastPathExecute"),
    ]
    graph = package("tensorflow/python/framework/func_graph.py", "func_graph_from_py_func")
    rewrites = package("tensorflow/python/autograph/pyct/transpiler.py", "transform")
    assert activity(LOOP, wrapper, OWN, *operator) is Activity.NUMERIC
    assert activity(LOOP, graph, wrapper, OWN, *operator) is Activity.COMPILING
    assert activity(LOOP, wrapper, rewrites) is Activity.COMPILING


def test_looking_up_what_was_traced_is_not_compiling() -> None:
    tracing = "tensorflow/python/eager/polymorphic_function/tracing_compilation.py"
    looks_up = package(tracing, "_maybe_define_function")
    types = package("tensorflow/core/function/polymorphism/function_type.py", "from_value")
    assert activity(LOOP, looks_up, types, native("builtins.hash")) is Activity.NUMERIC
    traces = package(tracing, "_create_concrete_function")
    assert activity(LOOP, looks_up, traces, types, native("builtins.hash")) is Activity.COMPILING


def test_what_a_numeric_library_has_the_interpreter_do_is_its_own_work() -> None:
    dispatch = package("torch/_ops.py", "__call__")
    looks = library("inspect.py", "getattr_static")
    named_tuple = ("<lambda>", "<string>", 1)
    assert activity(LOOP, dispatch, looks) is Activity.NUMERIC
    assert activity(LOOP, dispatch, looks, native("builtins.isinstance")) is Activity.NUMERIC
    assert activity(LOOP, dispatch, named_tuple) is Activity.NUMERIC
    assert activity(LOOP, looks, native("builtins.isinstance")) is Activity.INTERPRETER
    assert activity(LOOP, named_tuple) is Activity.INTERPRETER
    assert activity(LOOP, dispatch, OWN, looks) is Activity.INTERPRETER
    assert activity(LOOP, library("heapq.py", "merge")) is Activity.INTERPRETER


def test_a_system_call_tells_what_no_name_does() -> None:
    other = package("quokka/hop.py")
    assert activity(LOOP, other, call("fsync")) is Activity.FILES
    assert activity(LOOP, OWN, native(".qwertz"), call("clock_nanosleep")) is Activity.SLEEP
    assert activity(LOOP, OWN, native("quokka.hop"), call("wait4")) is Activity.SUBPROCESS
    assert activity(LOOP, OWN, native("quokka.hop"), call("futex")) is Activity.LOCK
    assert activity(LOOP, OWN, call("flock")) is Activity.LOCK


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        (package("mpi4py/futures/pool.py", "result_iterator"), Activity.COMMUNICATION),
        (library("multiprocessing/pool.py", "ApplyResult.get"), Activity.WORKERS),
        (library("multiprocessing/pool.py", "Pool.__init__"), Activity.SUBPROCESS),
        (library("concurrent/futures/thread.py", "shutdown"), Activity.LOCK),
    ],
)
def test_who_waits_in_a_lock_tells_what_is_waited_for(
    waiting: tuple[str, str, int], expected: Activity
) -> None:
    lock = library("threading.py", "Condition.wait")
    assert activity(LOOP, waiting, lock, native("_thread.lock.acquire")) is expected
    assert activity(LOOP, waiting, OWN, lock) is Activity.LOCK
    assert activity(LOOP, waiting, native("numpy.add")) is Activity.NUMERIC


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"forks": 0}, Activity.LOCK),
        ({"forks": 1}, Activity.WORKERS),
        ({"forks": 0, "started": {"processes": 2}}, Activity.WORKERS),
        ({}, Activity.WORKERS),
    ],
)
def test_a_pool_of_a_job_that_starts_no_process_is_one_of_threads(
    metadata: dict[str, Any], expected: Activity
) -> None:
    builder = TraceBuilder(1, end_s=1.0)
    pool = library("multiprocessing/pool.py", "ApplyResult.get")
    lock = library("threading.py", "Condition.wait")
    builder.rank(0).stack(0.5, [LOOP, pool, lock, native("_thread.lock.acquire")])
    trace = builder.build()
    trace.ranks[0].metadata = metadata
    assert [ACTIVITIES[int(place)] for place in stack_activities(trace)] == [expected]


def test_a_library_that_waits_for_its_own_threads_still_computes() -> None:
    assert activity(LOOP, OWN, native("torch.matmul"), call("futex")) is Activity.NUMERIC


def test_nothing_without_python_code_is_the_users() -> None:
    assert not any(is_user_file(file) for file in (BUILT_IN, SYSTEM_CALL))


def test_what_a_line_calls_neither_names_a_phase_nor_is_the_users_function() -> None:
    builder = TraceBuilder(1, end_s=1.0)
    inner = package("quokka/hop.py")
    builder.rank(0).stack(0.5, [inner, native("quokka.load"), call("futex")])
    trace = builder.build()
    labels = label_stacks(trace, [("evaluate", "*load*")])
    assert labels.label.tolist() == [-1]
    assert trace.frames[int(labels.user_frame[0])].function == "work"


def test_code_that_has_not_begun_was_just_compiled() -> None:
    """What eval() or exec() is given as text is compiled before its first line."""
    assert activity(LOOP, OWN, ("<module>", "<string>", 0)) is Activity.COMPILING
    assert activity(LOOP, OWN, ("<module>", "<string>", 1)) is Activity.INTERPRETER
    assert activity(LOOP, OWN, ("<module>", "/home/me/other.py", 3)) is Activity.INTERPRETER


def test_a_traceback_for_each_operation_is_no_output() -> None:
    """As autograd's anomaly detection makes them; the logger's own is part of a log record."""
    formats = library("traceback.py", "StackSummary.extract")
    reads = library("linecache.py", "checkcache")
    assert activity(LOOP, OWN, formats, reads, native("posix.stat")) is Activity.DEBUGGING
    record = library("logging/__init__.py", "Formatter.formatException")
    assert activity(LOOP, OWN, record, formats, reads) is Activity.LOGGING


def test_values_that_are_made_readable_are_output() -> None:
    """Whoever asks for the text, logs or not; waiting for a device's value stays what it is."""
    shown = package("torch/_tensor.py", "Tensor.__repr__")
    inside = package("torch/_tensor_str.py", "_Formatter.__init__")
    assert activity(LOOP, OWN, shown, inside, native("torch.isfinite")) is Activity.LOGGING
    array = package("numpy/_core/arrayprint.py", "_array_str_implementation")
    assert activity(LOOP, OWN, array, native("numpy.ndarray.tolist")) is Activity.LOGGING
    synchronizes = native("torch.cuda.synchronize")
    assert activity(LOOP, OWN, shown, synchronizes) is not Activity.LOGGING


def test_arrays_are_serialized_by_what_pickling_calls_of_them() -> None:
    """Whoever pickles has no frame where it is C code: pickle itself, or mpi4py's calls."""
    taken = package("numpy/_core/numeric.py", "_frombuffer")
    made = package("torch/_utils.py", "_rebuild_tensor_v2")
    told = package("torch/_tensor.py", "Tensor.__reduce_ex__")
    assert activity(LOOP, OWN, taken, native("numpy.ndarray.reshape")) is Activity.SERIALIZATION
    assert activity(LOOP, OWN, made, native("torch.empty")) is Activity.SERIALIZATION
    assert activity(LOOP, OWN, told, native("torch.clone")) is Activity.SERIALIZATION
    summed = package("numpy/_core/fromnumeric.py", "_wrapreduction")
    assert activity(LOOP, OWN, summed, native("numpy.ufunc.reduce")) is Activity.NUMERIC


def test_texts_that_a_library_is_for_are_no_output() -> None:
    mail = library("email/message.py", "Message.__str__")
    assert activity(LOOP, OWN, mail, library("email/generator.py", "Generator.flatten")) is (
        Activity.TEXT
    )


def test_addresses_are_text_where_they_are_taken_apart() -> None:
    parses = library("urllib/parse.py", "urlsplit")
    asks = library("urllib/request.py", "urlopen")
    assert activity(LOOP, OWN, parses, native("builtins.str.split")) is Activity.TEXT
    assert activity(LOOP, OWN, asks, parses) is Activity.NETWORK


def test_a_nameless_call_of_a_library_is_what_that_library_does() -> None:
    """`numpy.trace` calls the array's own method by a name that is no longer known there."""
    wrapped = package("numpy/_core/fromnumeric.py", "_wrapfunc")
    saving = package("numpy/lib/_npyio_impl.py", "save")
    summing = package("numpy/_core/fromnumeric.py", "trace")
    assert activity(LOOP, OWN, saving, wrapped, native("?")) is Activity.FILES
    assert activity(LOOP, OWN, summing, wrapped, native("?")) is Activity.NUMERIC
    assert activity(LOOP, OWN, native("?")) is Activity.UNKNOWN


MAIN = ("main", "/home/me/train.py", 30)
PARSE = ("parse", "/home/me/train.py", 8)
PARSES = (LOOP, MAIN, PARSE, native("re.Pattern.match"))
FILLS = (LOOP, MAIN, OWN, native("numpy.array"))
MEETS = (LOOP, MAIN, native("mpi4py.MPI.Comm.Allreduce"))
TRAINS = (LOOP, package("torch/_tensor.py", "Tensor.backward"))


@pytest.mark.parametrize(
    ("stack", "beside", "expected"),
    [
        (PARSES, [], Activity.TEXT),
        (PARSES, [(LOOP, MAIN, native("io.open"))], Activity.DATA_PREPARATION),
        (PARSES, [(LOOP, MAIN, PARSE, native("io.open"))], Activity.DATA_PREPARATION),
        # the loop that communicates is no reader, though it opens a file at its beginning
        (PARSES, [(LOOP, MAIN, native("io.open")), MEETS], Activity.TEXT),
        (PARSES, [(LOOP, ("save", "/home/me/train.py", 3), native("io.open"))], Activity.TEXT),
        (PARSES, [TRAINS], Activity.DATA_PREPARATION),
        (FILLS, [MEETS], Activity.INTERPRETER),
        (FILLS, [TRAINS], Activity.DATA_PREPARATION),
        ((LOOP, package("torch/nn/modules/module.py"), *FILLS[1:]), [], Activity.INTERPRETER),
    ],
)
def test_data_are_prepared_only_where_they_are_input(
    stack: Sequence[FrameLike], beside: Sequence[Sequence[FrameLike]], expected: Activity
) -> None:
    assert activities(stack, *beside)[0] is expected


def test_compressing_what_is_saved_is_no_file_time() -> None:
    """`numpy.savez_compressed`: the bytes go to zlib first, and to the file then."""
    save = package("numpy/lib/_npyio_impl.py", "savez_compressed")
    packs = library("zipfile.py", "_ZipWriteFile.write")
    assert activity(LOOP, OWN, save, packs, native(".compress")) is Activity.COMPRESSION
    assert activity(LOOP, OWN, save, packs, native(".write")) is Activity.FILES


def test_unpacking_what_is_read_is_no_file_time_and_an_archive_alone_shows_no_unpacking() -> None:
    load = package("numpy/lib/_npyio_impl.py", "NpzFile.__getitem__")
    reads = library("zipfile.py", "ZipExtFile._update_crc")
    assert activity(LOOP, OWN, load, reads, native("zlib.crc32")) is Activity.FILES
    assert activity(LOOP, OWN, load, reads) is Activity.FILES
    unpacks = library("zipfile.py", "ZipExtFile._read1")
    inner = native("zlib.Decompress.decompress")
    assert activity(LOOP, OWN, load, unpacks, inner) is Activity.UNPACKING
    compressed = library("gzip.py", "GzipFile.read")
    assert activity(LOOP, OWN, compressed, inner) is Activity.UNPACKING
    assert activity(LOOP, OWN, compressed) is Activity.UNPACKING
    assert activity(LOOP, OWN, library("gzip.py", "GzipFile.write")) is Activity.COMPRESSION


def test_a_table_is_walked_through_by_python_and_computed_by_c() -> None:
    table = package("pandas/core/frame.py", "DataFrame.iterrows")
    assert activity(LOOP, OWN, table) is Activity.INTERPRETER
    assert activity(LOOP, OWN, table, native("pandas._libs.groupby.group_sum")) is Activity.NUMERIC
    assert activities((LOOP, OWN, table, native("numpy.empty")), TRAINS)[0] is (
        Activity.DATA_PREPARATION
    )


def test_a_loop_that_only_looks_waits_as_in_a_lock() -> None:
    """Lines 12 and 13 go round until something has changed; the loop around them works."""
    builder = TraceBuilder(1, end_s=1.0)
    file = "/home/me/train.py"
    told = {"place": f"fill\x1f{file}\x1f10", "lines": [[11, 15], [12, 13]], "polls": [[12, 13]]}
    builder.rank(0).set(metadata={"loops": [told]})
    for place, line in enumerate((12, 13, 15)):
        builder.rank(0).stack(0.1 + 0.1 * place, [LOOP, ("fill", file, line)])
    builder.rank(0).stack(0.5, [LOOP, ("fill", file, 12), native("numpy.dot")])
    # the time of day is looked at; that of the process passes only while it computes
    builder.rank(0).stack(0.6, [LOOP, ("fill", file, 12), native("time.monotonic")])
    builder.rank(0).stack(0.7, [LOOP, ("fill", file, 15), native("time.monotonic")])
    builder.rank(0).stack(0.8, [LOOP, ("fill", file, 12), native("time.process_time")])
    trace = builder.build()
    found = [ACTIVITIES[int(place)] for place in stack_activities(trace)]
    assert found[:4] == [Activity.LOCK, Activity.LOCK, Activity.INTERPRETER, Activity.NUMERIC]
    assert found[4:] == [Activity.LOCK, Activity.INTERPRETER, Activity.INTERPRETER]
    assert main_wait(Counter({0: 1, 4: 1}), trace) is AwaitedThing.BUSY_LOOP
    assert main_wait(Counter({2: 1}), trace) is AwaitedThing.UNKNOWN
