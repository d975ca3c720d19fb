#include "text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file below /proc delivers all that it has, or whole pages of it, in one read: less than this was the end. */
#define SHORT_READ_BYTES 2048

size_t ps_read_file_at(int directory, const char *path, char *buffer, size_t bytes)
{
    size_t used = 0;
    int file = openat(directory, path, O_RDONLY | O_CLOEXEC);
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
    return ps_read_file_at(AT_FDCWD, path, buffer, bytes);
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
