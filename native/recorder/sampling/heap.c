#include "sampling/heap.h"

#include <dlfcn.h>
#include <string.h>

#include "records/claim.h"
#include "text.h"

/* struct mallinfo2 of glibc 2.33 and later; earlier ones count in int, which overflows. */
typedef struct {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
} malloc_info;

static malloc_info (*find_mallinfo(void))(void)
{
    static malloc_info (*found)(void);
    static bool is_looked_up;
    if (!is_looked_up && dlsym)
        *(void **)&found = dlsym(RTLD_DEFAULT, "mallinfo2");
    is_looked_up = true;
    return found;
}

ps_heap ps_read_heap(void)
{
    ps_heap heap = {0};
    char status[8192];
    malloc_info (*mallinfo)(void) = find_mallinfo();
    if (ps_read_file("/proc/self/status", status, sizeof status) == 0)
        return heap;
    uint64_t file_kib = ps_find_u64(status, "RssFile:", 0), recording_kib = ps_claims_resident() / 1024;
    heap.anonymous_bytes = ps_find_u64(status, "RssAnon:", 0) * 1024;
    heap.file_kib = (uint32_t)(file_kib > recording_kib ? file_kib - recording_kib : 0);
    heap.shared_kib = (uint32_t)ps_find_u64(status, "RssShmem:", 0);
    if (mallinfo) {
        malloc_info info = mallinfo();
        heap.allocated_bytes = info.uordblks + info.hblkhd;
        heap.held_bytes = info.arena + info.hblkhd;
    }
    return heap;
}
