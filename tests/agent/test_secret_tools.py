"""What tools are told is taken out of their commands, and what programs are told stays."""

import json
import shlex
from subprocess import CalledProcessError

import pytest

from perfscope.record.redact import redact_arguments, redact_value

# Put together here so that no scanner takes this file for a leak.
WORD = "sword" + "fish"

OPTIONS = """redis-cli -a § ping|redis-cli -h cache -p 6379 -a § GET k
    |openssl enc -aes-256-cbc -k § -in a -out b|ldapsearch -x -D cn=admin -w § -b dc=x
    |zip -P § a.zip data|/usr/bin/unzip -P § a.zip|ipmitool -H h -U me -P § power status
    |snmpget -v2c -c § host oid|snmpwalk -v3 -A § -X § host|mosquitto_pub -u me -P § -t x
    |sqlcmd -S h -U me -P §|kinit -p me@X -w §|useradd -p § me|ssh-keygen -N § -f k
    |mutool -p § a.pdf|lftp -u me,§ h|curl -d value=§ http://h|ssh-keygen -t rsa -P § -f k"""
WORDS = """vault write secret/p value=§|vault kv put secret/p value=§|consul kv put app/db §
    |htpasswd -b .htpasswd me §|rabbitmqctl add_user me §|openssl passwd §|7z a -p§ x.7z data
    |xfreerdp /u:me /p:§ /v:h|nmcli dev wifi connect net password §|mysqladmin password §
    |mc alias set s https://h me §|redis-cli AUTH §|steamcmd +login me §|wpa_passphrase net §
    |kubectl create secret generic x --from-literal=v=§|etcdctl put key §|isql -U sa -P§ db
    |vncviewer -passwd § h|aws configure set x.secret §|ldapsearch -x -D cn=admin -w§ -b dc=x
    |redis-cli -a§ ping|snmpget -v2c -c§ host oid|ssh-keygen -N§ -f k|tool -S§"""


def commands(text: str) -> list[str]:
    return [case.strip() for case in text.split("|")]


@pytest.mark.parametrize("command", [*commands(OPTIONS), *commands(WORDS)])
def test_what_a_tool_is_told_is_taken_out(command: str) -> None:
    text = command.replace("§", WORD)
    words = shlex.split(text)
    script = f"cd /x && {text}; python train.py -a relu6"
    for shown in (
        " ".join(redact_arguments(words)),
        redact_value(str(CalledProcessError(1, words))),
        redact_value(str(CalledProcessError(1, text))),
        redact_value(json.dumps({"cmd": words})),
        redact_value(f"command failed: {text}"),
        redact_arguments(["bash", "-c", script])[-1],
    ):
        assert WORD not in shown
        assert words[0] in shown
        assert redact_value(redact_value(shown)) == redact_value(shown)
    assert redact_arguments(["bash", "-c", script])[-1].endswith("python train.py -a relu6")
    assert redact_arguments(redact_arguments(words)) == redact_arguments(words)


@pytest.mark.parametrize("secret", ["xK-9z-Q", "7!x@9"])
def test_short_pieces_between_signs_are_no_words(secret: str) -> None:
    shown = redact_arguments(["redis-cli", "-a", secret, "ping"])
    assert shown == ["redis-cli", "-a", "[redacted]", "ping"]


@pytest.mark.parametrize("command", commands(OPTIONS))
def test_an_option_of_a_tool_is_known_in_a_sentence(command: str) -> None:
    assert WORD not in redact_value(f"could not reach it with {command.replace('§', WORD)}")


@pytest.mark.parametrize("before", ["echo", "printf"])
def test_what_a_script_pipes_into_a_tool_is_taken_out(before: str) -> None:
    shown = redact_arguments(["sh", "-c", f"{before} {WORD} | sudo -S ls; echo done"])[-1]
    assert shown == f"{before} [redacted] | sudo -S ls; echo done"


@pytest.mark.parametrize("secret", ["1234", "Q7", "state", "true"])
def test_what_a_tool_reads_is_taken_out_whatever_it_looks_like(secret: str) -> None:
    for script in (f"echo {secret} | sudo -S ./x", f"sudo -S ls <<< {secret}"):
        shown = redact_arguments(["sh", "-c", script])[-1]
        assert shown == script.replace(secret, "[redacted]")
    script = f"echo {secret} | ./x.sh"
    is_open = secret != "Q7"
    assert (redact_arguments(["sh", "-c", script])[-1] == script) == is_open


CODE = """python -c "login('§')"|python3 -u -c "import x;x.connect('me', '§')"
    |mpirun -n 2 python -W ignore -c 'x.login(\"\"\"§\"\"\")'|perl -e "login(q, '§')"
    |node -e "login('§')"|srun python -c 'f(\"§\", mode=\"train\")'"""


