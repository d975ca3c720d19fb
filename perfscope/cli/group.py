"""Finds the command, and turns errors into three lines that a person can act on."""

import difflib
import errno
import importlib
import itertools
import os
import shlex
import shutil
import textwrap
import traceback
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path

import click

import perfscope
from perfscope.cli.options import verbose_option
from perfscope.errors import ExitCode, PerfscopeError, UsageError
from perfscope.output import finish, give_up, tell, tell_lines, warnings_told

# Command -> what `perfscope --help` says of it; its module is loaded when it is used.
COMMANDS = {
    "run": "Start a job and record it.",
    "watch": "Monitor a running job: rates, who waits for whom, memory, hangs.",
    "analyze": "Analyze a recording: verdict, report.html, analysis.json.",
    "compare": "Compare runs: slower or faster, or noise; where the time went.",
    "scaling": "Show what more ranks, cores, GPUs or nodes gain, and what limits scaling.",
    "export": "Write a trace for other tools: OTF2, Chrome, Parquet, CSV.",
    "redact": "Write a copy of a recording to share, with hashes in place of names.",
    "sweep": "Run a command in many configurations; show which is best and why.",
    "formats": "List supported formats of other tools and what each of them can tell.",
    "whatif": "Predict what a change would save.",
    "history": "Show trends over commits and dates, with a badge and an index of reports.",
    "restarts": "Show what a job kept and lost over its attempts and checkpoints.",
    "doctor": "Check this machine, with a fix for whatever does not work.",
}
WIDEST_HELP, NARROWEST_HELP = 80, 30  # columns
_INTERRUPTED = 130
_CLOSED_PIPE = 141


class _HelpFormatter(click.HelpFormatter):
    """Stays inside a narrow terminal, and leaves most of it to what is said of an option."""

    def __init__(self, width: int | None = None, max_width: int | None = None) -> None:
        columns = min(shutil.get_terminal_size().columns, max_width or WIDEST_HELP)
        super().__init__(width=width or max(columns - 2, NARROWEST_HELP))

    def write_text(self, text: str) -> None:
        """Paragraphs; lines that are kept as they are by click go on further in where too long."""
        width = max(self.width - self.current_indent, NARROWEST_HELP // 2)
        told = []
        for paragraph in text.split("\n\n"):
            lines = paragraph.splitlines()
            if "\b" in paragraph and max(map(len, lines)) > width:
                told.append("\n".join(_folded(line, width) for line in lines))
            else:
                told.append(paragraph)
        super().write_text("\n\n".join(told))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Names to the left, what they mean beside them."""
        super().write_dl(rows, min(col_max, self.width * 2 // 5), col_spacing)


def _folded(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return "\n".join(textwrap.wrap(line, width, subsequent_indent=indent)) or line


class _HelpContext(click.Context):
    formatter_class = _HelpFormatter


class _LazyGroup(click.Group):
    """Commands that are imported when they are used, so that --help answers at once."""

    context_class = _HelpContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, loaded now."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"perfscope.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        command.context_class = _HelpContext
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that a command line begins with.

        Raises:
            UsageError: there is none of that name; says what may be meant.
        """
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise UsageError(f"There is no command {name!r}.", why=_why(name), action=_meant(args))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _why(name: str) -> str:
    if Path(name).exists():
        return "It is a file or directory: a command stands before it."
    return f"The commands are {', '.join(COMMANDS)}."


def _meant(words: list[str]) -> str:
    """What may be meant by words that begin with no command."""
    path = Path(words[0])
    if path.is_dir() or (path.is_file() and not os.access(path, os.X_OK)):
        return f"To read a recording: perfscope analyze {shlex.quote(words[0])}"
    if shutil.which(words[0]):
        return f"To record a job: {shlex.join(['perfscope', 'run', '--', *words])}"
    if near := difflib.get_close_matches(words[0], COMMANDS, n=1):
        return f"Did you mean: {shlex.join(['perfscope', near[0], *words[1:]])}"
    return "See perfscope --help."


# \b keeps click from folding the lines behind it.
_HELP = """Find out where the time, memory and threads of a training job go, and why.

\b
perfscope run -- mpirun -n 4 python train.py
perfscope analyze trace/
"""


@click.group(cls=_LazyGroup, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(perfscope.__version__, prog_name="perfscope")
@verbose_option
def cli() -> None:
    """All commands; each is loaded when it is called."""


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the place that is written to answers when it takes no more: nothing is wrong with us."""


def execute(words: list[str]) -> int:
    """Runs the words of a command line and explains what goes wrong.

    Returns:
        The exit code: that of the job for `run`, else one of perfscope.errors.ExitCode.
    """
    try:
        _refuse_nothing(words)
        with warnings_told():
            outcome = cli.main(args=words, prog_name="perfscope", standalone_mode=False)
        finish()
    except click.ClickException as error:
        shown = StringIO()
        error.show(file=shown)
        tell_lines(shown.getvalue())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except PerfscopeError as error:
        return _explain(error, words)
    except BrokenPipeError:
        give_up()
        return _CLOSED_PIPE
    except MemoryError as error:
        return _explain(_too_large(error), words)
    except OSError as error:
        known = error.errno in _NO_ROOM
        give_up()
        return _explain(_no_room(error) if known else _unexpected(error), words)
    except Exception as error:  # noqa: BLE001 - the last net: a user never sees a bare traceback
        return _explain(_unexpected(error), words)
    return outcome if isinstance(outcome, int) else ExitCode.OK


def _refuse_nothing(words: Sequence[str]) -> None:
    """An empty path would be the current directory; it is what an unset variable leaves."""
    if words[:1] in (["run"], ["sweep"]):
        return
    for before, word in itertools.pairwise(words):
        if not word and not before.startswith("-"):
            raise UsageError(
                "An argument is empty.",
                why="A variable of the shell in its place may not be set.",
                action="Name the file or directory; . is the current one.",
            )


def _too_large(error: MemoryError) -> PerfscopeError:
    from perfscope.scratch import refused

    problem = refused() or PerfscopeError(
        "This machine does not have enough memory.",
        why=f"An allocation failed: {str(error) or 'the system refused it'}.",
        action="Use a machine with more memory, or give fewer or smaller files.",
    )
    problem.__cause__ = error
    return problem


def _no_room(error: OSError) -> PerfscopeError:
    problem = PerfscopeError(
        f"{error.filename or 'The output'} cannot be written.",
        why=f"{error.strerror}.",
        action="Make room there, or send the output elsewhere.",
    )
    problem.__cause__ = error
    return problem


def _unexpected(error: Exception) -> PerfscopeError:
    problem = PerfscopeError(
        "perfscope ran into an unexpected error",
        why=f"{type(error).__name__}: {error}",
        action="please report this with the output of the same command and -v",
    )
    problem.__cause__ = error
    return problem


def _explain(error: PerfscopeError, words: list[str]) -> int:
    own_words = words[: words.index("--")] if "--" in words else words
    if {"-v", "--verbose"} & set(own_words):
        tell_lines("".join(traceback.format_exception(error)))
    for line in error.lines():
        tell(line)
    return error.exit_code
