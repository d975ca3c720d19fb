"""Settings that are there for debugging, left on in a run that trains."""

from collections.abc import Callable, Sequence

from perfscope.attribution.ledger import INDEX
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account, Confidence, Status
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank
from perfscope.trace.switches import set_in
from perfscope.units import format_count, inside, listed


@dataclass(frozen=True)
class _Setting:
    """One such setting: whether a rank has it, what it does, and how to be without it."""

    name: str
    is_on: Callable[[Rank], bool]
    title: str
    does: str
    action: str
    status: Status = Status.INFO
    fact: str = ""  # by which the lines are told that switch it on, if the program has some
    is_by_program: bool = False  # whether nothing else does: no variable, option or other tool


GREP = ", which `grep -rn {0} .` finds"
"""Behind what is to be removed, where no line of the program's own was found."""


def _noted(framework: str, fact: str) -> Callable[[Rank], bool]:
    return lambda rank: rank.framework(framework).get(fact) is True


def _variable(name: str, *values: str) -> Callable[[Rank], bool]:
    """Whether a variable of the environment has one of some values, any case; any if none are."""

    def is_on(rank: Rank) -> bool:
        environment = rank.metadata.get("environment")
        value = environment.get(name, "") if isinstance(environment, dict) else ""
        return str(value).lower() in values if values else str(value) not in ("", "0")

    return is_on


def _of_device(name: str) -> Callable[[Rank], bool]:
    """Whether a variable is set that does something where a rank has a device."""
    is_set = _variable(name)
    return lambda rank: rank.devices is not None and is_set(rank)