@pytest.mark.parametrize("command", commands(CODE))
def test_what_a_program_of_one_line_has_in_quotes_is_taken_out(command: str) -> None:
    words = shlex.split(command.replace("§", WORD))
    safe = redact_arguments(words)
    assert WORD not in safe[-1]
    assert safe == [*words[:-1], words[-1].replace(WORD, "[redacted]")]
    assert redact_arguments(safe) == safe
    shown = redact_value(str(CalledProcessError(1, words)))
    assert WORD not in shown
    if "'" not in words[-1]:  # a shell writes that in three pieces
        assert WORD not in redact_arguments(["bash", "-c", shlex.join(words)])[-1]


def test_a_program_of_nothing_but_signs_does_not_hold_up_the_start() -> None:
    """They took half an hour when each was looked at from each of those before it."""
    for code in ("\\" * 300_000 + "'", "'" + "\\" * 300_000):
        assert redact_arguments(["python", "-c", code])[-1].startswith(code[:1000])


@pytest.mark.parametrize(
    "command",
    [
        'python -c "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)"',
        "python -c \"main('train', 3, '/data/x', 'model.pt')\" --multiprocessing-fork",
        "python train.py -c \"{'act': 'hardswish'}\"",
        "python -m train -c \"{'act': 'hardswish'}\"",
    ],
)
def test_what_a_program_of_one_line_does_stays(command: str) -> None:
    words = shlex.split(command)
    assert redact_arguments(words) == words


MIXED = "rosebud" + "7!"
ANYWHERE = """rar a -hp§ a.rar data|cryptsetup open -d § /dev/sdb x|qpdf --encrypt § § 256 -- a.pdf
    |smbclient //s/x §|ftp -n -u me §|expect -c 'send § now'|tool --value §|gpg --batch § -c f
    |sshfs me@h:/x /mnt -f §|nmcli con up id x §|mount -t cifs //s/x /mnt §|mkpasswd §
    |tool --cipher=§|keytool -list -z §|tool -xy§ f|pgbench -i § db|borg init -e § repo"""


@pytest.mark.parametrize("command", commands(ANYWHERE))
def test_what_looks_like_a_password_is_taken_out_wherever_a_tool_is_told_it(command: str) -> None:
    words = shlex.split(command.replace("§", MIXED))
    for shown in (
        " ".join(redact_arguments(words)),
        redact_value(str(CalledProcessError(1, words))),
        redact_value(str(CalledProcessError(1, shlex.join(words)))),
        redact_value(json.dumps({"cmd": words})),
        redact_arguments(["bash", "-c", shlex.join(words)])[-1],
    ):
        assert MIXED not in shown
        assert words[0] in shown
    assert redact_arguments(redact_arguments(words)) == redact_arguments(words)


ORDINARY = """train.py -a relu6 -k 5x5 -w adamw -P fp16 -p resnet50
    |python -m train -a mish -w cosine
    |./solver -k spectral -p gauss|torchrun --nproc-per-node 2 train.py -a vit -k rbf
    |srun -A research -p gpu ./solver -k fast|mpirun -n 2 ./lmp -in in.lj -sf gpu -k on g 1
    |mpiexec -n 4 lmp -in in.lj -sf gpu|accelerate launch train.py -m resnet
    |nvidia-smi -q -d UTILIZATION|gcc -shared -Wextra -fPIC x.c|nvcc -Xcompiler -fPIC x.cu
    |gcc -O2 -Wall -pthread -o x x.c -lm|git rev-parse --short HEAD|git log -n 1 --format=%H
    |ls -la /x|ps -o pid,comm|ffmpeg -i a.mp4 -f rawvideo pipe:|tar -xzf a.tar.gz -C /x
    |make -C build test V=1|cp -a weights latest|grep -c error log.txt|docker run -e MODE=fast image
    |tool -preset fast|python train.py --pass forward
    |make -j 8 all|numactl -C 0-3 python train.py -w cosine|env OMP_NUM_THREADS=4 python x.py -k rbf
    |docker run -u 1000:100 -p 8888:8888 image|ssh node1 hostname|pip install torch==2.1
    |perf stat -e cycles -x , ls|nice -n 5 ./train -a relu|cmake --build . -j 4|wandb sync run"""


@pytest.mark.parametrize("command", commands(ORDINARY))
def test_what_a_program_is_told_stays(command: str) -> None:
    words = shlex.split(command)
    assert redact_arguments(words) == words
    for text in (str(CalledProcessError(1, words)), f"command failed: {command}"):
        assert redact_value(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "| -k x",
        "command failed: a -k | | b",
        "cmd: ;;|&& -p",
        "running '| |' -x",
        "Command '' died",
    ],
)
def test_commands_with_nothing_between_their_signs_are_read(text: str) -> None:
    for shown in (redact_value(text), redact_arguments(["sh", "-c", text])[-1]):
        assert shown == text


def test_every_command_of_a_text_is_looked_at() -> None:
    text = "".join(str(CalledProcessError(1, f"mysql -p{WORD}{n} 'a b'")) + " " for n in range(3))
    shown = redact_value(text)
    assert WORD not in shown
    assert shown.count("mysql") == 3
