#include "records/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/address_space.h"
#include "records/definitions.h"
#include "records/disk.h"
#include "text.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels refuse it, and pages are then made ready one by one */
#endif
#define CHUNK_SLOTS 4096u
#define AHEAD_SLOTS (2 * CHUNK_SLOTS)     /* at least so many are made ready by the sampler */
#define MOST_AHEAD_SLOTS (256 * CHUNK_SLOTS)
#define RELEASE_SLOTS (4 * CHUNK_SLOTS) /* written records are let go in pieces of this size */
#define SMALLEST_MAPPING (1u << 19)
#define ZERO_BYTES 65536u
#define UNNAMED ".new"
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#define ADDRESS_SPACE_SHARE 32 /* of what the job may still map, the recording takes this part */

static struct {
    char path[PS_PATH_BYTES];
    size_t mapped_bytes;
    uint64_t capacity;
    uint64_t detail_capacity; /* slots that MPI detail may use */
    _Atomic uint64_t allocated; /* slots with disk space */
    uint64_t seen_by_sampler; /* slots claimed at its last visit */
    uint64_t released;        /* slots whose pages this process no longer holds */
    atomic_bool is_disk_full;
    bool is_populated; /* pages are in memory before they are written */
    ps_lock growing;
} buffer = {.growing = ATOMIC_FLAG_INIT};

_Atomic uint64_t ps_buffer_limits[PS_PRIORITIES];

/* The header as the sampler saw it last, in case the file loses it. */
static ps_header kept_header;

static bool allocate_range(int file, uint64_t offset, uint64_t bytes)
{
    if (!ps_disk_may_reach(offset + bytes)) {
        errno = EFBIG;
        return false;
    }
    int error;
    do
        error = posix_fallocate(file, (off_t)offset, (off_t)bytes);
    while (error == EINTR);
    errno = error;
    return error == 0;
}

/* Makes the pages of a range ready to be written. A first touch of a page that was only reserved on disk costs the
 * MPI call that meets it 13 us on ext4; with the page written before, the whole work is 3 us. */
static void warm_range(int file, uint64_t offset, uint64_t bytes)
{
    static const char zeros[ZERO_BYTES];
    for (uint64_t at = 0; at < bytes; at += ZERO_BYTES) {
        size_t part = bytes - at < ZERO_BYTES ? (size_t)(bytes - at) : ZERO_BYTES;
        if (pwrite(file, zeros, part, (off_t)(offset + at)) < 0)
            return;
    }
    madvise((char *)ps_recorder.header + offset, bytes, MADV_POPULATE_WRITE);
}

static void set_limits(uint64_t allocated)
{
    uint64_t capacity = buffer.capacity;
    uint64_t detail = allocated >= capacity ? capacity : allocated - PS_CONTEXT_RESERVE;
    atomic_store(&buffer.allocated, allocated);
    atomic_store(&ps_buffer_limits[PS_CONTEXT], allocated);
    atomic_store(&ps_buffer_limits[PS_DETAIL], detail < buffer.detail_capacity ? detail : buffer.detail_capacity);
}

static void end_claims(void)
{
    atomic_store(&ps_buffer_limits[PS_DETAIL], 0);
    atomic_store(&ps_buffer_limits[PS_CONTEXT], 0);
}

static void set_capacity(ps_header *header, uint64_t bytes)
{
    buffer.capacity = header->capacity = (bytes - PS_HEADER_BYTES) / PS_RECORD_BYTES;
    buffer.detail_capacity = buffer.capacity - buffer.capacity / 8;
}

static void *map_shared(int file, uint64_t *bytes)
{
    void *mapping = MAP_FAILED;
    uint64_t most = ps_address_space_free() / ADDRESS_SPACE_SHARE;
    most = most < SMALLEST_MAPPING ? SMALLEST_MAPPING : most - most % PS_HEADER_BYTES;
    if (*bytes > most)
        *bytes = most;
    while (*bytes >= SMALLEST_MAPPING) {
        mapping = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapping != MAP_FAILED)
            break;
        *bytes /= 2; /* the job may limit its address space */
    }
    return mapping;
}

/* Called when pages of the file are gone, from the signal that told so. */
static void stop_records(void)
{
    atomic_store(&buffer.is_disk_full, true);
    end_claims();
}

/* The name that the file has until it tells whose it is. */
static bool unnamed_path(char *path)
{
    int needed = snprintf(path, PS_PATH_BYTES, "%s" UNNAMED, buffer.path);
    return needed > 0 && needed < PS_PATH_BYTES;
}