_UNSET = "Remove the variable from the environment: `unset {0}`."
EAGERLY = "each step runs operation by operation, each of them called from Python"
SETTINGS = (
    _Setting(
        "run_eagerly",
        _noted("keras", "run_eagerly"),
        "Keras runs its steps operation by operation (run_eagerly)",
        f"With run_eagerly, {EAGERLY}, in place of one compiled function.",
        "Leave run_eagerly=True out of compile(), and tf.config.run_functions_eagerly(True) out of "
        "the program: Keras then compiles the step once, with tf.function.",
        Status.FAIL,
        "run_eagerly",
        is_by_program=True,
    ),
    _Setting(
        "run_functions_eagerly",
        _noted("tensorflow", "functions_run_eagerly"),
        "Functions of TensorFlow run operation by operation (run_functions_eagerly)",
        f"With tf.config.run_functions_eagerly(True), tf.function compiles nothing: {EAGERLY}.",
        "Leave tf.config.run_functions_eagerly(True) out of the program.",
        Status.FAIL,
        "functions_run_eagerly",
        is_by_program=True,
    ),
    _Setting(
        "disable_jit",
        _noted("jax", "disable_jit"),
        "JAX compiles nothing (disable_jit)",
        f"With jax_disable_jit, {EAGERLY}.",
        "Leave JAX_DISABLE_JIT and jax.disable_jit() out of runs that train.",
        Status.FAIL,
        "disable_jit",
    ),
    _Setting(
        "jax_debug_nans",
        _noted("jax", "debug_nans"),
        "JAX searches each result for NaN (jax_debug_nans)",
        "With jax_debug_nans each result is waited for and searched, and what holds a NaN is run "
        "again operation by operation.",
        "Leave jax_debug_nans (JAX_DEBUG_NANS) out of runs that train.",
        Status.WARN,
        "debug_nans",
    ),
    _Setting(
        "anomaly mode",
        _noted("torch", "anomaly_mode"),
        "PyTorch keeps a traceback of each operation (anomaly mode)",
        "With anomaly mode each operation of the forward pass keeps its traceback, and each result "
        "of the backward pass is searched for NaN.",
        "Remove set_detect_anomaly(True), or the `with` block of detect_anomaly(){grep}.",
        Status.WARN,
        "anomaly_mode",
        is_by_program=True,
    ),
    _Setting(
        "deterministic algorithms",
        _noted("torch", "deterministic"),
        "PyTorch takes deterministic algorithms where it has them",
        "With torch.use_deterministic_algorithms PyTorch takes slower algorithms where the fast "
        "ones add up in any order, and fills memory that it allocates.",
        "Where results need not be the same to the last bit, leave "
        "torch.use_deterministic_algorithms(True) out; where they must, "
        "torch.utils.deterministic.fill_uninitialized_memory = False spares filling memory.",
        fact="deterministic",
        is_by_program=True,
    ),
    _Setting(
        "a trace function",
        lambda rank: "trace_function" in rank.metadata,
        "Python calls a trace function at each line",
        "A debugger or coverage tool is called for each line of Python that runs.",
        "Run without the trace function: no coverage, pdb or sys.settrace.",
        Status.WARN,
        "trace_function",
    ),
    _Setting(
        "a profile function",
        lambda rank: "profile_function" in rank.metadata,
        "Python calls a profiler at each call and return",
        "While a profiler like cProfile is on, each call of a function costs more, so that code of "
        "small functions looks slower beside libraries than it is.",
        "Leave the profiler off in runs that train (cProfile, sys.setprofile), or have it on for "
        "a few steps, and record again: what Python code costs is not known with it.",
        Status.WARN,
        "profile_function",
    ),
    _Setting(
        "tracemalloc",
        lambda rank: "tracemalloc_frames" in rank.metadata,
        "Python notes where each of its objects was allocated (tracemalloc)",
        "With tracemalloc each allocation of Python keeps its traceback: code that makes objects "
        "takes several times as long, wherever it is.",
        "Remove tracemalloc.start() from runs that train (also `-X tracemalloc` and "
        "PYTHONTRACEMALLOC), and record again: what Python code costs is not known with it.",
        Status.FAIL,
        "tracemalloc_frames",
    ),
    _Setting(
        "CUDA_LAUNCH_BLOCKING",
        _of_device("CUDA_LAUNCH_BLOCKING"),
        "Each kernel is waited for (CUDA_LAUNCH_BLOCKING)",
        "With CUDA_LAUNCH_BLOCKING the host waits for each kernel before it launches the next one.",
        _UNSET.format("CUDA_LAUNCH_BLOCKING"),
        Status.WARN,
    ),
    _Setting(
        "PYTORCH_NO_CUDA_MEMORY_CACHING",
        _of_device("PYTORCH_NO_CUDA_MEMORY_CACHING"),
        "Memory of the device is allocated anew each time (PYTORCH_NO_CUDA_MEMORY_CACHING)",
        "Each tensor is allocated and freed by the driver, which waits for the device.",
        _UNSET.format("PYTORCH_NO_CUDA_MEMORY_CACHING"),
        Status.WARN,
    ),
    _Setting(
        "TORCH_DISTRIBUTED_DEBUG",
        _variable("TORCH_DISTRIBUTED_DEBUG", "detail"),
        "Each collective is checked (TORCH_DISTRIBUTED_DEBUG)",
        "Before each collective the ranks compare what they are about to do, over another channel.",
        _UNSET.format("TORCH_DISTRIBUTED_DEBUG"),
    ),
    _Setting(
        "PYTHONMALLOC",
        _variable("PYTHONMALLOC", "debug", "malloc_debug", "pymalloc_debug"),
        "Python's allocator checks each block (PYTHONMALLOC)",
        "Each block of memory is filled and checked.",
        _UNSET.format("PYTHONMALLOC"),
    ),
    _Setting(
        "PYTHONDEVMODE",
        _variable("PYTHONDEVMODE"),
        "Python runs in its development mode (PYTHONDEVMODE)",
        "Python's development mode checks memory and arguments.",
        _UNSET.format("PYTHONDEVMODE"),
    ),
    *(
        _Setting(name, _variable(name), f"{what} ({name})", does, _UNSET.format(name))
        for name, what, does in (
            (
                "MALLOC_PERTURB_",
                "The C library fills each block of memory",
                "Each block of memory is filled with a value when it is allocated and freed.",
            ),
            (
                "MKL_VERBOSE",
                "MKL writes a line for each call",
                "Each call of MKL is timed, and a line is written about it.",
            ),
        )
    ),
)
NOTED = (("keras", "run_eagerly"), ("torch", "anomaly_mode"), ("jax", "disable_jit"))


