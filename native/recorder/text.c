#include "text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file below /proc delivers all that it has, or whole pages of it, in one read: less than this was the end. */
#define SHORT_READ_BYTES 2048

static int open_file(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC);
}

static size_t read_and_close(int file, char *buffer, size_t bytes)
{
    size_t used = 0;
    if (file >= 0) {
        ssize_t got = SHORT_READ_BYTES;
        while (got >= SHORT_READ_BYTES && used + 1 < bytes) {
            got = read(file, buffer + used, bytes - 1 - used);
            used += got > 0 ? (size_t)got : 0;
        }
        close(file);
    }
    buffer[used] = '\0';
    return used;
}

size_t ps_read_file(const char *path, char *buffer, size_t bytes)
{
    return read_and_close(open_file(path), buffer, bytes);
}

/* Whoever waits for a process has the kernel drop what was looked up below its number. Its last threads do the same with their parts
 * of that, and while one of them has no CPU the other spins, 10 ms and more on a busy machine. Below a thread's own number, where
 * not every kernel has a directory, nobody else drops anything. */
size_t ps_read_of_thread(const char *process, uint32_t tid, const char *name, char *buffer, size_t bytes)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%u/task/%u/%.20s", tid, tid, name);
    int file = open_file(path);
    if (file < 0) {
        snprintf(path, sizeof path, "/proc/%.20s/task/%u/%.20s", process, tid, name);
        file = open_file(path);
    }
    return read_and_close(file, buffer, bytes);
}

uint64_t ps_parse_u64(const char *text, const char **end)
{
    uint64_t value = 0;
    while (*text == ' ' || *text == '\t')
        text++;
    while (*text >= '0' && *text <= '9')
        value = value * 10 + (uint64_t)(*text++ - '0');
    if (end)
        *end = text;
    return value;
}

uint64_t ps_find_u64(const char *text, const char *key, uint64_t fallback)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n')
            line++;
        if (strncmp(line, key, length) == 0)
            return ps_parse_u64(line + length, NULL);
    }
    return fallback;
}

const char *ps_field(const char *text, unsigned index)
{
    while (*text == ' ')
        text++;
    while (index-- > 0) {
        while (*text && *text != ' ')
            text++;
        while (*text == ' ')
            text++;
    }
    return text;
}

const char *ps_stat_field(const char *text, unsigned index)
{
    const char *behind_name = strrchr(text, ')');
    return behind_name ? ps_field(behind_name + 1, index) : "";
}

uint64_t ps_env_u64(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text && *text >= '0' && *text <= '9' ? ps_parse_u64(text, NULL) : fallback;
}

bool ps_copy_text(char *target, size_t bytes, const char *source)
{
    size_t length = strlen(source);
    bool fits = length < bytes;
    if (!fits)
        length = bytes - 1;
    memcpy(target, source, length);
    target[length] = '\0';
    return fits;
}
