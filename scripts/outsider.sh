#!/bin/sh
# What an outsider does, in a bare old distribution: installs from wheels without a network and without a compiler, records
# a job under Slurm on two emulated nodes, watches it, analyzes it, also on Dask workers that Slurm starts, and gates it as
# in CI. Needs root. The story has a network of its own (the loopback alone), and mounts, processes and a host name of its
# own: nothing of it is left when it ends.
#
#   scripts/outsider.sh PLACE [SUITE]
#
# PLACE     a directory with what `scripts/outsider_place.sh` makes there; what is missing is made first
# SUITE     the release of Debian in it; bullseye (11) if none is named
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${OUTSIDER_APART-}" ]; then
    "$here/scripts/outsider_place.sh" "$@"
    OUTSIDER_APART=yes unshare --mount --pid --net --uts --fork --kill-child sh "$0" "$@" &
    apart=$!
    trap 'kill -KILL $apart; exit 130' INT
    trap 'kill -KILL $apart; exit 143' HUP TERM
    code=0
    wait "$apart" || code=$?
    exit "$code"
fi
place=$(cd "$1" && pwd)
root=$place/root python=$(cat "$place/python.txt")
host=outsider
ip link set lo up
ip address add 10.0.0.1/32 dev lo # with 127.0.0.1 alone names are not looked up as Slurm asks for them
hostname "$host"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys" # of this network
for part in dev sys/fs/cgroup; do mount --rbind "/$part" "$root/$part"; done
mkdir -p "$root/srv/story/wheels" "$root/srv/story/profiles"
cp "$place"/wheels/wheelhouse/*.whl "$root/srv/story/wheels/"
cp "$place"/profiles/*.json "$root/srv/story/profiles/"
cp "$here/packaging/ci/gitlab.yml" "$root/srv/story/"
echo "127.0.0.1 localhost $host" >"$root/etc/hosts"
echo "$host" >"$root/etc/hostname"
mkdir -p "$root/etc/slurm"
cat >"$root/etc/slurm/slurm.conf" <<CONF
ClusterName=emulated
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmctldPort=26817
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdPidFile=/run/slurmd.%n.pid
SlurmdLogFile=/var/log/slurmd.%n.log
SlurmdSpoolDir=/var/spool/slurmd.%n
StateSaveLocation=/var/spool/slurmctld
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=node[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[27001-27002] CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP
CONF
# From 22.05 on Slurm looks for control groups, and asks systemd for them, which a chroot has not.
release=$(chroot "$root" slurmd -V | cut -d' ' -f2)
if [ "$(printf '%s\n' 22.05 "$release" | sort -V | head -n 1)" = 22.05 ]; then
    echo IgnoreSystemd=yes >"$root/etc/slurm/cgroup.conf"
fi
cat >"$root/srv/story/job.py" <<'JOB'
import sys

import numpy
import perfscope
from mpi4py import MPI

world = MPI.COMM_WORLD
values, found = numpy.ones(200_000), numpy.empty(200_000)
random = numpy.random.default_rng(world.rank)
steps, rounds = map(int, sys.argv[1:])


def train():
    for _ in range(rounds * (1 + world.rank)):
        random.random(out=found)  # new arrays would be page faults on ranks that chance chooses
    world.Allreduce(MPI.IN_PLACE, values)
    values[:] = 1.0


for _ in range(steps):
    perfscope.step(samples=32)
    train()
if world.rank == 0:
    print("trained on", world.size, "ranks")
JOB
cat >"$root/srv/story/job.sh" <<'JOB'
#!/bin/sh
#SBATCH -N 2 -n 2 -t 20 -o /srv/story/job.out --open-mode=append --exclusive
cd /srv/story
output=$1
shift
exec /opt/perfscope/bin/perfscope run -o "$output" -- srun --mpi=pmi2 /opt/perfscope/bin/python job.py "$@"
JOB
cat >"$root/srv/story/story.sh" <<STORY
set -eu
cd /srv/story
done_within() { # SECONDS COMMAND...: waits until the command succeeds
    left=\$1
    shift
    until "\$@"; do
        left=\$((left - 1))
        [ "\$left" -gt 0 ] || { echo "not in time: \$*"; exit 1; }
        sleep 1
    done
}
is_recorded() { ls "\$1"/*/*.rec >/dev/null 2>&1; }
is_idle() { [ -z "\$(squeue -h)" ]; }
step() { echo; echo "== \$*"; }

