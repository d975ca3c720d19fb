"""Linear systems whose matrix stays, by what looks at their lines told."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.operands.operand_runs import STEPS, analyzed, operand, site

SOLVE = ("solve", "/usr/lib/python3.11/site-packages/numpy/linalg/_linalg.py", 300)
MATRIX = operand(name="stiffness")
LOAD = operand(name="load", shape=[360], elements=[360, 360], contents=10)


def judged(*operands: dict[str, Any], library: tuple[str, str, int] = SOLVE) -> Finding:
    """Half of each step of two ranks lies in a line that takes these."""
    return analyzed(site(*operands, contents=10), library=library)["factorized_anew"]


@pytest.mark.parametrize(
    ("function", "file", "said"),
    [
        ("solve", "numpy/linalg/_linalg.py", "scipy.linalg.lu_factor(stiffness)"),
        ("spsolve", "scipy/sparse/linalg/_dsolve/linsolve.py", "splu(stiffness.tocsc())"),
        ("lstsq", "numpy/linalg/_linalg.py", "np.linalg.qr(stiffness)"),
    ],
)
def test_a_matrix_that_stays(function: str, file: str, said: str) -> None:
    """The line takes 4 s of 8 s, in the solver alone."""
    library = (function, f"/usr/lib/python3.11/site-packages/{file}", 300)
    finding = judged(LOAD, MATRIX, library=library)
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.1 * STEPS, rel=0.05)
    assert finding.gain is not None
    assert finding.gain.is_bound
    assert finding.ranks == (0, 1)
    assert "`stiffness`" in finding.title
    assert said in finding.actions[0]


def test_matrices_that_come_by_turns() -> None:
    """Ten looks on each rank found one of two, as where two systems are solved in each step."""
    finding = judged({**MATRIX, "contents": 2, "contents_back": 6}, LOAD)
    assert finding.status is Status.FAIL
    assert "for each of the 2 that come by turns" in finding.actions[0]


@pytest.mark.parametrize(
    "operands",
    [
        ({**MATRIX, "contents": 10}, LOAD),
        ({**MATRIX, "contents": 6}, LOAD),
        ({**MATRIX, "contents": 0}, LOAD),
        (MATRIX, {**LOAD, "contents": 1}),
        (MATRIX,),
        ({**LOAD, "contents": 1}, {**MATRIX, "contents": 10}),
        (),
    ],
    ids=["new", "mostly new", "unknown", "all stays", "alone", "only the load stays", "nothing"],
)
def test_what_needs_its_factorization(operands: tuple[dict[str, Any], ...]) -> None:
    assert judged(*operands).status is Status.PASS


@pytest.mark.parametrize("function", ["lu_solve", "cho_solve", "solve_triangular", "matmul"])
def test_what_only_substitutes(function: str) -> None:
    library = (function, "/usr/lib/python3.11/site-packages/scipy/linalg/_decomp_lu.py", 9)
    assert judged(MATRIX, LOAD, library=library).status is Status.PASS


def test_the_same_name_that_changes_at_another_line_of_its_function() -> None:
    changing = site({**MATRIX, "contents": 10, "looks": 10}, contents=10)
    changing["place"] = "whiten\x1f/home/me/train.py\x1f25"
    found = analyzed(site(MATRIX, LOAD, contents=10), changing, library=SOLVE)["factorized_anew"]
    assert found.status is Status.PASS
