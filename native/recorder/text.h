/* Small files and numbers as text, without the C library's functions that newer versions replace. */
#ifndef PERFSCOPE_TEXT_H
#define PERFSCOPE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the beginning of a file into a terminated buffer. Returns the bytes read, 0 when there are none. */
size_t ps_read_file(const char *path, char *buffer, size_t bytes);
/* The same of what the kernel tells of a thread, as "stat". The process is "self" or a number; numbers are those of /proc. */
size_t ps_read_of_thread(const char *process, uint32_t tid, const char *name, char *buffer, size_t bytes);
/* The unsigned decimal number at text, after blanks; 0 when there is none. *end is set behind it. */
uint64_t ps_parse_u64(const char *text, const char **end);
/* The number behind a key such as "MemAvailable:"; fallback when the key is absent. */
uint64_t ps_find_u64(const char *text, const char *key, uint64_t fallback);
/* The n-th blank-separated field, counted from 0; "" when there are fewer. */
const char *ps_field(const char *text, unsigned index);
/* The same of "pid (name) state ...", as /proc has it, behind the name: that may hold blanks and brackets. */
const char *ps_stat_field(const char *text, unsigned index);
uint64_t ps_env_u64(const char *name, uint64_t fallback);
/* Copies with termination; false when it did not fit. */
bool ps_copy_text(char *target, size_t bytes, const char *source);

#endif
