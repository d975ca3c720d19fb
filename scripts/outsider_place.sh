#!/bin/sh
# Makes what `scripts/outsider.sh` works with, below PLACE; what is there already stays. Needs root, debootstrap, Debian's
# packages, PyPI and a Python 3.11 (PYTHON names another one of this version).
#
#   scripts/outsider_place.sh PLACE
#
# PLACE/root      a bare Debian 11 with Slurm, without a compiler, and a Python that is new enough
# PLACE/builder   a Debian 11 with compilers: it has Python 3.9 alone, so Debian 12's Python 3.11 is compiled there
# PLACE/wheels    perfscope's wheel for Python 3.11; in `wheelhouse` all that the story installs
# PLACE/profiles  Kineto profiles of two ranks
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1/profiles"
place=$(cd "$1" && pwd)
python=/opt/python3.11
mounted=''
trap 'for mount in $mounted; do umount --lazy "$mount"; done' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

if [ ! -e "$place/root.made" ]; then
    rm -rf "$place/root"
    debootstrap --variant=minbase --include=slurmctld,slurmd,slurm-client,munge,libffi7,libssl1.1,libsqlite3-0 \
        bullseye "$place/root"
    touch "$place/root.made"
fi
if [ ! -e "$place/wheels.made" ]; then
    rm -rf "$place/wheels"
    ${PYTHON:-python3.11} "$here/scripts/make_wheels.py" --wheelhouse --output "$place/wheels"
    ls "$place/wheels/wheelhouse" | sed -nE '/^perfscope/d; s/^([A-Za-z0-9_]+)-([0-9][^-]*)-.*/\1==\2/p' >"$place/pins.txt"
    platforms=$(for minor in 5 12 17 24 28 31; do printf ' --platform=manylinux_2_%s_x86_64' $minor; done)
    # shellcheck disable=SC2046,SC2086 - one word an option, one a package
    ${PYTHON:-python3.11} -m pip download -q --only-binary :all: --python-version 3.11 --implementation cp \
        --platform=manylinux2014_x86_64 $platforms --constraint "$place/pins.txt" --dest "$place/wheels/wheelhouse" \
        --find-links "$place/wheels/wheelhouse" pip 'perfscope-hpc[mpi]' \
        $(sed -nE '/^(dask|distributed|dask-jobqueue)==/p' "$here/requirements/integrations.txt")
    touch "$place/wheels.made"
fi
for rank in 0 1; do
    PYTHONPATH=$here ${PYTHON:-python3.11} -c '
import sys, pathlib
from tests.support.write_kineto import small
small().write(pathlib.Path(sys.argv[1]))' "$place/profiles/rank$rank.pt.trace.json"
done
[ ! -x "$place/root$python/bin/python3" ] || exit 0

if [ ! -e "$place/builder.made" ]; then
    rm -rf "$place/builder"
    debootstrap --variant=buildd --include=zlib1g-dev,libffi-dev,libssl-dev,libsqlite3-dev,liblzma-dev,libbz2-dev \
        bullseye "$place/builder"
    touch "$place/builder.made"
fi
sed -n 's/^deb \(.*\) bullseye main$/deb-src \1 bookworm main/p' "$place/builder/etc/apt/sources.list" \
    >"$place/builder/etc/apt/sources.list.d/bookworm.list"
cp /etc/resolv.conf /etc/hosts "$place/builder/etc/"
for part in proc dev; do
    mountpoint -q "$place/builder/$part" && continue
    mount --bind "/$part" "$place/builder/$part"
    mounted="$mounted $place/builder/$part"
done
chroot "$place/builder" sh -eu <<BUILD
mkdir -p /build && cd /build
apt-get -q update
apt-get -q source python3.11
cd python3.11-*/
# Debian builds it into the interpreter, where this is defined
grep -q '^#define Py_BUILD_CORE_MODULE' Modules/pyexpat.c || sed -i '1i #define Py_BUILD_CORE_MODULE 1' Modules/pyexpat.c
[ -e Makefile ] || ./configure --quiet --prefix=$python --without-ensurepip --disable-test-modules
make -s -j2
rm -rf $python # what an earlier try installed stands in the way of another
make -s install
BUILD
mkdir -p "$place/root/opt"
cp -a "$place/builder$python" "$place/root/opt/"
chroot "$place/root" $python/bin/python3 -c 'import ctypes, lzma, pyexpat, sqlite3, ssl, zlib'
