#!/usr/bin/env bash
# Records the S-GAN in Keras on two ranks and reports on it: with Horovod, or with mpi4py where that cannot be built.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
began=$SECONDS
part() { echo "== $1: $((SECONDS - part_began)) s" >&2; part_began=$SECONDS; }
show() { echo "\$ $*" >&2; "$@"; }
part_began=$SECONDS

job=horovod
"${PYTHON:-python3}" scripts/environments.py demo
"${PYTHON:-python3}" scripts/environments.py horovod || { job=tensorflow; "${PYTHON:-python3}" scripts/environments.py "$job"; }
part installation

mkdir -p demo
run=$(mktemp -d "demo/sgan-$(date +%Y%m%d-%H%M%S)-XXXX")
cd "$run"
export PATH="$root/.envs/$job/bin:$PATH"
show "$root/.envs/demo/bin/perfscope" run -- mpirun -n 2 python "$root/examples/sgan_keras.py" "$@"
part "training under perfscope run"

show "$root/.envs/demo/bin/perfscope" analyze trace
part analysis
echo "report: file://$PWD/trace/report.html"
echo "make demo-sgan took $((SECONDS - began)) s"
