/* Which calls are looked at, and what is read of their buffers. */
#include "mpi/lines.h"

#include <sys/uio.h>
#include <unistd.h>

#include "mix.h"

#define LINES 16u /* of a buffer, each of so many words: the kernel takes most of a microsecond for one */
#define WORDS 8u
#define FIRST_LOOKS 8u
#define LOOK_EVERY 16u

bool ps_lines_are_due(uint32_t number)
{
    return number < FIRST_LOOKS || ps_mix(number) % LOOK_EVERY == 0;
}

bool ps_lines_digest(ps_word buffer, uint64_t bytes, uint32_t number, uint64_t *found, bool *varies)
{
    uint64_t words[LINES][WORDS], stride = bytes / LINES / sizeof *words;
    struct iovec from[LINES], to = {.iov_base = words, .iov_len = sizeof words};
    for (uint32_t at = 0; at < LINES; at++) {
        uint64_t line = at * stride + ps_mix(number * (uint64_t)LINES + at) % (stride - WORDS + 1);
        from[at] = (struct iovec){.iov_base = (void *)(uintptr_t)(buffer + line * sizeof *words),
                                  .iov_len = sizeof *words};
    }
    if (process_vm_readv(getpid(), &to, 1, from, LINES, 0) != (ssize_t)sizeof words)
        return false;
    *found = 0;
    *varies = false;
    for (uint32_t at = 0; at < LINES * WORDS; at++) {
        uint64_t word = words[at / WORDS][at % WORDS];
        *varies = *varies || word != words[0][0];
        if (word)
            *found = ps_mix(*found ^ word ^ at);
    }
    return true;
}
