#!/bin/sh
# Makes what `scripts/outsider.sh` works with, below PLACE; what is there already stays. Needs root, debootstrap, Debian's
# packages, PyPI and a Python of the version that the place has (PYTHON names it; Debian 11 and 12: python3.11).
#
#   scripts/outsider_place.sh PLACE [SUITE]
#
# SUITE           a release of Debian; bullseye (11) if none is named
# PLACE/root      this Debian, bare, with Slurm and without a compiler
# PLACE/builder   the same with compilers, where its Python is older than 3.10: that of Debian 12 is compiled there
# PLACE/wheels    perfscope's wheel for that Python; in `wheelhouse` all that the story installs
# PLACE/profiles  Kineto profiles of two ranks
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1/profiles"
place=$(cd "$1" && pwd)
suite=${2:-bullseye}
compiled=/opt/python3.11
mounted=''
trap 'for mount in $mounted; do umount --lazy "$mount"; done' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

# The Python that the place has, its own one if it is new enough.
python() {
    for found in "$compiled/bin/python3" /usr/bin/python3; do
        chroot "$place/root" "$found" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || continue
        echo "$found"
        return
    done
}

if [ ! -e "$place/root.made" ]; then
    rm -rf "$place/root"
    debootstrap --variant=minbase --include=slurmctld,slurmd,slurm-client,munge,python3 "$suite" "$place/root"
    touch "$place/root.made"
fi
if [ -z "$(python)" ] && [ ! -e "$place/builder.made" ]; then
    rm -rf "$place/builder"
    debootstrap --variant=buildd --include=zlib1g-dev,libffi-dev,libssl-dev,libsqlite3-dev,liblzma-dev,libbz2-dev \
        "$suite" "$place/builder"
    touch "$place/builder.made"
fi
if [ -z "$(python)" ]; then
    sed -n "s/^deb \(.*\) $suite main\$/deb-src \1 bookworm main/p" "$place/builder/etc/apt/sources.list" \
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
[ -e Makefile ] || ./configure --quiet --prefix=$compiled --without-ensurepip --disable-test-modules
make -s -j2
rm -rf $compiled # what an earlier try installed stands in the way of another
make -s install
BUILD
    mkdir -p "$place/root/opt"
    cp -a "$place/builder$compiled" "$place/root/opt/"
fi
chroot "$place/root" "$(python)" -c 'import ctypes, lzma, pyexpat, sqlite3, ssl, venv, zlib'
python >"$place/python.txt"
version=$(chroot "$place/root" "$(python)" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
builder=${PYTHON:-python$version}

if [ ! -e "$place/wheels.made" ]; then
    rm -rf "$place/wheels"
    "$builder" "$here/scripts/make_wheels.py" --wheelhouse --output "$place/wheels"
    ls "$place/wheels/wheelhouse" | sed -nE '/^perfscope/d; s/^([A-Za-z0-9_]+)-([0-9][^-]*)-.*/\1==\2/p' >"$place/pins.txt"
    platforms=$(for minor in 5 12 17 24 27 28 31; do printf ' --platform=manylinux_2_%s_x86_64' $minor; done)
    # shellcheck disable=SC2046,SC2086 - one word an option, one a package
    "$builder" -m pip download -q --only-binary :all: --python-version "$version" --implementation cp \
        --platform=manylinux2014_x86_64 $platforms --constraint "$place/pins.txt" --dest "$place/wheels/wheelhouse" \
        --find-links "$place/wheels/wheelhouse" pip 'perfscope-hpc[mpi]' \
        $(sed -nE '/^(dask|distributed|dask-jobqueue)==/p' "$here/requirements/integrations.txt")
    touch "$place/wheels.made"
fi
for rank in 0 1; do
    PYTHONPATH=$here "$builder" -c '
import sys, pathlib
from tests.support.write_kineto import small
small(int(sys.argv[1]), 2).write(pathlib.Path(sys.argv[2]))' "$rank" "$place/profiles/rank$rank.pt.trace.json"
done
