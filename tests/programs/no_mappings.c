/* Preloaded: files below $REFUSED_BELOW cannot be mapped so that others see what is written, as on some file systems. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is_refused(int file)
{
    char link[64], path[4096];
    const char *below = getenv("REFUSED_BELOW");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || !below)
        return 0;
    path[length] = '\0';
    return strncmp(path, below, strlen(below)) == 0;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (!real)
        real = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    if (file >= 0 && flags & MAP_SHARED && is_refused(file)) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return real(at, bytes, protection, flags, file, offset);
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return mmap(at, bytes, protection, flags, file, offset);
}
