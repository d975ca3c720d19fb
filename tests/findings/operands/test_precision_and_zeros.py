"""Tables that are nearly all zeros, and single precision that is computed in double."""

from typing import Any

import pytest

from perfscope.schema.enums import Status
from perfscope.trace.operands import SUBNORMAL_TIMES, worked_on
from tests.findings.operands.operand_runs import MAIN, STEPS, faults, judged, operand, site


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({}, 0.98),
        ({"shares": {"zero": 0.95}}, 0.5),
        ({"shares": {"zero": 0.9}}, 0.0),  # a sparse matrix would take as long
        ({"shares": {}}, 0.0),
        ({"shape": [129600], "elements": [129600, 129600]}, 0.0),
        ({"shape": [40, 40], "elements": [1600, 1600]}, 0.0),
        ({"dtype": "int64"}, 0.0),
        ({"shape": [100, 1, 36, 36]}, 0.0),  # pictures
    ],
)
def test_tables_of_zeros(changes: dict[str, Any], part: float) -> None:
    """Each value that is none takes ten times as long without the others."""
    table = operand(**{"name": "links", "contents": 10, "shares": {"zero": 0.998}, **changes})
    found = faults(site(table, contents=10))
    assert ("slow_operands" in found) == (part > 0.0)
    if part:
        finding = found["slow_operands"]
        assert finding.title == "whiten() (train.py:20) computes with a mostly-zero array, `links`"
        assert finding.gain_s == pytest.approx(part * 0.1 * STEPS, rel=0.05)
        assert "csr_matrix(links)" in finding.actions[0]


@pytest.mark.parametrize(("looks", "is_told"), [((1, 2), True), ((1, 1), False)])
def test_looks_at_zeros_count_on_any_rank(looks: tuple[int, int], is_told: bool) -> None:
    """A look tells how many values are zero, whichever rank it falls on; two may be chance."""
    first, second = (
        site(
            operand(name="links", looks=count, contents=count, shares={"zero": 0.998}),
            looks=count,
            whole_looks=count,
            contents=count,
        )
        for count in looks
    )
    assert ("slow_operands" in faults(first, others=(second,))) is is_told


MARKS = operand(
    name="marks",
    kind="tensor",
    dtype="float32",
    shape=[16, 32, 4000],
    elements=[2048000, 2048000],
    contents=10,
    shares={"zero": 1.0},
)
TABLE = operand(
    name="self.table",
    kind="parameter",
    dtype="float32",
    shape=[4000, 128],
    elements=[512000, 512000],
    contents=10,
    requires_grad=True,
)


@pytest.mark.parametrize(
    ("first", "second", "backward_s", "part"),
    [
        (MARKS, TABLE, 0.0, 1.0),
        (MARKS, TABLE, 0.05, 1.5),  # no more than all of the backward pass
        (MARKS, TABLE, 0.1, 2.0),
        ({**MARKS, "shares": {"zero": 0.95}}, TABLE, 0.1, 1.0),  # one factor alone has a gradient
        ({**MARKS, "shares": {"zero": 0.95}, "requires_grad": True}, TABLE, 0.1, 1.0),
        (MARKS, {**TABLE, "kind": "tensor", "requires_grad": False}, 0.1, 1.0),
        ({**MARKS, "shares": {"zero": 0.5}}, TABLE, 0.1, 0.0),  # as behind a ReLU
        (MARKS, {**TABLE, "shape": [32, 4000]}, 0.1, 0.0),  # element by element
        (MARKS, {**TABLE, "shape": [16, 4000, 128]}, 0.1, 0.0),  # others for each
    ],
)
def test_rows_that_mark_a_place_are_multiplied_backwards_too(
    first: dict[str, Any], second: dict[str, Any], backward_s: float, part: float
) -> None:
    """As `one_hot(words).float() @ table` does in place of an embedding."""
    both = site(first, second, contents=10, met=["marks", "self.table"])
    found = faults(both, backward_s=backward_s)
    assert ("slow_operands" in found) == (part > 0.0)
    if part:
        assert found["slow_operands"].gain_s == pytest.approx(part * 0.1 * STEPS, rel=0.05)


def test_lines_share_the_backward_pass() -> None:
    """Two products of 0.05 s a step forwards take 0.05 s of backward pass together, and no more."""
    one, two = (
        site(MARKS, TABLE, contents=10, met=["marks", "self.table"], instruction=place)
        for place in (10, 20)
    )
    found = faults(one, two, backward_s=0.05)
    assert found["slow_operands"].gain_s == pytest.approx(1.5 * 0.1 * STEPS, rel=0.05)


def test_sums_of_mostly_zeros_have_no_sparse_form_to_be_made_of() -> None:
    table = operand(name="links", contents=10, shares={"zero": 0.998})
    assert "slow_operands" in faults(site(table, contents=10))
    assert "slow_operands" not in faults({**site(table, contents=10), "adds": True})


