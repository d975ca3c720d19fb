// keep_memory: what the process has freed stays with it, for the next table.
#include "bindings.h"

#include <climits>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace nb = nanobind;

namespace perfscope {

// An analysis makes hundreds of tables as long as the run, each for a moment. Given back one by one, their pages are
// cleared by the kernel again for each: half of the processor time of a long run.
static void keep_memory()
{
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_ARENA_MAX, 1);
#endif
}

void bind_memory(nb::module_ &module)
{
    module.def("keep_memory", &keep_memory);
}

} // namespace perfscope
