"""How many numbers the parts that judge declare: whoever needs one fewer lowers it here.

`perfscope/judging.py` and `findings/core/thresholds.py` hold those that all of them share.
"""

import re

from tests.architecture.test_arrows import PACKAGE

MOST = 276
PARTS = ("attribution", "findings", "losses", "metrics")
NUMBER = re.compile(r"^_?[A-Z][A-Z_0-9]*(: [A-Za-z\[\], ]+)? = -?[0-9]", re.MULTILINE)


def test_ever_fewer_numbers_decide() -> None:
    paths = [path for part in PARTS for path in (PACKAGE / part).rglob("*.py")]
    found = sum(len(NUMBER.findall(path.read_text(encoding="utf-8"))) for path in paths)
    assert found <= MOST, "take one that is declared, or a statistic over the steps"
