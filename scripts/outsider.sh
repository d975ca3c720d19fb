#!/bin/sh
# What an outsider does, in a bare old distribution: installs from wheels without a network and without a compiler, records
# a job under Slurm on two emulated nodes, watches it, analyzes it, has profiles decoded by Dask workers that Slurm starts,
# and gates it. Needs root.
#
#   scripts/outsider.sh PLACE
#
# PLACE     a directory with what `scripts/outsider_place.sh` makes there; what is missing is made first
set -eu
place=$1
"$(dirname "$0")/outsider_place.sh" "$place"
root=$place/root python=/opt/python3.11 wheels=$place/wheels/wheelhouse profiles=$place/profiles
host=$(hostname)
mounted='' story=''
finish() {
    trap '' HUP INT TERM
    [ -z "$story" ] || kill -TERM "-$story" 2>/dev/null || true
    [ -z "$story" ] || wait "$story" || true
    for place in $mounted; do umount --lazy "$place"; done
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
for place in proc dev sys; do
    mountpoint -q "$root/$place" && continue
    mount --bind "/$place" "$root/$place"
    mounted="$mounted $root/$place"
done
mkdir -p "$root/srv/story/wheels" "$root/srv/story/profiles"
cp "$wheels"/*.whl "$root/srv/story/wheels/"
cp "$profiles"/*.json "$root/srv/story/profiles/"
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
cat >"$root/srv/story/job.py" <<'JOB'
import numpy
import perfscope
from mpi4py import MPI

world = MPI.COMM_WORLD
values = numpy.ones(200_000)


def train(number):
    for _ in range(20 * (1 + world.rank)):
        numpy.sort(values[::-1] + number)
    world.Allreduce(MPI.IN_PLACE, values)
    values[:] = 1.0


for number in range(400):
    perfscope.step(samples=32)
    train(number)
if world.rank == 0:
    print("trained on", world.size, "ranks")
JOB
cat >"$root/srv/story/job.sh" <<'JOB'
#!/bin/sh
#SBATCH -N 2 -n 2 -t 20 -o /srv/story/job.out
cd /srv/story
exec /opt/perfscope/bin/perfscope run -o trace -- srun --mpi=pmi2 /opt/perfscope/bin/python job.py
JOB
cat >"$root/srv/story/story.sh" <<STORY
set -eu
cd /srv/story
cat /etc/debian_version
if command -v gcc cc c++ make; then echo "a compiler is there"; exit 1; fi
rm -rf /opt/perfscope trace
$python/bin/python3 -m venv --without-pip /opt/perfscope
$python/bin/python3 "\$(ls wheels/pip-*.whl)/pip" --python /opt/perfscope/bin/python -q install --no-index --find-links wheels pip
unshare -n /opt/perfscope/bin/python -m pip -q install --no-index --find-links wheels 'perfscope-hpc[mpi,cluster]'
export PATH=/opt/perfscope/bin:\$PATH
perfscope doctor | tail -1
rm -rf /var/spool/slurmctld
mkdir -p /run/munge /var/log/munge /var/lib/munge /var/spool/slurmctld
[ -s /etc/munge/munge.key ] || head -c 1024 /dev/urandom >/etc/munge/munge.key
chown -R munge: /run/munge /var/log/munge /var/lib/munge /etc/munge
chmod 400 /etc/munge/munge.key
setpriv --reuid munge --regid munge --clear-groups munged --force
trap 'scontrol shutdown; kill \$(cat /run/munge/munged.pid)' EXIT
trap 'exit 143' HUP INT TERM
slurmctld
slurmd -N node1
slurmd -N node2
until srun -N 2 -n 2 true 2>/dev/null; do sleep 1; done
sbatch job.sh
until ls trace/*/*.rec 2>/dev/null; do sleep 1; done
sleep 3
perfscope watch trace --once
while [ -n "\$(squeue -h)" ]; do sleep 1; done
cat job.out
perfscope analyze trace
perfscope analyze trace --no-report --fail-under 0.99 --junit junit.xml >/dev/null && exit 1 || echo "gate: exit code \$?"
perfscope analyze profiles --no-report >/dev/null
cp profiles/analysis.json here.json
mkdir -p ~/.config/dask
echo '{jobqueue: {slurm: {cores: 1, memory: 800MB, processes: 1, walltime: "00:10:00", interface: lo}}}' >~/.config/dask/jobqueue.yaml
PERFSCOPE_SLURM_JOBS=2 perfscope analyze profiles --no-report --scheduler slurm >/dev/null
cmp here.json profiles/analysis.json && echo "decoded by Slurm's workers: the same to the byte"
STORY
setsid chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 sh /srv/story/story.sh &
story=$!
code=0
wait "$story" || code=$?
story=''
exit "$code"
