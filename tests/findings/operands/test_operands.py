"""What operands show that work need not do, and runs that are close but innocent."""

from typing import Any

import pytest

from perfscope.schema.enums import Status
from perfscope.trace.operands import worked_on
from tests.findings.operands.operand_runs import FILE, OTHER, STEPS, faults, judged, operand, site


def test_a_run_whose_operands_nobody_looked_at_is_not_judged() -> None:
    assert judged() == {}


def test_the_same_operands_in_all_calls() -> None:
    """Half of each step is spent in the line: 4 s of 8 s, on both ranks."""
    (finding,) = faults(site(operand())).values()
    assert finding.id == "repeated_work"
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.1 * STEPS, rel=0.05)
    assert finding.gain is not None
    assert finding.gain.is_bound
    assert finding.ranks == (0, 1)
    assert [(one.function, one.line) for one in finding.where] == [("whiten", 20)]
    assert "`covariance`" in finding.title


def test_a_line_has_the_part_of_its_instructions_that_are_the_same() -> None:
    """Three of four looks at the line saw the instruction whose operands never differ."""
    other = operand(name="traces", contents=5)
    changing = site(operand(), other, looks=5, whole_looks=5, contents=5)
    (finding,) = faults(site(operand(), looks=15, whole_looks=15), changing).values()
    assert finding.gain_s == pytest.approx(0.75 * 0.1 * STEPS, rel=0.05)


def test_instructions_that_were_seldom_met_have_their_part_of_the_line() -> None:
    """Half of the looks at the line saw others, each too seldom to tell whether it repeats."""
    seldom = [
        site(operand(looks=1), looks=1, whole_looks=1),
        site(operand(looks=2), looks=2, whole_looks=2, contents=2),
    ]
    (finding,) = faults(site(operand(), looks=3, whole_looks=3), *seldom).values()
    assert finding.gain_s == pytest.approx(0.5 * 0.1 * STEPS, rel=0.05)
    assert finding.title.startswith("Part of line 20 in whiten()")


def test_instructions_of_which_nothing_is_told_have_their_part_of_the_line() -> None:
    (finding,) = faults(site(operand(), visits=10, line_visits=40)).values()
    assert finding.gain_s == pytest.approx(0.25 * 0.1 * STEPS, rel=0.05)


@pytest.mark.parametrize(
    "changes",
    [
        {"contents": 2},
        {"whole_looks": 9},
        {"result_looks": 4, "results": 2},
        {"is_innermost": False},
        {"looks": 1, "whole_looks": 1},
    ],
    ids=["differs", "unknown", "result differs", "calls the program", "seldom seen"],
)
def test_what_may_differ_is_not_called_the_same(changes: dict[str, Any]) -> None:
    assert faults(site(operand(), **changes)) == {}


def in_turn(contents: int = 4, returns: int = 5, **changes: Any) -> dict[str, Any]:
    """Ten looks at the hot line in which one of several arrays was there, one of them once."""
    told = {"contents": contents, "contents_once": 1, "contents_back": returns}
    return site(operand(**told), **{**told, **changes})


def test_contents_that_come_back_by_turns_are_computed_again() -> None:
    """One look in ten has met contents that no other has: such work is new."""
    (finding,) = faults(in_turn()).values()
    assert finding.id == "repeated_work"
    assert "computes 4 results by turns from `covariance`" in finding.title
    assert "once for each of their 4 contents" in finding.actions[0]
    assert finding.gain_s == pytest.approx(0.9 * 0.1 * STEPS, rel=0.05)


@pytest.mark.parametrize(
    "seen",
    [
        in_turn(returns=0, contents=2),  # it has changed once, or now and then
        in_turn(returns=2),
        in_turn(contents=6),  # of ten looks: there are more that none has met
        in_turn(result_looks=4, results=4, results_back=0),
    ],
    ids=["changes", "back by chance", "of many", "results differ"],
)
def test_contents_that_are_no_few_by_turns_are_not_the_same(seen: dict[str, Any]) -> None:
    assert faults(seen) == {}


def test_what_comes_by_turns_may_be_seen_more_fully_at_another_line() -> None:
    """Not all of them were met here; where they are others each time there, that tells more."""
    place = f"whiten\x1f{FILE}\x1f21"
    assert set(faults(in_turn(3), in_turn(5, place=place))) == {"repeated_work"}
    assert faults(in_turn(3), in_turn(5, returns=0, place=place)) == {}
    assert faults(site(operand()), in_turn(place=place, is_innermost=False)) == {}


def test_what_is_seen_to_change_elsewhere_in_the_function_is_not_the_same() -> None:
    """Pieces of a large array tell nothing of a change beside them."""
    other = f"whiten\x1f{FILE}\x1f21"
    assert faults(site(operand()), site(operand(contents=3), contents=3, place=other)) == {}


