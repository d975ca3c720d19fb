"""Where ranks that have more to do spend it."""

from dataclasses import replace

from perfscope.findings.facts.uneven_work import excess_of
from perfscope.metrics.compute import compute
from perfscope.schema.enums import Account, PhaseKind
from perfscope.schema.time import FunctionShare
from tests.support.trace_builder import TraceBuilder


def test_steps_whose_parts_are_not_known_name_the_function_as_well() -> None:
    """Rank 1 examines for 60 ms in each step; its backward pass takes 2 ms more, too."""
    builder, train = TraceBuilder(2, end_s=30.0), ("main", "/job/train.py", 40)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    for step in range(80):
        begin = 1.0 + 0.2 * step
        for number, rank in enumerate(ranks):
            at = begin + 0.05 + 0.06 * number
            for tick in range(round((at - begin) / 0.01)):
                doing = ("examine", "/job/train.py", 18) if tick >= 5 else train
                rank.stack(begin + 0.01 * tick + 0.005, [train, doing])
            rank.phase(PhaseKind.BACKWARD, at, at + 0.04 + 0.002 * number)
            rank.op("MPI_Allreduce", at + 0.04 + 0.002 * number, begin + 0.2, seq=step)
    for rank in ranks:
        rank.finalize(17.0)
    results = compute(builder.build())
    shares = [replace(one, account=Account.TRAINING) for one in results.ledger.functions]
    results = replace(results, ledger=replace(results.ledger, functions=tuple(shares)))
    excess = excess_of(results, (1,), results.start_up)
    assert [(one.function, one.line) for one in excess[0].where] == [("examine", 18)]
    assert excess[0].seconds > 0.06 * 80


def test_what_all_ranks_call_is_told_by_the_caller_that_only_the_late_one_has() -> None:
    """Rank 0 runs the layer for 50 ms more in each step, to validate; `report` is a part of it."""
    builder, train = TraceBuilder(2, end_s=30.0), ("main", "/job/train.py", 40)
    layer, report = ("layer", "/job/train.py", 9), ("report", "/job/train.py", 31)
    validate = (("main", "/job/train.py", 44), ("validate", "/job/train.py", 28))
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    for step in range(80):
        begin = 1.0 + 0.2 * step
        for number, rank in enumerate(ranks):
            for tick in range(5):
                rank.stack(begin + 0.01 * tick + 0.005, [train, layer])
            for tick in range(5 if number == 0 else 0):
                own = ((*validate, layer), (*validate, layer), (*validate, layer), validate)
                doing = (*own, (*validate, report, layer))[tick]
                rank.stack(begin + 0.01 * tick + 0.055, doing)
            rank.op("MPI_Allreduce", begin + 0.1 - 0.05 * number, begin + 0.2, seq=step)
    for rank in ranks:
        rank.finalize(17.0)
    results = compute(builder.build())
    excess = excess_of(results, (0,), results.start_up)
    assert [(one.function, one.line) for one in excess[0].where] == [("validate", 28), ("layer", 9)]
    assert excess[0].name.startswith("validate()")


def test_what_is_more_in_the_steps_goes_before_less_outside_of_them() -> None:
    """Rank 1 works 4 s longer: 2 s more outside of the steps, and in them 5 s more and 3 s less."""
    builder = TraceBuilder(2, end_s=30.0)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    for step in range(80):
        begin = 1.0 + 0.2 * step
        for number, rank in enumerate(ranks):
            rank.stack(begin + 0.01, [("main", "/job/train.py", 40)])
            rank.op("MPI_Allreduce", begin + 0.1 + 0.05 * number, begin + 0.2, seq=step)
    for rank in ranks:
        rank.finalize(17.0)
    results = compute(builder.build())
    share = results.ledger.functions[0]

    def spent(name: str, account: Account, *seconds: float) -> FunctionShare:
        spent_s = sum(seconds)
        return replace(
            share, function=name, account=account, seconds=spent_s, seconds_by_rank=seconds
        )

    shares = (
        spent("forward", Account.TRAINING, 9.0, 6.0),
        spent("examine", Account.TRAINING, 0.0, 5.0),
        spent("build", Account.COMPUTATION, 1.0, 3.0),
    )
    results = replace(results, ledger=replace(results.ledger, functions=shares))
    excess = excess_of(results, (1,), results.start_up)
    assert [one.where[0].function for one in excess[:1]] == ["examine"]
