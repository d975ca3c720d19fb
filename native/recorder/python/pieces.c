/* Pieces of the process's own memory, for the agent: what may be gone by now, or would have to be read from a disk. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "perfscope_recorder.h"
#include "state.h"

#define MOST_PIECES 1024 /* that the kernel takes at once */

/* Whether no page of a piece has to be fetched, and all are there. */
static bool is_resident(uint64_t address, uint64_t bytes, uint64_t page)
{
    unsigned char pages[16];
    uint64_t first = address / page * page, count = (address + bytes - first + page - 1) / page;
    if (count > sizeof pages || mincore((void *)(uintptr_t)first, count * page, pages) != 0)
        return false;
    for (uint64_t at = 0; at < count; at++)
        if (!(pages[at] & 1))
            return false;
    return true;
}

PS_EXPORT int ps_read_pieces(const uint64_t *addresses, const uint64_t *bytes, uint32_t count, void *into)
{
    struct iovec from[MOST_PIECES], to = {into, 0};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (count > MOST_PIECES)
        return 0;
    for (uint32_t at = 0; at < count; at++) {
        if (!is_resident(addresses[at], bytes[at], page))
            return 0;
        from[at] = (struct iovec){(void *)(uintptr_t)addresses[at], bytes[at]};
        to.iov_len += bytes[at];
    }
    return count && process_vm_readv(getpid(), &to, 1, from, count, 0) == (ssize_t)to.iov_len;
}
