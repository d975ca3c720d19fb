"""`perfscope formats`: every format that can be read, and what it can tell."""

from click.testing import CliRunner

from perfscope.cli.formats import LABELS, formats
from perfscope.readers.registry import readers


def test_every_format_is_listed_with_what_it_tells() -> None:
    printed = CliRunner().invoke(formats).output
    for reader in readers():
        assert reader.description[1:] in printed
        assert all((getattr(reader.tells, name) or "no") in printed for name in LABELS)
    assert max(map(len, printed.splitlines())) <= 120
