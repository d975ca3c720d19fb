"""`perfscope redact DIR -o OUT`: a recording that can be handed to others."""

from pathlib import Path

import click

from perfscope.cli.options import path_option, verbose_option
from perfscope.errors import ExitCode, UsageError
from perfscope.output import say, tell
from perfscope.units import counted, format_bytes

# \b keeps click from folding the lines behind it.
_HELP = """Write a copy of a recording that can be handed to others.

Hosts, users, paths, commands, arguments, the environment and the names of the program's own
functions, phases and files become hashes, with a salt that is not kept: the same name is the same
hash in this copy, and another one in the next. The numbers of its analysis stay. Every byte of the
copy is then searched for every text that was replaced; if one is found, nothing is written.

\b
perfscope redact trace/ -o for-support/
"""


@click.command(help=_HELP)
@click.argument("path", metavar="DIR", type=click.Path(path_type=Path))
@path_option("--output", "-o", metavar="OUT", text="The directory to make.", required=True)
@verbose_option
def redact(path: Path, *, output: Path) -> int:
    """Write a copy of a recording to share: hashes in place of names, paths and commands."""
    from perfscope.export.target import completed
    from perfscope.redaction.write import redact as write

    if path.resolve() in output.resolve().parents:
        raise UsageError(
            f"{output} lies inside the recording {path}.",
            why="The copy would become a part of what it is made from.",
            action="Name a directory outside of it with -o.",
        )
    with completed(output) as place:
        done = write(path, place)
    for name in done.left_out:
        tell(f"Note: {name} is not in the copy.")
    looked_at = format_bytes(done.looked_at_bytes)
    texts = counted(done.removed, "text")
    say(f"Written: {output} ({texts} replaced; none of them is in its {looked_at})")
    return ExitCode.OK
