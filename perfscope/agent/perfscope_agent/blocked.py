"""The system call in which a thread of this process waits, as the kernel tells it."""

from __future__ import annotations

import os

FILE = "<system-call>"
"""The file of frames that stand for system calls."""

_X86_64 = (
    "0 read 1 write 2 open 3 close 4 stat 5 fstat 6 lstat 7 poll 9 mmap 11 munmap 12 brk "
    "17 pread64 18 pwrite64 19 readv 20 writev 23 select 25 mremap 26 msync 28 madvise "
    "34 pause 35 nanosleep 40 sendfile 42 connect 43 accept 44 sendto 45 recvfrom 46 sendmsg "
    "47 recvmsg 56 clone 58 vfork 61 wait4 65 semop 72 fcntl 73 flock 74 fsync 75 fdatasync "
    "76 truncate 77 ftruncate 78 getdents 82 rename 83 mkdir 84 rmdir 87 unlink "
    "128 rt_sigtimedwait 130 rt_sigsuspend 162 sync 202 futex 217 getdents64 220 semtimedop "
    "230 clock_nanosleep 232 epoll_wait 247 waitid 257 openat 262 newfstatat 263 unlinkat "
    "264 renameat 270 pselect6 271 ppoll 277 sync_file_range 281 epoll_pwait 285 fallocate "
    "288 accept4 295 preadv 296 pwritev 306 syncfs 316 renameat2 326 copy_file_range 332 statx "
    "435 clone3"
)
_AARCH64 = (
    "22 epoll_pwait 25 fcntl 32 flock 34 mkdirat 35 unlinkat 38 renameat 45 truncate "
    "46 ftruncate 47 fallocate 56 openat 57 close 61 getdents64 63 read 64 write 65 readv "
    "66 writev 67 pread64 68 pwrite64 69 preadv 70 pwritev 71 sendfile 72 pselect6 73 ppoll "
    "79 newfstatat 80 fstat 81 sync 82 fsync 83 fdatasync 84 sync_file_range 95 waitid "
    "98 futex 101 nanosleep 115 clock_nanosleep 133 rt_sigsuspend 137 rt_sigtimedwait "
    "192 semtimedop 193 semop 202 accept 203 connect 206 sendto 207 recvfrom 211 sendmsg "
    "212 recvmsg 214 brk 215 munmap 216 mremap 220 clone 222 mmap 227 msync 233 madvise "
    "242 accept4 260 wait4 267 syncfs 276 renameat2 285 copy_file_range 291 statx 435 clone3"
)
_TABLES = {"x86_64": _X86_64, "aarch64": _AARCH64}
_STREAMS = ("read", "write", "readv", "writev")
_KINDS = ("pipe", "socket")

_FLAGS = os.O_RDONLY | os.O_CLOEXEC
_names: dict[int, str] | None = None


def system_call(thread_id: int) -> str:
    """The system call in which a thread waits; empty where it runs, or nobody can tell.

    A pipe or a socket that is read or written is told behind the name. A thread that waits for
    the interpreter's lock gives itself a time limit, and is told as one that waits for nothing.
    """
    return told(asked(thread_id))


def asked(thread_id: int) -> str:
    """What the kernel says of the system call in which a thread is, empty where it does not."""
    try:
        return of_thread(thread_id, "syscall")
    except OSError:
        return ""


def told(text: str) -> str:
    """The same, by what the kernel says of a thread."""
    global _names
    if _names is None:
        words = _TABLES.get(os.uname().machine, "").split()
        _names = {int(words[at]): words[at + 1] for at in range(0, len(words), 2)}
    words = text.split()
    try:
        return _told(words) if words and _names else ""
    except (OSError, ValueError):
        return ""


def of_thread(thread_id: int, name: str) -> str:
    """What the kernel says of a thread of this process, below the thread's own number if it can.

    Who waits for the process would have to wait for what was looked up below that of the process:
    `text.c` of the recorder says why. Numbers are used again, also by other processes.

    Raises:
        OSError: there is no such thread, or nothing is said of it.
    """
    of_process = "/proc/self/task/%d" % thread_id
    os.stat(of_process)
    try:
        handle = os.open("/proc/%d/task/%d/%s" % (thread_id, thread_id, name), _FLAGS)
    except OSError:
        handle = os.open("%s/%s" % (of_process, name), _FLAGS)
    try:
        return os.read(handle, 256).decode("ascii", "replace")
    finally:
        os.close(handle)


def _told(words: list[str]) -> str:
    if words[0] == "-1":
        return "page_fault"
    if not words[0].isdigit() or _names is None:
        return ""
    name = _names.get(int(words[0]), "")
    if name == "futex" and int(words[4], 16):
        return ""
    if name in _STREAMS:
        target = os.readlink("/proc/self/fd/%d" % int(words[1], 16)).partition(":")[0]
        return "%s(%s)" % (name, target) if target in _KINDS else name
    return name