ps_header *ps_buffer_create(const char *named, uint64_t max_bytes)
{
    char path[PS_PATH_BYTES];
    if (!ps_copy_text(buffer.path, sizeof buffer.path, named) || !unnamed_path(path)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    unlink(path); /* of a process that was killed */
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0)
        return NULL;
    uint64_t bytes = max_bytes < SMALLEST_MAPPING ? SMALLEST_MAPPING : max_bytes;
    bytes -= bytes % PS_HEADER_BYTES;
    void *mapping = MAP_FAILED;
    if (allocate_range(file, 0, PS_HEADER_BYTES + (uint64_t)CHUNK_SLOTS * PS_RECORD_BYTES))
        mapping = map_shared(file, &bytes);
    int error = errno;
    close(file);
    if (mapping == MAP_FAILED) {
        unlink(path);
        errno = error;
        return NULL;
    }
    ps_header *header = mapping;
    ps_guard_begin(mapping, bytes, buffer.path, &kept_header, stop_records);
    buffer.mapped_bytes = bytes;
    set_capacity(header, bytes);
    ps_recorder.header = header;
    ps_recorder.slots = (ps_record *)((char *)mapping + PS_HEADER_BYTES);
    set_limits(CHUNK_SLOTS);
    buffer.is_populated =
        madvise(mapping, PS_HEADER_BYTES + CHUNK_SLOTS * PS_RECORD_BYTES, MADV_POPULATE_WRITE) == 0;
    return header;
}