def test_one_long_call_repeats_nothing() -> None:
    assert faults(site(operand()), is_one_call=True) == {}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"shares": {"subnormal": 0.4}, "contents": 9}, "subnormal"),
        ({"byte_order": "foreign"}, "its bytes are in the other order"),
        ({"dtype": "float16", "contents": 9}, "computes in half precision (float16)"),
        ({"dtype": "float128", "contents": 9}, "computes in extended precision (float128)"),
        ({"dtype": "object", "contents": 0}, "takes Python objects"),
        ({"layout": "strided", "stride": 16384, "contents": 9}, "memory layout"),
    ],
)
def test_operands_that_cpus_handle_slowly(changes: dict[str, Any], told: str) -> None:
    (finding,) = faults(site(operand(**changes), contents=9)).values()
    assert finding.id == "slow_operands"
    assert told in finding.title
    # nearly all vectors of four values hold one of these
    vectors = 99 * (1 - 0.6**4)
    # a line of the cache holds eight doubles in one piece
    part = {"subnormal": vectors / (1 + vectors), "memory layout": 7 / 8}.get(told, 1.0)
    assert finding.gain_s == pytest.approx(part * 0.1 * STEPS, rel=0.02)


@pytest.mark.parametrize(
    ("times", "part"), [(21.0, 20 / 21), (3.0, 2 / 3), (1.3, 0.0), (0.0, 0.99), (None, 0.99)]
)
def test_subnormal_values_cost_what_they_were_timed_to_take(
    times: float | None, part: float
) -> None:
    """Where nobody timed them they cost at most what they do on any CPU."""
    slow = site(operand(shares={"subnormal": 1.0}, contents=9), contents=9)
    timed = {} if times is None else {"subnormal_times": {"float64": times, "float32": 77.0}}
    found = faults(slow, timed=timed)
    assert set(found) == ({"slow_operands"} if part else set())
    if part:
        assert found["slow_operands"].gain_s == pytest.approx(part * 0.1 * STEPS, rel=0.02)


@pytest.mark.parametrize(
    ("versions", "is_told"), [({"numpy": "2.1"}, False), ({"torch": "2.6"}, True)]
)
def test_functions_of_pytorch_are_advised_only_where_the_job_computes_with_it(
    versions: dict[str, str], is_told: bool
) -> None:
    subnormal = site(operand(shares={"subnormal": 0.4}, contents=9), contents=9)
    (finding,) = faults(subnormal, versions=versions).values()
    assert ("torch." in finding.actions[0]) == is_told
    assert "(`covariance[abs(covariance) < 1e-30] = 0`)" in finding.actions[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"contents": 9},  # a healthy solver in double precision
        {"byte_order": "foreign", "contents": 9},  # each one is converted once
        {"shares": {"subnormal": 0.00002}, "contents": 9},
        {"layout": "strided", "stride": 16, "contents": 9},
        {"layout": "columns", "stride": 8, "contents": 9},
        {"dtype": "float32", "contents": 9},
    ],
)
def test_usual_operands_are_no_fault(changes: dict[str, Any]) -> None:
    assert faults(site(operand(**changes), contents=9)) == {}


def picking(
    container: dict[str, Any], apart: int = 1_600_000, axis: int = 0, **changes: Any
) -> dict[str, Any]:
    """A line that takes rows of an array by the numbers of 1,024 of them.

    The values of a row lie so many bytes `apart`. Of another `axis` than 0, it takes columns.
    """
    told = {"name": "rows", "contents": 9, "dtype": "float32", "shape": [400_000, 128], "stride": 4}
    numbers = {"dtype": "int64", "shape": [1024], "elements": [1024, 1024], "contents": 9}
    array = operand(**{**told, "elements": [51_200_000] * 2, **container})
    chosen = operand(**{"name": "chosen", **numbers, **changes})
    told = {"picked": "rows", "picked_axis": axis, "picked_apart": apart}
    return site(array, chosen, contents=9, **told)


COLUMNS = {"layout": "columns"}


@pytest.mark.parametrize("layout", ["columns", "strided"])  # whole, or the first of its rows
def test_rows_that_are_picked_from_columns(layout: str) -> None:
    """A row of 128 values of 4 bytes is in 8 cache lines where it is in one piece, else in 128."""
    (finding,) = faults(picking({**COLUMNS, "layout": layout})).values()
    assert finding.id == "slow_operands"
    assert finding.title.endswith("picks rows across the memory layout of `rows`")
    assert finding.gain_s == pytest.approx((1 - 8 / 128) * 0.1 * STEPS, rel=0.02)
    assert "`rows = np.ascontiguousarray(rows)`" in finding.actions[0]
    assert ("Stride between values", 1_600_000) in [
        (row.label, row.value) for row in finding.evidence
    ]