@pytest.mark.parametrize(("contents", "is_told"), [(10, False), (0, False), (1, True)])
def test_what_is_computed_anew_each_time_would_have_to_be_made_sparse_each_time(
    contents: int, *, is_told: bool
) -> None:
    table = operand(name="links", contents=contents, shares={"zero": 0.998})
    found = faults({**site(table, contents=10), "computed": ["links"]})
    assert ("slow_operands" in found) == is_told


def pair(first: str, second: str, *, met: tuple[str, ...] = ("x", "weights")) -> dict[str, Any]:
    """Two arrays at the hot line, of some types, that are others in each look."""
    both = [
        operand(name=name, dtype=dtype, contents=10)
        for name, dtype in (("x", first), ("weights", second))
    ]
    return site(*both, contents=10, met=list(met))


@pytest.mark.parametrize("types", [("float64", "float32"), ("float32", "float64")])
def test_single_precision_that_meets_double(types: tuple[str, str]) -> None:
    """Half of each step is spent in the line: at most half of that is saved."""
    (finding,) = faults(pair(*types)).values()
    assert finding.id == "widened_operands"
    assert finding.title.startswith("whiten() (train.py:20) computes in double precision, because ")
    assert finding.gain_s == pytest.approx(0.5 * 0.1 * STEPS, rel=0.05)
    single = "x" if types[0] == "float32" else "weights"
    assert f"as it is for `{single}`" in finding.actions[0]


@pytest.mark.parametrize("name", ["x.T", "x.mT", "x"])
def test_one_look_at_a_transposed_array_shows_its_type(name: str) -> None:
    seldom = pair("float32", "float64", met=(name, "weights"))
    told = [{**one, "looks": 1} for one in seldom["operands"]]
    (finding,) = faults({**seldom, "operands": told, "looks": 1, "whole_looks": 1}).values()
    assert finding.id == "widened_operands"


@pytest.mark.parametrize(
    "innocent",
    [
        pair("float32", "float32"),
        pair("float64", "float64"),
        pair("float64", "int64"),
        pair("float64", "float32", met=()),  # in one line, not in one operation
        pair("float64", "float32", met=("x", "norm")),
        pair("float64", "float32", met=("x.size", "weights")),  # a number
    ],
)
def test_arrays_of_one_precision_or_that_do_not_meet(innocent: dict[str, Any]) -> None:
    assert faults(innocent) == {}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, Status.INFO),
        ({"kind": "parameter"}, Status.WARN),
        ({"elements": [100, 100], "shape": [10, 10]}, Status.PASS),
        ({"dtype": "float32"}, Status.PASS),
    ],
    ids=["arrays", "a model", "small", "single"],
)
def test_where_all_is_double_that_is_noted(changes: dict[str, Any], status: Status) -> None:
    """Only of what learns it is told as a possible problem: other programs may need it."""
    finding = judged(site(operand(contents=10, **changes), contents=10))["widened_operands"]
    assert finding.status is status
    if status is not Status.PASS:
        assert finding.title == "whiten() (train.py:20) computes in double precision"
    assert (finding.gain is not None) is (status is Status.WARN)


def test_a_number_of_numpy_widens_an_array() -> None:
    """The agent tells of it where NumPy lets such a number decide."""
    wide = {"dtype": "float64", "shape": [], "elements": [1, 1]}
    number = operand(name="rate", kind="number", contents=10, **wide)
    array = operand(name="x", dtype="float32", contents=10)
    (finding,) = faults(site(array, number, contents=10, met=["x", "rate"])).values()
    assert finding.id == "widened_operands"
    assert "float64 `rate` promotes float32 `x`" in finding.title
    assert finding.gain_s == pytest.approx(0.5 * 0.1 * STEPS, rel=0.05)
    assert "convert `rate` where it is made" in finding.actions[0]
    assert faults(site(array, number, contents=10, met=["x", "other"])) == {}


WIDE_NUMBER = {"kind": "number", "dtype": "float64", "shape": [], "elements": [1, 1]}


def call(*operands: dict[str, Any], line: int = MAIN[2]) -> dict[str, Any]:
    """Looks at the line that calls the function of the hot line, with what it passes."""
    place = "\x1f".join((MAIN[0], MAIN[1], str(line)))
    return {**site(*operands, contents=10), "place": place, "is_innermost": False}


