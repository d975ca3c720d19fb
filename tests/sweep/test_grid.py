"""Configurations of a sweep: the grid, placeholders, named sets from hostile files, CPUs."""

from pathlib import Path

import pytest

from perfscope.errors import UsageError
from perfscope.sweep import capacity, placeholders
from perfscope.sweep.capacity import Demand, demand, effective, refusals
from perfscope.sweep.grid import Axis, AxisKind, Configuration, NamedSet, expand, parse_axis
from perfscope.sweep.named_sets import MOST_BYTES, read_sets

ENV, VAR = AxisKind.ENVIRONMENT, AxisKind.VARIABLE


def test_every_combination_once_the_last_axis_fastest() -> None:
    axes = [parse_axis("OMP_NUM_THREADS=1,2,4", ENV), parse_axis("ranks=1,2", VAR)]
    found = expand(["mpirun", "-n", "{ranks}", "train"], axes, [])
    assert [one.label for one in found] == [
        f"OMP_NUM_THREADS={threads}, ranks={ranks}" for threads in (1, 2, 4) for ranks in (1, 2)
    ]
    assert [one.number for one in found] == [1, 2, 3, 4, 5, 6]
    assert found[3].command == ("mpirun", "-n", "2", "train")
    assert found[3].environment == {"OMP_NUM_THREADS": "2"}
    assert found[3].name == "004-OMP_NUM_THREADS=2-ranks=2"


def test_without_axes_there_is_the_command_as_it_is() -> None:
    (only,) = expand(["train"], [], [])
    assert (only.command, only.label, only.values) == (("train",), "", {})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1,2", ("1", "2")),
        ("A=", ("",)),
        ("A=,x", ("", "x")),
        ('A="granularity=fine,compact,1,0",none', ("granularity=fine,compact,1,0", "none")),
        ("A=a=b", ("a=b",)),
        ("A= 1 ", (" 1 ",)),
    ],
)
def test_values_of_an_axis(text: str, values: tuple[str, ...]) -> None:
    assert parse_axis(text, ENV) == Axis("A", ENV, values)


@pytest.mark.parametrize("text", ["", "A", "=1", "1A=1", "A B=1", "A=1,1", 'A="x', "A=\0"])
def test_axes_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        parse_axis(text, VAR)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{n}", "4"),
        ("-np={n},{n}", "-np=4,4"),
        ("${n} $n {} {1..3}", "${n} $n {} {1..3}"),
        ('{"lr": 0.1}', '{"lr": 0.1}'),
        ("{{n}} {{other}}", "{n} {other}"),
        ("{n", "{n"),
        ("{w}", "{n}"),  # a value is not looked into
    ],
)
def test_braces(text: str, filled: str) -> None:
    assert placeholders.fill(text, {"n": "4", "w": "{n}"}) == filled


def test_unknown_unused_and_equal_names_are_refused() -> None:
    ranks = parse_axis("ranks=1,2", VAR)
    with pytest.raises(UsageError, match="placeholder"):
        expand(["mpirun", "{rank}"], [], [])
    with pytest.raises(UsageError, match="stands nowhere"):
        expand(["mpirun", "${ranks}", "{{ranks}}"], [ranks], [])
    with pytest.raises(UsageError, match="twice"):
        expand(["{ranks}"], [ranks, parse_axis("ranks=3,4", ENV)], [])
    with pytest.raises(UsageError, match="no command"):
        expand([], [], [])
    many = ",".join(map(str, range(101)))
    axes = [parse_axis(f"a={many}", VAR), parse_axis(f"b={many}", VAR)]
    with pytest.raises(UsageError, match="configurations"):
        expand(["{a}{b}"], axes, [])


def test_variables_also_stand_in_the_environment() -> None:
    axes = [parse_axis("OMP_NUM_THREADS={t}", ENV), parse_axis("t=1,2", VAR)]
    assert [one.environment for one in expand(["train"], axes, [])] == [
        {"OMP_NUM_THREADS": "1"},
        {"OMP_NUM_THREADS": "2"},
    ]


def test_names_of_runs_are_safe_and_secrets_are_not_in_them() -> None:
    axes = [parse_axis("a=../../etc,\x1b[31m", VAR), parse_axis("API_TOKEN=hunter2", ENV)]
    for one in expand(["{a}"], axes, []):
        assert "/" not in one.name
        assert one.name.isprintable()
        assert "hunter2" not in one.name + one.label
    long = expand(["{a}"], [parse_axis("a=" + "x" * 1000, VAR)], [])[0]
    assert len(long.name) < 100


