"""Options that several commands have, as decorators."""

import click

verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,  # read by `group.execute`, which shows errors
    help="Show a traceback with an error.",
)
study_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print study.json instead of a summary."
)
foa_option = click.option(
    "--foa", metavar="WINDOW", help="Focus of analysis, as in `perfscope analyze`."
)
phase_option = click.option(
    "--phase",
    "phase_rules",
    multiple=True,
    metavar="ID=GLOB",
    help="Functions that are a phase, as in `perfscope analyze`.",
)
planned_option = click.option(
    "--planned-steps",
    type=click.IntRange(1),
    metavar="N",
    help="Steps of the run that you plan: gains are also told for these.",
)
