"""`perfscope formats`: what can be analyzed besides recordings, and what each format can tell."""

import click

from perfscope.cli.options import verbose_option
from perfscope.output import say
from perfscope.units import capitalized

LABELS = {
    "efficiencies": "Efficiencies, ledger",
    "waits": "Who waited for whom",
    "phases": "Phases, steps",
    "devices": "Devices",
    "counters": "Counters",
    "resources": "Memory, threads, files",
    "clock": "Wall clock",
    "known_from": "Tested on",
}
"""What `readers.detect.Tells` holds, as people call it."""
WIDEST = max(map(len, LABELS.values()))


@click.command()
@verbose_option
def formats() -> None:
    """List what `perfscope analyze` reads, and what each format can tell.

    A figure that a format cannot tell is null in the result, with the reason.
    """
    from perfscope.readers.registry import readers

    for reader in readers():
        say(capitalized(reader.description))
        for name, label in LABELS.items():
            say(f"  {label:<{WIDEST}}  {getattr(reader.tells, name) or 'no'}")
        say()
    say("All may be compressed with gzip, except databases; a directory may mix ranks and formats.")