step "Debian \$(cat /etc/debian_version), \$(ldd --version | sed -n '1s/.* //p;q' | sed 's/^/glibc /'), \$($python --version)"
if command -v gcc cc c++ make; then echo "a compiler is there"; exit 1; fi
if ls /sys/class/net | grep -v '^lo\$'; then echo "a network is there"; exit 1; fi

step "install from wheels, without a network and without a compiler"
rm -rf /opt/perfscope trace before after job.out live.html
$python -m venv --without-pip /opt/perfscope
$python "\$(ls wheels/pip-*.whl)/pip" --python /opt/perfscope/bin/python -q install --no-index --find-links wheels pip
/opt/perfscope/bin/python -m pip -q install --no-index --find-links wheels 'perfscope-hpc[mpi,cluster]'
export PATH=/opt/perfscope/bin:\$PATH
perfscope --version
perfscope doctor >doctor.txt
tail -n 1 doctor.txt
grep -q '^Ready to record' doctor.txt

step "Slurm \$(slurmctld -V | cut -d' ' -f2) on two emulated nodes"
rm -rf /var/spool/slurmctld
mkdir -p /run/munge /var/log/munge /var/lib/munge /var/spool/slurmctld
[ -s /etc/munge/munge.key ] || head -c 1024 /dev/urandom >/etc/munge/munge.key
chown -R munge: /run/munge /var/log/munge /var/lib/munge /etc/munge
chmod 400 /etc/munge/munge.key
setpriv --reuid munge --regid munge --clear-groups munged --force
slurmctld
slurmd -N node1
slurmd -N node2
done_within 300 srun -N 2 -n 2 true 2>/dev/null
sinfo -h -N -o '%N %T'

step "record a job of two nodes, and watch it while it runs"
sbatch job.sh trace 200 100
done_within 600 is_recorded trace
sleep 3
perfscope watch trace --once >watched.txt
cat watched.txt
grep -q '^2 ranks on 1 host, running' watched.txt
perfscope watch trace --html live.html >/dev/null &
watching=\$!
done_within 300 grep -qs 'http-equiv' live.html
[ -n "\$(squeue -h)" ]
echo "live.html was written while the job ran"
done_within 1200 is_idle
wait \$watching
cat job.out
grep -q '^trained on 2 ranks' job.out

step "analyze the recording"
perfscope analyze trace >analyzed.txt
cat analyzed.txt
grep -q '^Verdict: Rank 1 ' analyzed.txt
[ -s trace/report.html ]
cp trace/analysis.json here.json

step "analyze the recording, and profiles of two ranks, on Dask workers in jobs of Slurm"
mkdir -p ~/.config/dask
echo '{jobqueue: {slurm: {cores: 1, memory: 800MB, processes: 1, walltime: "00:10:00", interface: lo}}}' >~/.config/dask/jobqueue.yaml
export PERFSCOPE_SLURM_JOBS=2
perfscope analyze trace --no-report --scheduler slurm >/dev/null
cmp here.json trace/analysis.json
echo "the recording: the same to the byte"
done_within 300 is_idle
perfscope analyze profiles --no-report >/dev/null
cp profiles/analysis.json here.json
python -c 'import json; ranks = json.load(open("here.json"))["run"]["ranks"]; assert ranks == 2, ranks'
perfscope analyze profiles --no-report --scheduler slurm >/dev/null
cmp here.json profiles/analysis.json
echo "the profiles: the same to the byte"
done_within 300 is_idle

step "gate one run"
code=0
perfscope analyze trace --no-report --fail-under 0.99 --junit junit.xml >/dev/null || code=\$?
[ "\$code" = 1 ]
grep -q '<failure' junit.xml
echo "exit code \$code, and a failure in junit.xml"

step "gate a change as in CI: three runs before it, three that take four times as long, by the script of gitlab.yml"
for repeat in 1 2 3; do
    sbatch job.sh before/\$repeat 20 25
    sbatch job.sh after/\$repeat 20 100
done
done_within 1200 is_idle
python -c 'import yaml; print(yaml.safe_load(open("gitlab.yml"))[".perfscope-compare"]["script"][0])' >gate.sh
code=0
BEFORE=before AFTER=after FAIL_ON=slower sh gate.sh || code=\$?
[ "\$code" = 1 ]
grep -q '<failure' perfscope-junit.xml
echo "slower: exit code \$code, and a failure in perfscope-junit.xml"

step "the day is over"
STORY
chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 sh /srv/story/story.sh
