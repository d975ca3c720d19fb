/* Python 3.12 and later warn of a fork in a process with several threads, which they count in /proc/self/stat. A program
 * with one thread is not warned because of the recorder's: it reads there what it would read without them. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampling/hidden_threads.h"
#include "text.h"

#define THREADS_FIELD 17 /* behind the command, the first one being 0 */
#define STAT_BYTES 1024
#define NUMBER_BYTES 24
#define CLOSE_ON_EXEC 1u /* MFD_CLOEXEC */

typedef FILE *(*open_function)(const char *, const char *);

/* The C library's own, for a process in which nothing can be looked up. */
extern FILE *_IO_fopen(const char *path, const char *mode);

static open_function find_real(void)
{
    static _Atomic(open_function) known;
    open_function found = atomic_load_explicit(&known, memory_order_relaxed);
    if (found)
        return found;
    if (dlsym)
        *(void **)&found = dlsym(RTLD_NEXT, "fopen64");
    found = found ? found : _IO_fopen;
    atomic_store_explicit(&known, found, memory_order_relaxed);
    return found;
}

/* Whether a place is in Python's own code: what others read there they may read again and again. */
static bool is_of_python(const void *place)
{
    Dl_info found;
    if (!dladdr || dladdr(place, &found) == 0 || !found.dli_fname)
        return false;
    const char *name = strrchr(found.dli_fname, '/');
    return strstr(name ? name : found.dli_fname, "python") != NULL;
}

/* A file with this text and no name, NULL where there can be none. */
static FILE *file_of(const char *text, size_t bytes)
{
#ifdef SYS_memfd_create
    int file = (int)syscall(SYS_memfd_create, "stat", CLOSE_ON_EXEC);
    if (file < 0)
        return NULL;
    FILE *stream = pwrite(file, text, bytes, 0) == (ssize_t)bytes ? fdopen(file, "r") : NULL;
    if (!stream)
        close(file);
    return stream;
#else
    (void)text, (void)bytes;
    return NULL;
#endif
}

/* The text of /proc/self/stat without threads that are hidden; false where there are none. */
static bool take_out(const char *text, char *shown, size_t bytes)
{
    const char *field = ps_stat_field(text, THREADS_FIELD);
    const char *rest;
    uint64_t threads = ps_parse_u64(field, &rest), ours = ps_hidden_threads_alive();
    if (ours == 0 || ours >= threads)
        return false;
    snprintf(shown, bytes, "%.*s%llu%s", (int)(field - text), text, (unsigned long long)(threads - ours), rest);
    return true;
}

PS_EXPORT FILE *fopen64(const char *path, const char *mode)
{
    FILE *stream = find_real()(path, mode);
    if (!stream || strcmp(path, "/proc/self/stat") != 0 || !is_of_python(__builtin_return_address(0)))
        return stream;
    char text[STAT_BYTES], shown[STAT_BYTES + NUMBER_BYTES];
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    FILE *other = take_out(text, shown, sizeof shown) ? file_of(shown, strlen(shown)) : NULL;
    if (!other) {
        rewind(stream);
        return stream;
    }
    fclose(stream);
    return other;
}
