#include "process/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/agent_path.h"
#include "process/children.h"
#include "process/run_directory.h"
#include "records/buffer.h"
#include "records/definitions.h"
#include "records/drain.h"
#include "text.h"

#define DEFAULT_MAX_BYTES 268435456u
#define DEFINITIONS_SHARE 8 /* the .def file may take this part of the size limit, the .rec file the rest */
#define MAX_IMAGES 100      /* programs that one process may run after another, by exec */

static ps_lock opening = ATOMIC_FLAG_INIT;
static atomic_bool is_tried;

static bool make_path(char *path, size_t bytes, const char *ending)
{
    int needed = snprintf(path, bytes, "%s%s", ps_recorder.base_path, ending);
    return needed > 0 && (size_t)needed < bytes;
}

static void set_exit(int code)
{
    PS_STORES;
    ps_header *header = ps_recorder.header;
    if (!header || getpid() != ps_recorder.pid)
        return;
    uint32_t flags = __atomic_load_n(&header->flags, __ATOMIC_RELAXED);
    if (flags & PS_FLAG_EXITED)
        return;
    header->exit_ns = ps_monotonic();
    if (!(flags & PS_FLAG_ABORTED))
        header->exit_code = code & 0xff; /* as whoever waits for the process sees it */
    ps_set_header_flag(PS_FLAG_EXITED);
    ps_buffer_save_totals();
}

static void at_exit(int code, void *unused)
{
    (void)unused;
    set_exit(code);
}

/* Programs that leave without exit() tell so here: else they would look killed. */
PS_EXPORT void _exit(int code)
{
    set_exit(code);
    for (;;)
        syscall(SYS_exit_group, code);
}

void ps_process_end(int code)
{
    PS_STORES;
    set_exit(code);
    ps_buffer_close();
    ps_drain_close();
    for (;;)
        syscall(SYS_exit_group, code);
}

PS_EXPORT void _Exit(int code)
{
    _exit(code);
}

void ps_mark_aborted(int32_t code)
{
    PS_STORES;
    if (ps_recorder.header) {
        ps_recorder.header->exit_code = code;
        ps_set_header_flag(PS_FLAG_ABORTED);
    }
}

/* Why there are no records, where the analysis will find it. */
static void note_failure(const char *what, int error)
{
    char text[256];
    int length = snprintf(text, sizeof text, "Nothing was recorded: %s: %s.", what, strerror(error));
    ps_define_note(text, (uint32_t)length);
}

static void note_unnamed(int error)
{
    char text[256];
    int length = snprintf(text, sizeof text, "The records are in a file that ends in .rec.new and cannot be renamed: %s.",
                          strerror(error));
    ps_define_note(text, (uint32_t)length);
}

/* Names the files <pid>-<start ticks>. A process that ran another recorded program before, and replaced it by exec,
 * has files of that name already: the next ones get a third number. */
static bool create_definitions(const char *directory, uint64_t max_bytes)
{
    char path[PS_PATH_BYTES];
    char image[16] = "";
    errno = EEXIST;
    for (int i = 1; i <= MAX_IMAGES && errno == EEXIST; i++) {
        snprintf(ps_recorder.base_path, sizeof ps_recorder.base_path, "%s/%ld-%llu%s", directory, (long)getpid(),
                 (unsigned long long)ps_start_ticks(), image);
        if (!make_path(path, sizeof path, ".def"))
            return false;
        if (ps_definitions_create(path, max_bytes))
            return true;
        snprintf(image, sizeof image, "-%d", i);
    }
    return false;
}

static ps_header *create_records(bool is_local, uint64_t max_bytes)
{
    char path[PS_PATH_BYTES];
    bool is_named = is_local ? ps_drain_path(path, sizeof path, ".def") &&
                                   ps_definitions_create(path, max_bytes / DEFINITIONS_SHARE) &&
                                   ps_drain_path(path, sizeof path, ".rec")
                             : make_path(path, sizeof path, ".rec");
    return is_named ? ps_buffer_create(path, max_bytes - max_bytes / DEFINITIONS_SHARE) : NULL;
}

static bool is_full(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

uint64_t ps_max_bytes(void)
{
    return ps_env_u64("PERFSCOPE_MAX_BYTES", DEFAULT_MAX_BYTES);
}

static bool open_files(void)
{
    char directory[PS_PATH_BYTES - 96];
    uint64_t max_bytes = ps_max_bytes();
    ps_recorder.pid = getpid();
    if (!ps_host_directory(directory, sizeof directory) ||
        !create_definitions(directory, max_bytes / DEFINITIONS_SHARE))
        return false;
    bool is_local = ps_drain_open(directory, false);
    ps_header *header = create_records(is_local, max_bytes);
    int error = errno;
    /* A file system that has no shared mappings, whatever it is called. */
    if (!header && !is_local && !is_full(error) && ps_drain_open(directory, true))
        header = create_records(true, max_bytes);
    if (!header) {
        note_failure("the record file cannot be made", error);
        ps_drain_close();
        return false;
    }
    ps_fill_identity(header);
    ps_note_limits();
    if (!ps_buffer_name())
        note_unnamed(errno);
    ps_drain_note();
    if (!ps_recorder.recordings)
        on_exit(at_exit, NULL); /* a forked child has inherited it */
    return true;
}

bool ps_process_open(void)
{
    if (atomic_load_explicit(&is_tried, memory_order_acquire))
        return ps_recorder.header != NULL;
    if (!ps_run_directory_is_known() || ps_recorder.is_forked_child)
        return false;
    int saved_errno = errno;
    ps_acquire(&opening);
    if (!atomic_load(&is_tried)) {
        if (!open_files())
            ps_recorder.base_path[0] = '\0';
        atomic_store_explicit(&is_tried, true, memory_order_release);
    }
    ps_release(&opening);
    errno = saved_errno;
    return ps_recorder.header != NULL;
}

void ps_process_forget(void)
{
    ps_recorder.is_forked_child = false;
    ps_recorder.recordings++;
    atomic_store(&ps_recorder.is_closed, false);
    atomic_flag_clear(&opening);
    atomic_store(&is_tried, false);
}

/* A forked child must not write into its parent's files. Most run for a moment or work for their parent: one begins
 * files of its own when it is asked to. */
static void in_forked_child(void)
{
    ps_self = (ps_thread_state){0};
    ps_recorder.loaded_ns = ps_monotonic();
    if (!ps_recorder.header)
        return;
    ps_recorder.is_mpi_inherited = atomic_load(&ps_recorder.is_mpi_recorded);
    atomic_store(&ps_recorder.is_mpi_recorded, false);
    atomic_store(&ps_recorder.is_worker, false);
    ps_recorder.is_forked_child = true;
    ps_recorder.base_path[0] = '\0';
    ps_buffer_drop();
}

__attribute__((constructor)) static void on_load(void)
{
    ps_recorder.loaded_ns = ps_monotonic();
    ps_run_directory_keep();
    ps_children_prepare(ps_run_directory_is_known());
    if (ps_run_directory_is_known()) {
        ps_agent_path_keep();
        pthread_atfork(NULL, NULL, in_forked_child);
    }
}

__attribute__((destructor)) static void on_unload(void)
{
    PS_STORES;
    if (!ps_recorder.header || getpid() != ps_recorder.pid)
        return;
    set_exit(0);
    ps_buffer_close();
    ps_drain_close();
}
