/* A shared mapping on a network file system makes a page fault a message to a server, and some systems have no such
 * mappings. So the files are mapped on the node and copied to the run directory: every few seconds and at exit. */
#include "records/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "guard.h"
#include "process/process.h"
#include "records/buffer.h"
#include "records/definitions.h"
#include "records/disk.h"
#include "text.h"

#define DEFAULT_INTERVAL_S 5u
#define NS_PER_SECOND 1000000000u
#define CHUNK_SLOTS 4096u
#define MAX_CHUNKS 65536u /* 16 GiB of records; beyond them every chunk is copied once */
#define MAX_DIRECTORIES 100

/* f_type of file systems whose files lie elsewhere, from linux/magic.h and the systems' own sources. */
static const uint32_t network_types[] = {
    0x6969,     /* NFS */
    0x517b,     /* SMB */
    0xff534d42, /* CIFS */
    0xfe534d42, /* SMB 2 */
    0x0bd00bd0, /* Lustre */
    0x47504653, /* GPFS */
    0x19830326, /* BeeGFS */
    0x00c36400, /* Ceph */
    0x5346414f, /* AFS */
    0x6b414653, /* kAFS */
    0x20030528, /* OrangeFS */
    0xaad7aaea, /* PanFS */
    0x01161970, /* GFS2 */
    0x7461636f, /* OCFS2 */
    0x01021997, /* 9P */
    0x65735546, /* FUSE: sshfs, WekaFS, and the like */
};

static struct {
    bool is_on;
    bool is_begun; /* there is a file that is copied to */
    char directory[PS_PATH_BYTES - 16];
    uint64_t interval_ns;
    uint64_t next_ns;
    uint64_t copied_slots;
    uint64_t copied_definitions;
    uint8_t open_chunks[MAX_CHUNKS / 8]; /* chunks with calls or phases that had not ended when they were copied */
    uint8_t changed_chunks[MAX_CHUNKS];
    union {
        ps_header known;
        char all[PS_HEADER_BYTES];
    } header; /* as it is copied */
    ps_lock lock;
} drain = {.lock = ATOMIC_FLAG_INIT};

static bool is_network(const char *path)
{
    struct statfs system;
    if (statfs(path, &system) != 0)
        return false;
    for (size_t i = 0; i < sizeof network_types / sizeof *network_types; i++)
        if ((uint32_t)system.f_type == network_types[i])
            return true;
    return false;
}