def is_known(results: Results) -> bool:
    """Whether one of them is on, or a framework was asked for its own: older recordings do not."""
    return any(
        any(one.is_on(rank) for one in SETTINGS)
        or any(fact in rank.framework(framework) for framework, fact in NOTED)
        for rank in results.trace.ranks
    )


def judge(run: Facts) -> Outcome:
    """Which such settings are on, the one that costs most first."""
    results = run.results
    found = [(one, ranks) for one in SETTINGS if (ranks := _with(results, one))]
    if not found:
        return passed("No debugging setting that slows training down was seen.")
    found.sort(key=lambda pair: pair[0].status.order)
    first, ranks = found[0]
    share, where = _training_share(results), _set_in(results, first)
    status = first.status if share >= thresholds.FAIL_SHARE else Status.INFO
    return Finding(
        status=status,
        title=f"{first.title}{_switched_on(first, where)}",
        summary=(
            f"{first.does} Training takes {wording.of_window(share)}; how much shorter it would be "
            "without this, this run does not tell: compare with a run of as many steps without it."
        ),
        confidence=Confidence.HIGH,
        ranks=ranks,
        where=where,
        evidence=tuple(Evidence(one.name, f"on, on {wording.ranks(who)}") for one, who in found),
        actions=tuple(dict.fromkeys(_action(one, _set_in(results, one)) for one, _ in found)),
        overlaps=("lost_to_interpreter", "lost_to_debugging"),
    )


def _set_in(results: Results, setting: _Setting) -> tuple[Frame, ...]:
    """The lines that switch it on, as far as the program has some."""
    found = (set_in(rank.metadata, setting.fact) for rank in results.trace.ranks)
    return next((places for places in found if places), ()) if setting.fact else ()


def _switched_on(setting: _Setting, where: Sequence[Frame]) -> str:
    """At which line it is switched on, behind the title; what else may have done it is said.

    A line that was found need not have run: it is sure where there is no other.
    """
    if not where:
        return ""
    is_sure = setting.is_by_program and len(where) == 1
    more = f", or at {format_count(len(where) - 1)} more" if len(where) > 1 else ""
    how = "" if is_sure else "which may be "
    return f", {how}switched on in {wording.place(where[0])}{more}"


def _action(setting: _Setting, where: Sequence[Frame]) -> str:
    """What to do about it, and at which lines."""
    grep = "" if where else GREP.format("detect_anomaly")
    action = setting.action.format(grep=grep)
    if not where:
        return action
    at = listed([wording.place(one) for one in where])
    return f"In {at}: {inside(action)}"


def _with(results: Results, setting: _Setting) -> tuple[int, ...]:
    """The ranks that have it."""
    return tuple(rank.number for rank in results.trace.ranks if setting.is_on(rank))


def _training_share(results: Results) -> float:
    """What training takes of the ranks' time in the analyzed window."""
    ns = results.ledger.ns
    training = ns[INDEX[Account.TRAINING]].sum() + ns[INDEX[Account.COMPUTATION]].sum()
    return float(training / max(1, ns.sum()))


DIAGNOSIS = Diagnosis(
    id="debug_settings",
    title="Debugging settings are on",
    description=(
        "Looks for debugging settings that slow training down: steps that Keras, TensorFlow or "
        "JAX were told not to compile, PyTorch's anomaly mode, a Python trace or profile "
        "function, tracemalloc, and environment variables that make the host wait for each "
        "kernel, check each block of memory or compare each collective. The program's own files "
        "tell which line switches one on."
    ),
    judge=judge,
    applies=is_known,
    intact=RANK_BY_RANK,
    passed="No debugging settings are on",
    evidence="the settings, and the ranks that have them",
    gain_from=(
        "no seconds: what compiled steps would take is not known from a run without; of anomaly "
        "mode a replay without tracebacks and without the searches for NaN, which are timed on "
        "CPUs when the program is over"
    ),
    counts_from=(
        "fails where steps are not compiled or allocations are traced, warns where each operation, "
        "line or kernel is looked at, if training takes "
        f"{100 * thresholds.FAIL_SHARE:g} % of the window; else it is reported (info)"
    ),
    rank=15,
    references=(
        (
            "Keras, training of models (run_eagerly): "
            "https://keras.io/api/models/model_training_apis/"
        ),
    ),
)
