"""Looks for the best configuration with Optuna instead of running all of them."""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from perfscope.errors import UsageError
from perfscope.sweep.grid import Axis, Configuration
from perfscope.sweep.plan import Plan, Run

SEED = 20_260_101
ASKS_A_CONFIGURATION = 20

Measure = Callable[[Configuration], "float | None"]


def runs_of_search(plan: Plan, measure: Measure) -> Iterator[Run]:
    """The runs of a search: whoever takes the next one has made all before it.

    Larger values of `measure` are better; it is None when the runs failed.
    """
    allowed = [one for one in plan.configurations if one.number not in plan.refused]
    asking = explore(plan.axes, allowed, trials=plan.search or 0)
    try:
        one = next(asking)
        while True:
            for repeat in range(1, plan.repeat + 1):
                yield Run(one, repeat)
            one = asking.send(measure(one))
    except StopIteration:
        return


def explore(
    axes: Sequence[Axis], configurations: Sequence[Configuration], *, trials: int
) -> Generator[Configuration, float | None, None]:
    """The configurations that a search tries, each once; each is answered with its value.

    The choice follows from the seed and the values alone. So an interrupted search is continued by
    asking again from the start: what was run already answers at once.

    Of what is varied, numbers are ordered and texts are not.
    """
    optuna = load()
    distributions = {axis.name: _distribution(optuna, axis) for axis in axes}
    sampler = optuna.samplers.TPESampler(seed=SEED, n_startup_trials=max(3, trials // 3))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    by_values = {_key(one, axes): one for one in configurations}
    most = min(trials, len(by_values))
    known: dict[int, float | None] = {}
    for _ in range(ASKS_A_CONFIGURATION * trials):
        if len(known) >= most:
            return
        trial = study.ask(distributions)
        chosen = by_values.get(tuple(trial.params[axis.name] for axis in axes))
        if chosen is not None and chosen.number not in known:
            known[chosen.number] = yield chosen
        _answer(optuna, study, trial, None if chosen is None else known[chosen.number])
    # It keeps asking for what is known: what is left is taken in the order of the grid.
    for one in configurations:
        if len(known) < most and one.number not in known:
            known[one.number] = yield one


def load() -> Any:
    """Optuna.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import optuna  # noqa: PLC0415 - an extra, and only this option needs it
    except ImportError as error:
        raise UsageError(
            "--search cannot be used here.",
            why="The package optuna, which chooses what to try next, is not installed.",
            action="python3 -m pip install optuna, or leave --search out to run the whole grid.",
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _answer(optuna: Any, study: Any, trial: Any, value: float | None) -> None:
    if value is None or not math.isfinite(value):
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    else:
        study.tell(trial, value)


def _distribution(optuna: Any, axis: Axis) -> Any:
    last = len(axis.values) - 1
    if _is_ordered(axis):
        return optuna.distributions.IntDistribution(0, last)
    return optuna.distributions.CategoricalDistribution(tuple(range(last + 1)))


def _is_ordered(axis: Axis) -> bool:
    """Whether the values are rising or falling numbers, so that neighbors are alike."""
    try:
        numbers = [float(value) for value in axis.values]
    except ValueError:
        return False
    return numbers in (sorted(numbers), sorted(numbers, reverse=True))


def _key(one: Configuration, axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(axis.values.index(one.values[axis.name]) for axis in axes)