def test_columns_that_are_picked_from_rows() -> None:
    """A column of 2,048 values of 4 bytes is in 128 cache lines where it is in one piece."""
    told = {"shape": [2048, 32_768], "elements": [1 << 26, 1 << 26]}
    (finding,) = faults(picking(told, apart=131_072, axis=1)).values()
    assert finding.title.endswith("picks along axis 1 of `rows`, across its memory layout")
    assert finding.gain_s == pytest.approx((1 - 4 / 64) * 0.1 * STEPS, rel=0.02)
    assert (
        "`np.ascontiguousarray(np.moveaxis(rows, 1, 0))`, of a table `rows.T`"
        in (finding.actions[0])
    )
    assert "what follows take the result with that axis first" in finding.actions[0]
    assert finding.evidence[-2].label == "Indices selected along axis 1"


@pytest.mark.parametrize(
    ("container", "axis"), [({"shape": [2048]}, 1), ({"shape": [1, 32_768]}, 1), ({}, 7)]
)
def test_what_is_picked_on_an_axis_that_is_not_there(container: dict[str, Any], axis: int) -> None:
    assert faults(picking(container, axis=axis)) == {}


def test_rows_of_tensors_that_are_picked_from_columns() -> None:
    (finding,) = faults(picking(COLUMNS), versions={"torch": "2.6"}).values()
    assert "`rows = rows.contiguous()`" in finding.actions[0]


@pytest.mark.parametrize(
    ("container", "chosen"),
    [
        ({"layout": "rows"}, {"apart": 4}),
        ({**COLUMNS, "shape": [51_200_000]}, {}),  # single values
        (COLUMNS, {"elements": [3, 3], "shape": [3]}),  # a few lines stay in the cache
        (COLUMNS, {"dtype": "float64"}),  # no numbers of rows
        (COLUMNS, {"shape": [32, 32]}),
        ({**COLUMNS, "name": "other"}, {}),  # not what is indexed
    ],
)
def test_rows_that_are_picked_at_no_such_cost(
    container: dict[str, Any], chosen: dict[str, Any]
) -> None:
    assert faults(picking(container, **chosen)) == {}


def tokens(padding: float, of_longest: float) -> dict[str, Any]:
    """A line that takes a table of tokens."""
    shares = {"padding": padding, "padding_of_longest": of_longest}
    told = operand(name="tokens", dtype="int64", shape=[32, 160], contents=10, shares=shares)
    return site(told, contents=10)


def test_sequences_that_are_padded_beyond_the_longest() -> None:
    (finding,) = faults(tokens(0.8, 0.6)).values()
    assert finding.id == "padded_input"
    assert finding.title.startswith("80.0 % of `tokens`")
    assert finding.gain_s == pytest.approx(0.1 * STEPS * (1 - 0.4**2), rel=0.05)


def test_sequences_that_are_padded_to_the_longest_are_no_fault() -> None:
    assert faults(tokens(0.6, 0.1)) == {}


def test_calls_with_one_sample() -> None:
    leaf = operand(name="leaf", shape=[1, 80], elements=[80, 80], contents=10)
    weights = operand(name="weights", shape=[80, 20], elements=[1600, 1600])
    (finding,) = faults(site(leaf, weights, contents=10)).values()
    assert finding.id == "single_samples"
    assert "`leaf`" in finding.title
    assert finding.gain_s == pytest.approx(0.1 * STEPS, rel=0.05)


def test_one_sample_beside_what_it_is_taken_from() -> None:
    words = operand(name="words", dtype="float32", shape=[16, 40, 48], contents=10)
    state = operand(name="state", dtype="float32", shape=[1, 48], elements=[48, 48], contents=10)
    (finding,) = faults(site(words, state, contents=10)).values()
    assert finding.id == "single_samples"


@pytest.mark.parametrize(
    ("row", "others"),
    [
        ({"name": "state", "shape": [1, 32, 64]}, [{"name": "inputs", "shape": [32, 20, 16]}]),
        ({"name": "state", "shape": [1, 32, 64]}, [{"name": "inputs", "shape": [20, 32, 16]}]),
        ({"name": "state", "shape": [1, 32, 64]}, [{"name": "words", "shape": [32, 20]}]),
        ({"name": "self.positions", "shape": [1, 65, 64], "kind": "parameter"}, []),
    ],
    ids=[
        "state, samples first",
        "state, times first",
        "state, beside words",
        "what a model learns",
    ],
)
def test_leading_axes_that_are_not_of_samples(
    row: dict[str, Any], others: list[dict[str, Any]]
) -> None:
    usual: dict[str, Any] = {"dtype": "float32", "elements": [2048, 4160], "contents": 10}
    told = [operand(**{**usual, **one}) for one in (row, *others)]
    assert faults(site(*told, contents=10)) == {}


