"""Every command that a finding offers is one that perfscope has, with the options it has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import perfscope.findings
from perfscope.cli.group import COMMANDS, cli
from perfscope.schema.enums import Status
from perfscope.trace.model import Format
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

PLACE = Path(perfscope.findings.__file__).parent
VERBS = {"compared", "recorded"}
"""What follows the name where perfscope is meant and no command of it."""


def texts(path: Path) -> Iterator[str]:
    """The texts of a source file that has the program's name; what is filled in stands as 1."""
    source = path.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(source))) if "perfscope " in source else []
    inner = {id(p) for node in nodes if isinstance(node, ast.JoinedStr) for p in node.values}
    for node in nodes:
        if id(node) in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (str(p.value) if isinstance(p, ast.Constant) else "1" for p in node.values)
            yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def offered() -> list[tuple[str, str]]:
    """What follows the name of the program, up to the end of its sentence, and where."""
    found = set()
    for path in sorted(PLACE.rglob("*.py")):
        for text in texts(path):
            for rest in re.findall(r"\bperfscope ([a-z]\w*[^\n;`]*)", text):
                found.add((str(path.relative_to(PLACE)), rest))
    return sorted(found)


def command_of(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


def words_of(command: click.Command, rest: list[str]) -> list[str]:
    """The words that belong to the command, before its sentence goes on."""
    takes = {
        option: not parameter.is_flag
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }
    words: list[str] = []
    for word in rest:
        is_value = bool(words) and takes.get(words[-1], False)
        is_place = word.rstrip("/").isupper()
        if not (word.startswith("-") or is_value or is_place or "--" in words):
            break
        words.append(word.rstrip(".,:)"))
    return [word for word in words if word]


def check(rest: str) -> None:
    """Parses what follows the name as click does, without looking at the values."""
    name, *others = rest.split()
    name = name.rstrip(".,:)")
    if name in VERBS:
        return
    assert name in COMMANDS
    command = command_of(name)
    parser = command.make_parser(click.Context(command))
    _, left, _ = parser.parse_args(words_of(command, others))
    assert not left


@pytest.mark.parametrize(("place", "rest"), offered())
def test_offered_commands_exist(place: str, rest: str) -> None:
    assert place
    check(rest)


@pytest.mark.parametrize("rest", ["doctor -- mpirun -n 2", "run --no-such -- x", "diagnose"])
def test_others_are_found(rest: str) -> None:
    with pytest.raises((click.UsageError, AssertionError)):
        check(rest)


PARTS = dict.fromkeys(("memory", "threads", "io", "environment"), "a timeline holds none of it")
JUDGED = (
    *("threads_over_cores", "shared_cores", "worker_cores", "idle_cores", "no_free_core"),
    *("numa_placement", "io_bound", "memory_growth", "memory_headroom"),
)


def test_what_another_format_lacks_is_said_in_sentences() -> None:
    builder = TraceBuilder(2, end_s=20.0).set(not_recorded=PARTS, format=Format.OTF2)
    for number in (0, 1):
        builder.rank(number).init(1.0).op("MPI_Barrier", 5.0, 6.0).finalize(19.0)
    findings = analyze_trace(builder.build()).findings
    for name in JUDGED:
        assert findings[name].status is Status.NOT_MEASURED, name
        assert findings[name].summary == (
            "A timeline holds none of it. Record the job with perfscope run to have it judged."
        )
