#!/usr/bin/env bash
# Records real ranks with a recorder that was built with the address and undefined-behavior sanitizers.
# usage: scripts/sanitize.sh DIRECTORY-OF-THE-BUILD
set -eu
cd "$(dirname "$0")/.."
build=$PWD/$1
library=$build/libperfscope_recorder.so
compiler=${CC:-cc}
runtime=$("$compiler" -print-file-name=libasan.so):$("$compiler" -print-file-name=libubsan.so)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Python and MPI keep memory to their end on purpose: leaks are not looked for.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:exitcode=99
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:exitcode=99
# Three ranks on two cores: who waits leaves the core to the others.
export MPIR_CVAR_CH4_PROGRESS_THROTTLE=1
ranks=3
# Runs recorded ranks of a program: record TRACE COMMAND...
record() {
  trace=$place/$1
  shift
  mkdir "$trace"
  if ! .envs/mpich/bin/mpirun -n "$ranks" env LD_PRELOAD="$runtime:$library" PYTHONMALLOC=malloc \
    PERFSCOPE_DIR="$trace" PERFSCOPE_RECORDER="$library" PERFSCOPE_SAMPLE_HZ=100 \
    PYTHONPATH="$PWD/perfscope/agent" "$@" >"$place/output" 2>&1 ||
    grep -qE 'runtime error:|AddressSanitizer' "$place/output"; then
    tail -n 60 "$place/output"
    exit 1
  fi
  recorded=$(find "$trace" -name '*.rec' | wc -l)
  [ "$recorded" = "$ranks" ] || { echo "recorded $recorded of $ranks ranks"; exit 1; }
}

python=.envs/mpich/bin/python
record families "$python" tests/native/recorder/jobs/families.py
record windows "$python" tests/native/recorder/jobs/windows_and_files.py "$place/file" \
  neighbors one_sided files groups
ranks=2
for way in callback pmpi maps duplicates; do
  record "handles-$way" "$python" tests/native/recorder/jobs/handles.py "$way"
done
ranks=3
"$python" -m tests.native.recorder.random_programs.text 7 >"$place/program.c"
.envs/mpich/bin/mpicc -pthread -w -o "$place/program" "$place/program.c"
record random "$place/program"
"$compiler" -shared -fPIC -o "$place/libnvidia-ml.so.1" tests/support/nvml_mock.c
export PERFSCOPE_NVML=$place/libnvidia-ml.so.1 NVML_MOCK_DEVICES=3 NVML_MOCK_MIG=2
record gpu "$python" tests/native/recorder/jobs/gpu.py 0 1.2 3

# The engine's decoders, with sound and with damaged files.
PATH=$PWD/.envs/mpich/bin:$PATH cmake --build "$build" --target perfscope_engine_probe -- --quiet
probe() {
  if ! "$build/native/core/perfscope_engine_probe" "$@" >"$place/output" 2>&1; then
    cat "$place/output"
    exit 1
  fi
}
"$python" -m tests.support.write_kineto "$place/small.json"
probe kineto "$place/small.json"
probe kineto-damaged "$place/small.json"
"$python" -m tests.native.core.damage_otf2 "$build/native/core/perfscope_engine_probe" 1000
for file in tests/native/core/inputs/small_timeline.json "${PERFSCOPE_REFERENCE:-none}"/horovod/*.json; do
  [ ! -f "$file" ] || probe horovod "$file"
done
probe horovod-damaged tests/native/core/inputs/small_timeline.json
probe paraver tests/native/core/inputs/small.prv
probe paraver-damaged tests/native/core/inputs/small.prv
"$python" -m tests.support.write_messages "$place"
for format in xplane perfetto rocprof inspector; do
  probe "$format" "$place/$format"
  probe "$format-damaged" "$place/$format"
done
"$python" -m tests.support.write_records "$place/small.records"
probe recording "$place/small.records"
probe recording-damaged "$place/small.records"
probe replay 500
probe layers 20000
probe matching 20000