def test_an_operand_that_was_looked_at_too_seldom_is_not_named() -> None:
    """It would cost 15 of 16 values of a cache line, the one that is known 7 of 8."""
    seldom = operand(name="x", looks=1, dtype="float32", layout="strided", stride=8192, contents=9)
    often = operand(name="columns", layout="strided", stride=8192, contents=9)
    (finding,) = faults(site(seldom, often, contents=9)).values()
    assert "`columns`" in finding.title
    assert finding.gain_s == pytest.approx(7 / 8 * 0.1 * STEPS, rel=0.02)


def test_slow_operands_of_several_lines_are_one_finding() -> None:
    slow = operand(shares={"subnormal": 0.4}, contents=9)
    place = "\x1f".join(map(str, OTHER))
    (finding,) = faults(site(slow, contents=9), site(slow, contents=9, place=place)).values()
    assert finding.gain_s == pytest.approx(0.2 * STEPS, rel=0.03)
    assert {one.function for one in finding.where} == {"whiten", "update"}


def test_rows_beside_tables_and_batches_are_no_single_samples() -> None:
    mean = operand(name="mean", shape=[1, 80], elements=[80, 80], contents=10)
    table = operand(name="table", shape=[500, 80], elements=[40000, 40000], contents=10)
    assert faults(site(mean, table, contents=10)) == {}
    assert faults(site(operand(shape=[32, 8], elements=[256, 256], contents=10), contents=10)) == {}
    image = operand(shape=[1, 3, 256, 256], elements=[196608, 196608], contents=10)
    assert faults(site(image, contents=10)) == {}


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {"sites": 3},
        {"sites": [None, 4, {}, {"place": "a\x1fb", "operands": []}]},
        {"sites": [{"place": "a\x1fb\x1fx", "operands": []}, {"place": "a\x1fb\x1f1"}]},
    ],
)
def test_odd_metadata_tells_nothing(told: object) -> None:
    assert worked_on({"operands": told}) == ()


def test_odd_numbers_are_none() -> None:
    odd = operand(looks=-4, shape=["x", 1e9], elements=None, shares={"padding": "much", "zero": 7})
    (found,) = worked_on({"operands": {"sites": [site(odd, looks=True, contents=1 << 90)]}})
    assert (found.looks, found.contents) == (0, 1 << 62)
    (one,) = found.operands
    assert (one.looks, one.shape, one.elements) == (0, (0, 0), 0)
    assert (one.share("padding"), one.share("zero")) == (0.0, 1.0)


def test_odd_sizes_are_those_of_no_array() -> None:
    huge = operand(name="x", shape=[1 << 62] * 40)
    told = {"operands": {"sites": [site(huge, picked="x", picked_apart=4096, contents_once=99)]}}
    (found,) = worked_on(told)
    assert found.operands[0].shape == ()
    assert found.contents_once == found.looks


def test_a_mask_picks_the_rows_for_which_it_holds() -> None:
    mask = operand(name="mask", dtype="bool", shape=[1000], elements=[1000] * 2)
    mask["shares"] = {"zero": 0.99}
    (found,) = worked_on({"operands": {"sites": [site(operand(name="x"), mask, picked="x")]}})
    assert found.operands[0].picked == 10


def test_that_nothing_is_repeated_is_said_of_what_was_seen_to_differ_alone() -> None:
    """Half of all is in the hot line, and as much in another one that nothing is known of."""
    place = "\x1f".join(map(str, OTHER))
    changing = {"contents": 9, "whole_looks": 0}
    one = site(operand(contents=9), **changing)
    found = judged(one)["repeated_work"]
    assert found.status is Status.NOT_MEASURED
    assert found.summary.startswith("Lines that take 49.4 % of the ranks' computing")
    assert (
        judged(one, site(operand(contents=9), place=place, **changing))["repeated_work"].status
        is Status.PASS
    )
    unknown = judged(site(operand(contents=0), contents=0, whole_looks=0))["repeated_work"]
    assert unknown.status is Status.NOT_MEASURED
    assert unknown.summary.startswith("Of the lines it is not known")


def test_that_operands_are_handled_well_is_said_of_what_was_looked_at_alone() -> None:
    found = judged(site(operand(contents=9)))["slow_operands"]
    assert found.status is Status.PASS
    assert found.summary.startswith("Lines that take 49.4 % of the ranks' computing were looked at")
