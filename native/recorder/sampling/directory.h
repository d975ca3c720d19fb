/* Names in a directory, read without memory of the C library: its first use by a thread reserves 64 MiB of address
 * space, which a job may have limited. */
#ifndef PERFSCOPE_DIRECTORY_H
#define PERFSCOPE_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int file;
    long used, at;
    _Alignas(8) char entries[4096];
} ps_directory;

bool ps_directory_open(ps_directory *directory, const char *path);
/* NULL after the last one. */
const char *ps_directory_next(ps_directory *directory);
void ps_directory_close(ps_directory *directory);

#endif
