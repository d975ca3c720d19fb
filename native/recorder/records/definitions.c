#include "records/definitions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "records/disk.h"
#include "text.h"

static struct {
    char path[PS_PATH_BYTES];
    uint64_t written_bytes;
    uint64_t max_bytes;
    bool is_stopped;
    ps_lock lock;
} definitions = {.is_stopped = true, .lock = ATOMIC_FLAG_INIT};

/* A program may have any number of names and stacks: the rest of the file is kept for what makes calls readable. */
static bool has_room(uint16_t type, uint64_t bytes)
{
    bool is_countless = type == PS_DEF_NAME || type == PS_DEF_STACK;
    uint64_t end = definitions.written_bytes + bytes;
    uint64_t most = definitions.max_bytes - (is_countless ? definitions.max_bytes / 8 : 0);
    return end <= most && ps_disk_may_reach(end);
}

/* Opened anew each time: a job that closes or reuses every descriptor must not meet ours. */
static bool append(uint16_t type, const struct iovec *parts, int count, uint64_t bytes)
{
    if (definitions.is_stopped || !has_room(type, bytes))
        return false;
    int file = open(definitions.path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t written = writev(file, parts, count);
    close(file);
    if (written > 0)
        definitions.written_bytes += (uint64_t)written;
    /* After half an entry nothing more can be read: stop. */
    if (written > 0 && (uint64_t)written < bytes)
        definitions.is_stopped = true;
    return written >= 0 && (uint64_t)written == bytes;
}

bool ps_definitions_create(const char *path, uint64_t max_bytes)
{
    struct iovec magic = {.iov_base = (void *)PS_DEF_MAGIC, .iov_len = 8};
    if (!ps_copy_text(definitions.path, sizeof definitions.path, path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0)
        return false;
    close(file);
    definitions.max_bytes = max_bytes;
    definitions.is_stopped = false;
    return append(PS_DEF_NOTE, &magic, 1, magic.iov_len);
}

bool ps_define(uint16_t type, uint32_t id, const void *head, uint32_t head_bytes, const void *body,
               uint32_t body_bytes)
{
    ps_definition entry = {.type = type, .id = id, .bytes = head_bytes + body_bytes};
    struct iovec parts[3] = {
        {.iov_base = &entry, .iov_len = sizeof entry},
        {.iov_base = (void *)(uintptr_t)head, .iov_len = head_bytes},
        {.iov_base = (void *)(uintptr_t)body, .iov_len = body_bytes},
    };
    int saved_errno = errno;
    ps_acquire(&definitions.lock);
    bool is_written = append(type, parts, 3, sizeof entry + (uint64_t)entry.bytes);
    ps_release(&definitions.lock);
    errno = saved_errno;
    return is_written;
}

void ps_define_text(uint16_t type, const char *text, uint32_t bytes)
{
    ps_define(type, 0, text, bytes, NULL, 0);
}

void ps_define_note(const char *text, uint32_t bytes)
{
    ps_define_text(PS_DEF_NOTE, text, bytes);
}

void ps_definitions_forget(void)
{
    memset(&definitions, 0, sizeof definitions);
    definitions.is_stopped = true;
}