bool ps_buffer_name(void)
{
    char path[PS_PATH_BYTES];
    if (!unnamed_path(path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    /* A file that has the name already stays, where the file system can tell. */
    if (syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, buffer.path, RENAME_NOREPLACE) == 0 ||
        (errno != EEXIST && rename(path, buffer.path) == 0))
        return true;
    int error = errno;
    ps_copy_text(buffer.path, sizeof buffer.path, path); /* records go on there */
    errno = error;
    return false;
}

static void note_disk_full(int error)
{
    char text[240];
    atomic_store(&buffer.is_disk_full, true);
    ps_set_header_flag(PS_FLAG_DISK_FULL);
    int length = snprintf(text, sizeof text, "No room for more records (%s): steps are left out, or where few are known, what comes later; "
                          "totals go on.",
                          error == EFBIG ? "file size limit of the process" : strerror(error));
    ps_define_note(text, (uint32_t)length);
}

static void keep_header(void)
{
    if (memcmp(ps_recorder.header->magic, PS_MAGIC, sizeof kept_header.magic) == 0)
        kept_header = *ps_recorder.header;
}

static void note_lost(void)
{
    static const char text[] = "Recording stopped: the record file could no longer be written (its file system is full or "
                               "failed, or the file was shortened); totals go on.";
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    stop_records(); /* also where space was just being obtained */
    ps_set_header_flag(PS_FLAG_DISK_FULL);
    if (!atomic_flag_test_and_set(&is_told))
        ps_define_note(text, sizeof text - 1);
}

/* Both before the slots come to an end: what has been thinned stays so. */
static void change_capacity(uint64_t bytes)
{
    ps_acquire(&buffer.growing);
    uint64_t allocated = atomic_load(&buffer.allocated);
    bool is_open = !atomic_load(&ps_recorder.is_closed) && !atomic_load(&buffer.is_disk_full);
    if (is_open && !atomic_load(&ps_recorder.is_reusing) && (bytes - PS_HEADER_BYTES) / PS_RECORD_BYTES > allocated) {
        set_capacity(ps_recorder.header, bytes);
        set_limits(allocated);
    }
    ps_release(&buffer.growing);
}

void ps_buffer_limit(uint64_t max_bytes)
{
    uint64_t bytes = max_bytes < SMALLEST_MAPPING ? SMALLEST_MAPPING : max_bytes;
    change_capacity(bytes < buffer.mapped_bytes ? bytes : buffer.mapped_bytes);
}

void ps_buffer_lift(void)
{
    change_capacity(buffer.mapped_bytes);
}

void ps_buffer_save_totals(void)
{
    if (!ps_recorder.header || !ps_guard_is_lost())
        return;
    int file = open(buffer.path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ps_disk_write(file, ps_recorder.header, PS_HEADER_BYTES, 0);
    close(file);
}

/* Obtains disk space until `slots` are there. Called with the lock held. */
static void grow_to(uint64_t slots)
{
    uint64_t capacity = buffer.capacity;
    uint64_t allocated = atomic_load(&buffer.allocated);
    if (allocated >= slots || allocated >= capacity || atomic_load(&buffer.is_disk_full) ||
        atomic_load(&ps_recorder.is_closed))
        return;
    /* Opened anew each time: a job that closes or reuses every descriptor must not meet ours. */
    int file = open(buffer.path, O_RDWR | O_CLOEXEC);
    int error = file < 0 ? errno : 0;
    while (!error && allocated < slots && allocated < capacity) {
        uint64_t chunk = capacity - allocated < CHUNK_SLOTS ? capacity - allocated : CHUNK_SLOTS;
        uint64_t offset = PS_HEADER_BYTES + allocated * PS_RECORD_BYTES;
        if (!allocate_range(file, offset, chunk * PS_RECORD_BYTES))
            error = errno;
        else {
            warm_range(file, offset, chunk * PS_RECORD_BYTES);
            set_limits(allocated += chunk);
        }
    }
    if (file >= 0)
        close(file);
    if (error)
        note_disk_full(error);
}

void ps_buffer_end_claims(uint64_t *handed_out, uint64_t *end)
{
    ps_acquire(&buffer.growing);
    grow_to(buffer.capacity);
    *end = atomic_load(&buffer.allocated);
    end_claims();
    *handed_out = __atomic_exchange_n(&ps_recorder.header->claimed, *end, __ATOMIC_SEQ_CST);
    ps_release(&buffer.growing);
}

void ps_buffer_grow(uint64_t slots)
{
    ps_acquire(&buffer.growing);
    grow_to(slots);
    ps_release(&buffer.growing);
}

bool ps_buffer_is_disk_full(void)
{
    return atomic_load(&buffer.is_disk_full);
}

bool ps_buffer_is_scarce(void)
{
    uint64_t claimed = __atomic_load_n(&ps_recorder.header->claimed, __ATOMIC_RELAXED);
    return claimed > buffer.detail_capacity - buffer.detail_capacity / 8;
}

/* Full pages of old records are the page cache's: kept mapped, they would look like growing memory of the job. A
 * call that is still open there only maps its page again. Claims go on beyond the last slot, where the job's own
 * memory begins: only slots that exist are let go. */
static void release_written(uint64_t used)
{
    uint64_t end = used - used % RELEASE_SLOTS;
    if (end <= buffer.released + RELEASE_SLOTS)
        return;
    end -= RELEASE_SLOTS; /* the newest are still being written */
    madvise(&ps_recorder.slots[buffer.released], (end - buffer.released) * PS_RECORD_BYTES, MADV_DONTNEED);
    buffer.released = end;
}

void ps_buffer_release(uint64_t filled)
{
    if (filled < buffer.released)
        buffer.released = 0; /* begun anew with the first slot */
    release_written(filled);
}

bool ps_buffer_keep(void)
{
    if (ps_guard_is_lost()) {
        note_lost();
        ps_buffer_save_totals();
        return false;
    }
    keep_header();
    return true;
}

void ps_buffer_grow_ahead(void)
{
    uint64_t claimed = __atomic_load_n(&ps_recorder.header->claimed, __ATOMIC_RELAXED);
    uint64_t ahead = 2 * (claimed - buffer.seen_by_sampler);
    buffer.seen_by_sampler = claimed;
    uint64_t least = atomic_load(&ps_recorder.is_worker) ? CHUNK_SLOTS / 4 : AHEAD_SLOTS; /* there may be many */
    ahead = ahead < least ? least : ahead > MOST_AHEAD_SLOTS ? MOST_AHEAD_SLOTS : ahead;
    while (atomic_load(&buffer.allocated) < claimed + ahead) {
        uint64_t allocated = atomic_load(&buffer.allocated);
        ps_buffer_grow(allocated + 1); /* a chunk at a time: a call that needs one itself waits for no more */
        if (atomic_load(&buffer.allocated) == allocated)
            break;
    }
}

void ps_buffer_close(void)
{
    if (atomic_exchange(&ps_recorder.is_closed, true))
        return;
    /* A claim adds first and reads the limit second: after this store no slot at or above `used` is handed out. */
    ps_acquire(&buffer.growing);
    end_claims();
    uint64_t used = __atomic_load_n(&ps_recorder.header->claimed, __ATOMIC_SEQ_CST);
    uint64_t allocated = atomic_load(&buffer.allocated);
    ps_release(&buffer.growing);
    if (ps_guard_is_lost()) {
        note_lost();
        ps_buffer_save_totals();
    } else if (used < allocated) {
        int ignored = truncate(buffer.path, (off_t)(PS_HEADER_BYTES + used * PS_RECORD_BYTES));
        (void)ignored; /* a file longer than needed is harmless */
    }
}

uint64_t ps_buffer_resident(void)
{
    uint64_t end = buffer.is_populated ? atomic_load(&buffer.allocated) : ps_buffer_used();
    return ps_recorder.header ? PS_HEADER_BYTES + (end - buffer.released) * PS_RECORD_BYTES : 0;
}

uint64_t ps_buffer_used(void)
{
    uint64_t claimed = __atomic_load_n(&ps_recorder.header->claimed, __ATOMIC_SEQ_CST);
    uint64_t allocated = atomic_load(&buffer.allocated);
    return claimed < allocated ? claimed : allocated;
}

void ps_buffer_drop(void)
{
    void *mapping = ps_recorder.header;
    ps_recorder.header = NULL;
    ps_recorder.slots = NULL;
    ps_guard_end();
    if (mapping)
        munmap(mapping, buffer.mapped_bytes);
}

void ps_buffer_forget(void)
{
    memset(&buffer, 0, sizeof buffer);
    end_claims();
    memset(&kept_header, 0, sizeof kept_header);
}
