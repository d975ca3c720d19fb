"""POP factors as other tools print them, by their formulas."""

import json
import typing
from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.cli.scaling import scaling as command
from perfscope.document.hardware import hardware
from perfscope.metrics.compute import compute
from perfscope.metrics.efficiency.scalability import (
    NO_IDEAL,
    NO_WAITS,
    RunTotals,
    Scalability,
    Variant,
    scalability,
)
from perfscope.readers.paraver.reader import open_paraver

Reference = Callable[[str], Path]

RUN = RunTotals(
    runtime_s=10.0, useful_s=(6.0, 8.0), outside_s=(6.5, 8.25), ideal_s=9.5, waiting_s=(2.5, 0.25)
)
FACTORS = (
    "load_balance",
    "communication_efficiency",
    "serialization_efficiency",
    "transfer_efficiency",
)
LOAD_BALANCE, COMMUNICATION, PARALLEL = 7 / 8, 8 / 10, 14 / 20


def factors(variant: Variant, run: RunTotals = RUN) -> list[float]:
    """In the order of `FACTORS`; all must be known."""
    [row] = scalability([run], variant=variant)
    found = [getattr(row, name).value for name in FACTORS]
    assert None not in found
    return found


@pytest.mark.parametrize(
    ("variant", "balance", "serialization", "transfer"),
    [
        (Variant.POP, LOAD_BALANCE, 8 / 9.5, 9.5 / 10),
        (Variant.BSC, LOAD_BALANCE, 8.25 / 9.5, COMMUNICATION / (8.25 / 9.5)),
        (Variant.PYPOP, LOAD_BALANCE, 8.25 / 9.5, 9.5 / 10),
        (Variant.PYPOP_ADDITIVE, 1 - (8 - 7) / 10, 1 - (9.5 - 8.25) / 10, 9.5 / 10),
        (Variant.CUBE, LOAD_BALANCE, 8 / (6.5 + 2.5), (6.5 + 2.5) / 10),
    ],
    ids=lambda value: value.value if isinstance(value, Variant) else "",
)
def test_each_variant(
    variant: Variant, balance: float, serialization: float, transfer: float
) -> None:
    wanted = [balance, COMMUNICATION, serialization, transfer]
    assert factors(variant) == pytest.approx(wanted, rel=1e-12)
    [row] = scalability([RUN], variant=variant)
    assert row.parallel_efficiency.formula == variant.value
    assert row.parallel_efficiency.value == pytest.approx(PARALLEL, rel=1e-12)


@pytest.mark.parametrize("variant", [Variant.POP, Variant.BSC, Variant.CUBE])
def test_factors_multiply(variant: Variant) -> None:
    balance, communication, serialization, transfer = factors(variant)
    assert balance * communication == pytest.approx(PARALLEL, rel=1e-12)
    assert serialization * transfer == pytest.approx(communication, rel=1e-12)


def test_additive_factors_add_up_less_one() -> None:
    """Where all time outside MPI is useful; else serialization speaks of more than the parent."""
    run = RunTotals(10.0, (6.0, 8.0), (6.0, 8.0), ideal_s=9.5)
    balance, communication, serialization, transfer = factors(Variant.PYPOP_ADDITIVE, run)
    assert balance + communication - 1 == pytest.approx(PARALLEL, rel=1e-12)
    assert serialization + transfer - 1 == pytest.approx(communication, rel=1e-12)


def test_cube_needs_no_replay_and_the_others_no_waits() -> None:
    """Each says what it lacks."""
    [row] = scalability([RunTotals(10.0, (8.0,), (8.0,), waiting_s=(1.0,))], variant=Variant.POP)
    assert (row.transfer_efficiency.value, row.transfer_efficiency.reason) == (None, NO_IDEAL)
    [row] = scalability([RunTotals(10.0, (8.0,), (8.0,), ideal_s=9.0)], variant=Variant.CUBE)
    assert (row.transfer_efficiency.value, row.transfer_efficiency.reason) == (None, NO_WAITS)
    [row] = scalability([RunTotals(10.0, (8.0,), (8.0,), waiting_s=(1.0,))], variant=Variant.CUBE)
    assert row.transfer_efficiency.value == 0.9


def test_scaling_offers_every_variant() -> None:
    [option] = [one for one in command.params if one.name == "formula"]
    assert list(typing.cast("typing.Any", option.type).choices) == [one.value for one in Variant]


def test_a_run_without_length_has_no_factors() -> None:
    for variant in Variant:
        [row] = scalability([RunTotals(0.0, (0.0,), (0.0,), ideal_s=1.0)], variant=variant)
        assert isinstance(row, Scalability)
        assert row.parallel_efficiency.value is None


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_variants_of_a_published_series(reference: Reference, processes: int) -> None:
    """EPOCH: the factors that follow from its published times; `bsc` stands with the reader."""
    published = json.loads(reference("expected.json").read_text(encoding="utf-8"))["paraver_epoch"]
    place = published["procs"].index(processes)
    known = {key: found[place] for key, found in published.items() if isinstance(found, list)}
    length, ideal = known["runtime_us"], known["runtime_ideal_us"]
    useful, mean = known["useful_max_us"], known["useful_avg_us"]
    outside = known["useful_max_ideal_us"]
    wanted = {
        "pop": (mean / useful, useful / ideal, ideal / length),
        "pypop": (mean / useful, outside / ideal, ideal / length),
        "pypop-additive": (
            1 - (useful - mean) / length,
            1 - (ideal - outside) / length,
            ideal / length,
        ),
    }
    path = reference(f"paraver_epoch/epoch_{processes}proc.prv.gz")
    found = hardware(compute(open_paraver(path)))
    assert found is not None
    names = ("load_balance", "serialization_efficiency", "transfer_efficiency")
    for variant, factors_of_it in wanted.items():
        told = [getattr(found.variants[variant], name).value for name in names]
        # the times are published to 10 ns
        assert told == pytest.approx(factors_of_it, abs=3e-9), variant
    for factors in found.variants.values():
        whole = factors.parallel_efficiency.value
        assert whole == pytest.approx(known["parallel_eff_pct"] / 100, abs=1e-8)
    cube = found.variants["cube"].transfer_efficiency.value
    # without a replay all waits stay, also those that a faster network would shorten
    assert ideal / length - 1e-9 <= cube <= ideal / length + 1e-3
