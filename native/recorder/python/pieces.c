/* Pieces of the process's own memory, for the agent: what may be gone by now, or would have to be read from a disk. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "perfscope_recorder.h"
#include "state.h"

#define MOST_PIECES 1024 /* that the kernel takes at once */

/* Pages that are asked for at once: an array of 64 MiB. */
#define MOST_PAGES 16384

/* Whether no page of so many bytes has to be fetched, and all are there. */
static bool is_resident(uint64_t address, uint64_t bytes, uint64_t page)
{
    unsigned char pages[MOST_PAGES];
    uint64_t first = address / page * page, count = (address + bytes - first + page - 1) / page;
    if (count > sizeof pages || mincore((void *)(uintptr_t)first, count * page, pages) != 0)
        return false;
    for (uint64_t at = 0; at < count; at++)
        if (!(pages[at] & 1))
            return false;
    return true;
}

/* The same of all that lies between the first of some pieces and the last one: one call for all of an array. */
static bool are_resident(const uint64_t *addresses, const uint64_t *bytes, uint32_t count, uint64_t page)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t at = 0; at < count; at++) {
        if (addresses[at] > UINT64_MAX - bytes[at])
            return false;
        begin = addresses[at] < begin ? addresses[at] : begin;
        end = addresses[at] + bytes[at] > end ? addresses[at] + bytes[at] : end;
    }
    if (count && is_resident(begin, end - begin, page))
        return true;
    for (uint32_t at = 0; at < count; at++)
        if (!is_resident(addresses[at], bytes[at], page))
            return false;
    return true;
}

PS_EXPORT int ps_read_pieces(const uint64_t *addresses, const uint64_t *bytes, uint32_t count, void *into)
{
    struct iovec from[MOST_PIECES], to = {into, 0};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (count > MOST_PIECES || !are_resident(addresses, bytes, count, page))
        return 0;
    for (uint32_t at = 0; at < count; at++) {
        from[at] = (struct iovec){(void *)(uintptr_t)addresses[at], bytes[at]};
        to.iov_len += bytes[at];
    }
    return count && process_vm_readv(getpid(), &to, 1, from, count, 0) == (ssize_t)to.iov_len;
}
