"""Defects of a recording, collected from all stages; the verdict opens with them."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.document import standstill
from perfscope.document.endings import account_of_ends
from perfscope.metrics.results import Results
from perfscope.replay.replay import Replay
from perfscope.schema import run as schema
from perfscope.trace.damage import Damage, Need
from perfscope.units import format_share


def run_damage(results: Results, replay: Replay) -> tuple[Damage, ...]:
    """Everything that is wrong with the recording, what spoils most figures first."""
    found = [_in_full(damage, results) for damage in results.damage]
    if replay.deviation is not None:
        text = (
            "The recording does not explain the run time: replayed unchanged, it differs from "
            f"the measurement by {format_share(replay.deviation)}."
        )
        found.append(Damage("replay_error", text))
    return tuple(found)


def _in_full(damage: Damage, results: Results) -> Damage:
    """With how the ranks ended, and that nobody got on before; both are put into words here."""
    if damage.id != "endings":
        return damage
    text = account_of_ends(results.trace) or damage.text
    return replace(damage, text=f"{text} {standstill.told(results)}".rstrip())


def damage_rows(damages: Sequence[Damage]) -> tuple[schema.Damage, ...]:
    """The `damage` of the run in analysis.json; empty where the recording is whole."""
    return tuple(
        schema.Damage(one.id, one.text, tuple(sorted(need.value for need in one.spoils)))
        for one in damages
    )


def spoils_comparison(damages: Sequence[Damage]) -> bool:
    """Whether figures that compare or add up ranks are withheld."""
    return any(Need.EVERY_RANK in damage.spoils for damage in damages)
