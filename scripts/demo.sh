#!/usr/bin/env bash
# Installs perfscope into an environment of its own, records a two-rank training run and reports on it.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
began=$SECONDS
part() { echo "== $1: $((SECONDS - part_began)) s" >&2; part_began=$SECONDS; }
show() { echo "\$ $*" >&2; "$@"; }
part_began=$SECONDS

"${PYTHON:-python3}" scripts/environments.py demo
part installation

PATH="$root/.envs/demo/bin:$PATH"
mkdir -p demo
run=$(mktemp -d "demo/run-$(date +%Y%m%d-%H%M%S)-XXXX")
cd "$run"
show perfscope run -- mpirun -n 2 python "$root/examples/train_numpy.py"
part "training under perfscope run"

show perfscope analyze trace
part analysis
echo "report: file://$PWD/trace/report.html"
echo "make demo took $((SECONDS - began)) s"