/* A directory of this process's own: made, never found, so that nobody else can have prepared it. */
static bool make_directory(const char *place)
{
    for (int i = 0; i < MAX_DIRECTORIES; i++) {
        int needed = snprintf(drain.directory, sizeof drain.directory, "%s/perfscope-%ld-%llu-%d", place,
                              (long)getpid(), (unsigned long long)ps_start_ticks(), i);
        if (needed < 0 || (size_t)needed >= sizeof drain.directory)
            return false;
        if (mkdir(drain.directory, 0700) == 0)
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

bool ps_drain_open(const char *run_directory, bool is_refused)
{
    const char *forced = getenv("PERFSCOPE_LOCAL_DIR");
    const char *places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
    if (forced && *forced == '/')
        drain.is_on = make_directory(forced);
    else if (is_refused || is_network(run_directory))
        for (size_t i = 0; i < sizeof places / sizeof *places && !drain.is_on; i++)
            drain.is_on = places[i] && places[i][0] == '/' && !is_network(places[i]) && make_directory(places[i]);
    drain.interval_ns = ps_env_u64("PERFSCOPE_DRAIN_S", DEFAULT_INTERVAL_S) * NS_PER_SECOND;
    drain.next_ns = ps_monotonic() + drain.interval_ns;
    return drain.is_on;
}

bool ps_drain_path(char *path, size_t bytes, const char *ending)
{
    int needed = snprintf(path, bytes, "%s/own%s", drain.directory, ending);
    return needed > 0 && (size_t)needed < bytes;
}

void ps_drain_note(void)
{
    char text[PS_PATH_BYTES + 256];
    if (!drain.is_on)
        return;
    int length = snprintf(text, sizeof text,
                          "Records were written in %s on the node and copied to the run directory every %llu s: of a "
                          "process that is killed, at most that much is missing here.",
                          drain.directory, (unsigned long long)(drain.interval_ns / NS_PER_SECOND));
    ps_define_note(text, (uint32_t)length < sizeof text ? (uint32_t)length : (uint32_t)sizeof text - 1);
}

static int open_target(const char *ending)
{
    char path[PS_PATH_BYTES + 8];
    snprintf(path, sizeof path, "%s%s", ps_recorder.base_path, ending);
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
}

static bool copy_definitions(void)
{
    char path[PS_PATH_BYTES];
    char block[16384];
    int source = ps_drain_path(path, sizeof path, ".def") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    int target = source < 0 ? -1 : open_target(".def");
    bool is_copied = target >= 0;
    while (is_copied) {
        ssize_t got = pread(source, block, sizeof block, (off_t)drain.copied_definitions);
        if (got <= 0)
            break;
        is_copied = ps_disk_write(target, block, (uint64_t)got, drain.copied_definitions);
        drain.copied_definitions += is_copied ? (uint64_t)got : 0;
    }
    if (source >= 0)
        close(source);
    if (target >= 0 && close(target) != 0) {
        is_copied = false;
        drain.copied_definitions = 0; /* a file system may tell only now what it refused */
    }
    return is_copied;
}

static bool is_open(const ps_record *record)
{
    uint16_t kind = __atomic_load_n(&record->kind, __ATOMIC_ACQUIRE);
    if (kind == PS_KIND_NONE)
        return true;
    return (kind == PS_KIND_OPERATION || kind == PS_KIND_PHASE) && record->t1_ns == 0;
}

static void mark_chunk(uint64_t chunk, uint64_t first, uint64_t end)
{
    bool has_open = false;
    if (chunk >= MAX_CHUNKS)
        return;
    for (uint64_t slot = first; slot < end && !has_open; slot++)
        has_open = is_open(&ps_recorder.slots[slot]);
    uint8_t bit = (uint8_t)(1u << chunk % 8);
    drain.open_chunks[chunk / 8] = (uint8_t)(has_open ? drain.open_chunks[chunk / 8] | bit
                                                      : drain.open_chunks[chunk / 8] & ~bit);
}

/* Whether a chunk may have changed since it was copied; polling goes on writing into the newest records. */
static bool is_due(uint64_t chunk)
{
    /* Before copying: what changes meanwhile is copied again. */
    if (chunk < MAX_CHUNKS && __atomic_exchange_n(&drain.changed_chunks[chunk], 0, __ATOMIC_SEQ_CST))
        return true;
    bool is_new = (chunk + 2) * CHUNK_SLOTS > drain.copied_slots;
    return is_new || (chunk < MAX_CHUNKS && drain.open_chunks[chunk / 8] & 1u << chunk % 8);
}

void ps_drain_changed(uint64_t slot)
{
    if (PS_UNLIKELY(drain.is_on) && slot / CHUNK_SLOTS < MAX_CHUNKS)
        __atomic_store_n(&drain.changed_chunks[slot / CHUNK_SLOTS], 1, __ATOMIC_SEQ_CST);
}

static bool copy_records(int target, uint64_t used)
{
    if (ps_guard_is_lost())
        return true; /* what is mapped now is not what was recorded */
    for (uint64_t first = 0; first < used; first += CHUNK_SLOTS) {
        uint64_t end = used - first < CHUNK_SLOTS ? used : first + CHUNK_SLOTS;
        if (!is_due(first / CHUNK_SLOTS))
            continue;
        mark_chunk(first / CHUNK_SLOTS, first, end); /* before copying: what ends in between is copied again */
        if (!ps_disk_write(target, &ps_recorder.slots[first], (end - first) * PS_RECORD_BYTES,
                      PS_HEADER_BYTES + first * PS_RECORD_BYTES))
            return false;
    }
    drain.copied_slots = used;
    return true;
}

/* Definitions first, then records, then the header that counts them: a reader never meets an id that is unknown or
 * fewer records than are promised but where they found no room. */
static bool copy_all(void)
{
    bool is_copied = copy_definitions();
    if (!ps_recorder.header)
        return is_copied; /* the record file could not be made, and the definitions say why */
    drain.header.known = *ps_recorder.header;
    uint64_t used = ps_buffer_used();
    int target = open_target(".rec");
    if (target < 0)
        return false;
    if (!copy_records(target, used)) {
        is_copied = false;
        if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
            drain.header.known.flags |= PS_FLAG_DISK_FULL;
    }
    /* Also where records found no room: it tells totals and the end of the process. */
    is_copied = ps_disk_write(target, drain.header.all, sizeof drain.header, 0) && is_copied;
    if (close(target) == 0)
        return is_copied;
    drain.copied_slots = 0;
    return false;
}

/* Takes the space of the header before records, of other processes too, take all that there is. */
static void begin_target(void)
{
    int target = ps_recorder.header ? open_target(".rec") : -1;
    if (target < 0)
        return;
    drain.header.known = *ps_recorder.header;
    drain.header.known.claimed = 0;
    ps_disk_write(target, drain.header.all, sizeof drain.header, 0);
    close(target);
}

void ps_drain_maintain(uint64_t now_ns)
{
    if (!drain.is_on || (drain.is_begun && now_ns < drain.next_ns))
        return;
    ps_acquire(&drain.lock);
    if (drain.is_on && !drain.is_begun) {
        drain.is_begun = true;
        begin_target();
        ps_release(&drain.lock);
        return;
    }
    if (drain.is_on)
        copy_all();
    ps_release(&drain.lock);
    drain.next_ns = ps_monotonic() + drain.interval_ns;
}

void ps_drain_close(void)
{
    static const char *const endings[] = {".rec", ".def"};
    char path[PS_PATH_BYTES];
    if (!drain.is_on)
        return;
    ps_acquire(&drain.lock);
    drain.is_on = false;
    bool is_copied = copy_all();
    ps_release(&drain.lock);
    if (!is_copied)
        return; /* what could not be copied stays on the node */
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ps_drain_path(path, sizeof path, endings[i]))
            unlink(path);
    rmdir(drain.directory);
}

void ps_drain_forget(void)
{
    memset(&drain, 0, sizeof drain);
}
