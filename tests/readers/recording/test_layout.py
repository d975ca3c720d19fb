"""numpy's view of the recording is the recorder's own, field by field."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.readers.recording import layout
from perfscope.schema import enums
from perfscope.trace import model, thinning

HEADER = Path(__file__).parents[3] / "native" / "recorder" / "format.h"
STRUCTS: dict[str, Any] = {
    "ps_record": layout.RECORD_DTYPE,
    "ps_total": layout.TOTAL_DTYPE,
    "ps_thread": layout.THREAD_DTYPE,
    "ps_cell": layout.CELL_DTYPE,
    "ps_block": layout.BLOCK_DTYPE,
    "ps_thinning": layout.THINNING_DTYPE,
    "ps_header": layout.HEADER_DTYPE,
    "ps_definition": layout.DEFINITION_DTYPE,
    "ps_communicator": layout.COMMUNICATOR_DTYPE,
}
ENUMS: dict[str, Any] = {
    "PS_KIND_": layout.RecordKind,
    "PS_SAMPLE_": layout.SampleKind,
    "PS_FLAG_": layout.HeaderFlag,
    "PS_DEF_": layout.DefinitionType,
    "PS_PHASE_": enums.PhaseKind,
    "PS_WINDOW_": thinning.WindowSource,
    "PS_CELL_": layout.CellFlag,
}


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_offsets_and_sizes_are_those_of_the_c_compiler(tmp_path: Path) -> None:
    lines = [
        f'printf("{struct} {name} %zu %zu\\n", offsetof({struct}, {name}), '
        f"sizeof(((({struct} *)0))->{name}));"
        for struct, dtype in STRUCTS.items()
        for name in dtype.names
    ]
    lines += [f'printf("{struct} - 0 %zu\\n", sizeof({struct}));' for struct in STRUCTS]
    source = tmp_path / "offsets.c"
    source.write_text(
        '#include <stddef.h>\n#include <stdio.h>\n#include "format.h"\n'
        "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n"
    )
    program = tmp_path / "offsets"
    subprocess.run(["cc", "-I", HEADER.parent, source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    found = {tuple(line.split()[:2]): line.split()[2:] for line in printed.splitlines()}
    for struct, dtype in STRUCTS.items():
        assert found[struct, "-"] == ["0", str(dtype.itemsize)], struct
        for name in dtype.names:
            field, offset = dtype.fields[name][:2]
            assert found[struct, name] == [str(offset), str(field.itemsize)], (struct, name)


def test_every_field_of_the_c_structs_is_there() -> None:
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    for body, struct in re.findall(r"typedef struct \{(.*?)\} (\w+);", text, re.DOTALL):
        declared = []
        for line in body.split(";"):
            names = line.split(None, 1)[1] if line.split() else ""
            declared += [re.sub(r"\[.*\]", "", name).strip() for name in names.split(",") if name]
        assert tuple(name for name in declared if name) == STRUCTS[struct].names


def test_numbers_of_the_enums_and_constants() -> None:
    text = HEADER.read_text(encoding="utf-8")
    for prefix, enum in ENUMS.items():
        pairs = re.findall(rf"^    {prefix}(\w+) = (\d+),", text, re.MULTILINE)
        assert {name: int(value) for name, value in pairs} == {e.name: e.value for e in enum}
    constants = dict(re.findall(r"#define (PS_\w+) \(?(-?\w+|\"\w+\")\)?", text))
    assert constants["PS_MAGIC"].strip('"').encode() == layout.MAGIC
    assert constants["PS_DEF_MAGIC"].strip('"').encode() == layout.DEFINITIONS_MAGIC
    assert int(constants["PS_FORMAT_VERSION"].rstrip("u")) == layout.FORMAT_VERSION
    assert int(constants["PS_HEADER_BYTES"].rstrip("u")) == layout.HEADER_BYTES
    assert int(constants["PS_MAX_OPERATIONS"].rstrip("u")) == layout.MAX_OPERATIONS
    assert int(constants["PS_MAX_THREADS"].rstrip("u")) == layout.MAX_THREADS
    assert int(constants["PS_MAX_CELLS"].rstrip("u")) == layout.MAX_CELLS
    assert int(constants["PS_MAX_BLOCKS"].rstrip("u")) == layout.MAX_BLOCKS
    assert int(constants["PS_PEER_UNKNOWN"]) == model.PEER_UNKNOWN
    assert int(constants["PS_PEER_PROC_NULL"]) == model.PEER_PROC_NULL


def test_records_are_plain_little_endian() -> None:
    assert layout.RECORD_DTYPE.itemsize == layout.RECORD_BYTES
    row = np.zeros(1, layout.RECORD_DTYPE)
    row["kind"] = 1
    assert row.tobytes()[16:18] == b"\x01\x00"