SETS = """
mpich:
  env: {KMP_BLOCKTIME: 0, OMP_DYNAMIC: on, MODE: 010, GONE: null}
  launcher: mpirun -n {ranks}
  var: {python: python3}
openmpi:
  launcher: [ompirun, --oversubscribe, -n, "{ranks}"]
  var: {python: "python 3"}
alone:
  command: "'my prog' --x"
default:
"""


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "sets.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_named_sets_are_taken_as_they_are_written(tmp_path: Path) -> None:
    sets = read_sets(write(tmp_path, SETS))
    assert [named.name for named in sets] == ["mpich", "openmpi", "alone", "default"]
    assert sets[0].environment == {
        "KMP_BLOCKTIME": "0",
        "OMP_DYNAMIC": "on",
        "MODE": "010",
        "GONE": None,
    }
    assert sets[2].command == ("my prog", "--x")
    assert sets[3] == NamedSet("default")
    sets[3] = NamedSet("default", variables={"python": "p"})
    found = expand(["{python}", "train"], [parse_axis("ranks=1,2", VAR)], sets)
    assert [one.label for one in found][:2] == ["mpich, ranks=1", "mpich, ranks=2"]
    assert found[1].command == ("mpirun", "-n", "2", "python3", "train")
    assert found[3].command == ("ompirun", "--oversubscribe", "-n", "2", "python 3", "train")
    assert found[4].command == ("my prog", "--x")
    assert found[6].command == ("p", "train")
    assert effective(found[0].environment, {"GONE": "1", "KEPT": "2"}) == {
        "KEPT": "2",
        "KMP_BLOCKTIME": "0",
        "OMP_DYNAMIC": "on",
        "MODE": "010",
    }


BILLION_LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "just text",
        "a: 1",
        "a: {env: [1]}",
        "a: {env: {X: [1]}}",
        "a: {env: {1X: 1}}",
        "a: {env: {X: {}}}",
        "a: {var: {x: null}}",
        "a: {environment: {X: 1}}",
        "a: {command: ''}",
        "a: {command: []}",
        "a: {command: [[x]]}",
        'a: {command: "\'open"}',
        'a: {env: {X: "\\0"}}',
        "a: {env: {X: 1, X: 2}}",
        "a: {}\na: {}",
        "? [1, 2]\n: {}",
        '"\\e[31m": {}',
        "'': {}",
        "a: !!python/object/apply:os.system ['touch hacked']",
        "a: &a {env: *a}",
        "a: {env: {<<: 1}}",
        BILLION_LAUGHS,
        "[" * 5000,
        "a:\n\t- b",
        "a: {",
        "a: \x00",
        b"\xff\xfe\xff",
        b"a: {env: {X: '\xff'}}",
        "a: 'x'\n" * 300_000,
        "%YAML 9.9\n---\na: {}",
    ],
    ids=lambda text: repr(text[:24]),
)
def test_hostile_files_are_explained(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(UsageError) as caught:
        read_sets(write(tmp_path, text))
    assert all(caught.value.lines())
    assert len(caught.value.why) < 400
    assert not (tmp_path / "hacked").exists()


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no sets"):
        read_sets(tmp_path / "none.yaml")
    assert MOST_BYTES == 1 << 20


@pytest.mark.parametrize(
    ("command", "environment", "wanted"),
    [
        (("python", "train.py"), {"OMP_NUM_THREADS": "4"}, Demand(1, 4, True)),
        (("mpirun", "-n", "2", "python"), {}, Demand(2, None, True)),
        (("mpirun", "-np", "2", "x"), {"OMP_NUM_THREADS": "3,2"}, Demand(2, 3, True)),
        (("mpirun", "-n", "2", "x"), {"OMP_NUM_THREADS": "a"}, Demand(2, None, True)),
        (("mpirun", "x"), {"MKL_NUM_THREADS": "2"}, Demand(None, 2, True)),
        (("mpirun", "-hostfile", "h", "-n", "64", "x"), {}, Demand(64, None, False)),
        (("srun", "-n", "64", "x"), {}, Demand(64, None, False)),
    ],
)
def test_what_a_configuration_asks_for(
    command: tuple[str, ...], environment: dict[str, str | None], wanted: Demand
) -> None:
    assert demand(Configuration(1, {}, environment, command), {}) == wanted


def test_more_threads_than_cpus_are_refused() -> None:
    asked = {
        1: Demand(2, 2, True),
        2: Demand(2, 3, True),
        3: Demand(5, None, True),
        4: Demand(64, 8, False),
        5: Demand(None, 64, True),
    }
    assert refusals(asked, cpus=4) == {
        2: "2 ranks × 3 threads = 6 on 4 CPUs",
        3: "5 ranks × 1 thread = 5 on 4 CPUs",
    }
    assert capacity.cpus_allowed() >= 1


def test_configurations_whose_values_are_secret_can_be_told_apart() -> None:
    found = expand(["train"], [parse_axis("API_TOKEN=swordfish1,swordfish2", ENV)], [])
    labels = [one.label for one in found]
    assert labels == [f"API_TOKEN=[redacted] (configuration {number})" for number in (1, 2)]
