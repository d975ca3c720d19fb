"""Can the figures of the devices be trusted; nothing where none was measured."""

from perfscope.metrics.devices.device_collectives import DeviceCommunication
from perfscope.metrics.devices.devices import DevicesResult
from perfscope.metrics.results import Results
from perfscope.schema.enums import Status
from perfscope.schema.findings import QualityRow
from perfscope.units import counted, format_seconds, format_share

MOST_UNLINKED = 0.05


def device_checks(results: Results) -> list[QualityRow]:
    """The rows about devices, in the order of the report."""
    found = results.devices
    if found is None:
        return []
    return [
        *_window(found),
        *_others(results, found),
        *_communication(results, found),
        _launches(found),
    ]


def _window(found: DevicesResult) -> list[QualityRow]:
    """That a profiler watched a part of the run only."""
    if not found.is_part:
        return []
    start_s, end_s = (moment / 1e9 for moment in found.window_ns)
    detail = (
        f"A profiler watched the devices for {format_seconds(end_s - start_s)}, from "
        f"{format_seconds(start_s)} on: device figures cover that time, and findings from them "
        "give no seconds for the whole run."
    )
    return [
        QualityRow(
            "device_window", Status.INFO, "Devices were profiled for part of the run", detail
        )
    ]


def _others(results: Results, found: DevicesResult) -> list[QualityRow]:
    """That nothing tells with how many others the devices communicate: there may be more."""
    is_told = results.trace.environment.get("is_size_told", True)
    is_given = any(tree.parallel_efficiency.value is not None for tree in found.efficiency.values())
    communicating = sum(bool(device.use.communication_ns) for device in found.devices)
    if is_told or not is_given or not communicating:
        return []
    devices = counted(len(found.devices), "device")
    detail = (
        "No collective has more members than there are devices in the files, but no file says how "
        f"many ranks the job had: efficiencies are those of the {devices} in the files. Others "
        "are not counted."
    )
    title = "How many ranks the job had is not known"
    return [QualityRow("device_ranks", Status.WARN, title, detail)]


def _communication(results: Results, found: DevicesResult) -> list[QualityRow]:
    """Whether the ranks of a job communicate on their devices, and whether that was matched."""
    if results.trace.world_size < 2:
        return []
    silent = [device.rank for device in found.devices if not device.use.rows[1]]
    if silent and len(silent) == len(found.devices):
        return [
            QualityRow(
                "device_communication",
                Status.WARN,
                "No communication kernels",
                f"The job has {results.trace.world_size} ranks, and no device ran a "
                "communication kernel: the profile misses them, or the ranks did not "
                "communicate during it.",
            )
        ]
    matching = found.communication
    if matching.reason is not None:
        detail = f"Waiting and transfer in communication kernels are unknown: {matching.reason}."
        title = "Communication kernels were not matched"
        return [QualityRow("device_communication", Status.WARN, title, detail)]
    spread = format_seconds(matching.end_spread_s or 0.0)
    detail = (
        f"{counted(matching.matched, 'collective')} matched over ranks.{_unmatched(matching)} "
        f"Kernels of one collective end within {spread} of each other (99 %): "
        "so the clocks differ by no more than that."
    )
    title = "Communication kernels were matched"
    return [QualityRow("device_communication", Status.PASS, title, detail)]


def _unmatched(matching: DeviceCommunication) -> str:
    if not matching.unmatched:
        return ""
    kernels = counted(matching.unmatched, "kernel")
    return f" Not matched: {kernels} without a partner, or that do not wait for all ranks."


def _launches(found: DevicesResult) -> QualityRow:
    rows = sum(sum(device.use.rows) for device in found.devices)
    share = min(found.unlinked_rows / rows, 1.0) if rows else 0.0
    detail = (
        f"{found.unlinked_rows:,} device rows have no launch in the trace; gaps before them "
        "count as other, never as waiting for the host."
    )
    unfit = [device.idle_reason for device in found.devices if device.idle_reason]
    if share > MOST_UNLINKED and unfit:
        detail = (
            f"Gaps before device rows count as other, never as waiting for the host: {unfit[0]}."
        )
        return QualityRow("device_launches", Status.WARN, "Launches do not fit", detail)
    if share > MOST_UNLINKED:
        detail += f" That is {format_share(share)} of those in the focus: launched before it began?"
        return QualityRow("device_launches", Status.WARN, "Launches are missing", detail)
    return QualityRow("device_launches", Status.PASS, "Launches were found", detail)
