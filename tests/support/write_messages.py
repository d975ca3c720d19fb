"""Small files of other profilers: `python -m tests.support.write_messages DIRECTORY`."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from perfscope.export import _perfetto_packets as proto
from tests.readers.rocprof import profiles as rocprof
from tests.readers.xplane.profiles import gpu, space, steps
from tests.support.environments import REPOSITORY

INSPECTOR = REPOSITORY / "tests/readers/nccl_inspector/written/vm-pid28081.log"
NOW_NS = 1_795_000_000 * 10**9


def small_perfetto() -> bytes:
    """A trace with every sort of packet and event that the decoder tells apart."""
    thread = proto.held(4, proto.whole(1, 7) + proto.whole(2, 8) + proto.text(5, "main"))
    process = proto.held(3, proto.whole(1, 7) + proto.text(6, "rank 0") + proto.text(8, "pid 7"))
    counter = proto.text(2, "memory") + proto.held(8, proto.text(6, "bytes"))
    tracks = ((1, thread, 2), (2, process, None), (3, counter, 2))
    own = proto.whole(1, 64) + proto.whole(2, 5) + proto.whole(3, 1) + proto.whole(4, 1000)
    boot = proto.whole(1, proto.BOOTTIME) + proto.whole(2, NOW_NS)
    words = ((1, "kernel"), (2, "gemm"), (3, "corr_id"), (29, "Float"))
    interned = b"".join(
        proto.held(kind, proto.whole(1, 1) + proto.text(2, word)) for kind, word in words
    )
    facts = (proto.whole(3, 5), proto.whole(2, 1), proto.real(5, 2.5), proto.whole(17, 1))
    numbered = b"".join(proto.held(4, proto.whole(1, 1) + value) for value in facts)
    event = proto.whole(9, proto.BEGIN) + proto.whole(11, 1) + proto.whole(3, 1) + numbered
    named = proto.text(22, "operation") + proto.text(23, "MPI_Allreduce")
    arrow = proto.text(22, "ac2g") + proto.fixed(47, 1) + proto.fixed(48, 1)
    return b"".join(
        (
            proto.clocks(NOW_NS),
            *(proto.track(uuid, content, parent=above) for uuid, content, above in tracks),
            proto.packet(proto.held(6, proto.held(1, own) + proto.held(1, boot))),
            proto.packet(
                proto.whole(8, 2)
                + proto.held(12, interned)
                + proto.held(59, proto.whole(58, 64))
                + proto.whole(13, 1)
                + proto.held(11, event + proto.whole(10, 1))
            ),
            proto.event(proto.END, 1, NOW_NS + 500),
            proto.event(proto.BEGIN, 1, NOW_NS + 600, named + proto.annotation("Seq", 3)),
            proto.event(proto.INSTANT, 1, NOW_NS + 610, arrow),
            proto.event(proto.COUNTER, 3, NOW_NS + 620, proto.whole(30, 7)),
            proto.event(proto.COUNTER, 3, NOW_NS + 630, proto.real(44, 7.5)),
        )
    )


SMALL: Mapping[str, Callable[[], bytes]] = {
    "xplane": lambda: space(steps(1), gpu(1)),
    "perfetto": small_perfetto,
    "rocprof": lambda: json.dumps({"rocprofiler-sdk-tool": [rocprof.process()]}).encode(),
    "inspector": INSPECTOR.read_bytes,
}

if __name__ == "__main__":
    for form, content in SMALL.items():
        (Path(sys.argv[1]) / form).write_bytes(content())