def test_work_that_is_double_by_what_was_passed_is_told_by_that() -> None:
    """What the function itself computes is double because a number it gets is."""
    hot = {**pair("float64", "float32"), "computed": ["x"]}
    passed = call(operand(name="q", dtype="float32"), operand(name="scale", **WIDE_NUMBER))
    (finding,) = faults(passed, hot).values()
    assert finding.title == (
        "whiten() (train.py:20) computes in double precision, because float64 `scale`, passed in "
        "main() (train.py:9), promotes float32 `q`"
    )
    assert [one.line for one in finding.where] == [9, 20]
    assert "convert `scale` where it is made" in finding.actions[0]
    assert finding.gain_s == pytest.approx(0.5 * 0.1 * STEPS, rel=0.05)


def test_what_a_loop_passes_again_is_double_by_what_it_passes_beside_that() -> None:
    """`before` is what the function has returned: what made that double is `factor`."""
    hot = pair("float64", "float32")
    both = [operand(name=name, dtype="float64") for name in ("before", "factor")]
    passed = call(*both, operand(name="damp", dtype="float32"))
    (finding,) = faults({**passed, "fed_back": ["before"]}, hot).values()
    assert finding.title == (
        "whiten() (train.py:20) computes in double precision, because float64 `factor`, passed in "
        "main() (train.py:9), promotes float32 `damp`"
    )
    single = "make `factor` single (`.astype(np.float32)`)"
    assert f"{single} where it is made, which this recording does not tell." in finding.actions[0]
    assert finding.gain is not None
    assert "single precision takes the other half" in finding.gain.bridge
    made = {"factor": "\x1f".join((MAIN[0], MAIN[1], "4")), "damp": "odd"}
    (finding,) = faults({**passed, "fed_back": ["before"], "made": made}, hot).values()
    assert f"{single} in main() (train.py:4), which makes it" in finding.actions[0]
    assert [one.line for one in finding.where] == [9, 4, 20]
    (finding,) = faults(passed, hot).values()
    assert "because float64 `x` promotes" in finding.title


def test_what_has_few_zeros_at_times_is_no_table_of_zeros() -> None:
    """As a field that a wave runs into."""
    filled = {"shares": {"zero": 0.998}, "least_zero": 0.9}
    assert faults(site(operand(name="field", contents=10, **filled), contents=10)) == {}


@pytest.mark.parametrize(
    ("passed", "computed"),
    [
        (call(operand(name="scale", **WIDE_NUMBER)), ["x"]),  # nothing in single is passed
        (call(operand(name="q", dtype="float32"), operand(name="y", dtype="float32")), ["x"]),
        (
            call(
                operand(name="q", dtype="float32"),
                operand(name="scale", **WIDE_NUMBER),
                operand(name="targets", dtype="float64"),
            ),
            ["x"],  # by which of both nobody knows
        ),
        (
            call(operand(name="q", dtype="float32"), operand(name="scale", **WIDE_NUMBER), line=8),
            ["x"],  # no sample shows that this line calls it
        ),
        (call(operand(name="q", dtype="float32"), operand(name="scale", **WIDE_NUMBER)), []),
    ],
)
def test_work_is_told_by_its_own_operands_where_nothing_shows_what_made_them_double(
    passed: dict[str, Any], computed: list[str]
) -> None:
    (finding,) = faults(passed, {**pair("float64", "float32"), "computed": computed}).values()
    assert "float64 `x` promotes float32 `weights`" in finding.title
    assert [one.line for one in finding.where] == [20]


def test_an_array_of_one_number_is_not_known_to_widen() -> None:
    number = operand(name="rate", dtype="float64", shape=[], elements=[1, 1], contents=10)
    array = operand(name="x", dtype="float32", contents=10)
    assert faults(site(array, number, contents=10, met=["x", "rate"])) == {}


@pytest.mark.parametrize("met", ["xw", 7, [1, None], {"x": 1}])
def test_odd_names_of_what_meets_are_none(met: Any) -> None:
    (told,) = worked_on({"operands": {"sites": [site(operand(), met=met)]}})
    assert all(isinstance(name, str) for name in told.met)


@pytest.mark.parametrize("times", [10**400, float("nan"), float("inf"), -1, "3", None])
def test_odd_times_of_subnormal_values_are_unknown(times: Any) -> None:
    told = {"sites": [site(operand())], "subnormal_times": {"float64": times}}
    (found,) = worked_on({"operands": told})
    assert found.operands[0].subnormal_times == SUBNORMAL_TIMES


@pytest.mark.parametrize(
    ("told", "share"), [(None, 1.0), ("much", 0.0), (10**400, 1.0), (-(10**400), 0.0), (0.25, 0.25)]
)
def test_a_share_may_be_any_number_or_none(told: object, share: float) -> None:
    """Of values that were not looked at nothing is known: not that few of them are zero."""
    array = operand(name="x", least_zero=told, shares={"zero": told})
    (found,) = worked_on({"operands": {"sites": [site(array)]}})
    assert found.operands[0].least_zero == share
