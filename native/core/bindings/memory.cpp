// Where large tables live: the process keeps what was freed, and where memory is short, files take what does not fit.
#include "bindings.h"
#include "numpy_memory.h"
#include "scratch.h"

#include <cstdlib>
#include <nanobind/stl/string.h>
#include <new>
#include <sys/vfs.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace nb = nanobind;

// The vectors of the engine are large blocks, too. These replace what the standard library has for this module alone.
void *operator new(size_t bytes)
{
    void *block = perfscope::take_block(bytes > 0 ? bytes : 1);
    if (block == nullptr)
        throw std::bad_alloc();
    return block;
}
void *operator new[](size_t bytes)
{
    return operator new(bytes);
}
void operator delete(void *block) noexcept
{
    perfscope::give_block_back(block);
}
void operator delete[](void *block) noexcept
{
    perfscope::give_block_back(block);
}
void operator delete(void *block, size_t) noexcept
{
    perfscope::give_block_back(block);
}
void operator delete[](void *block, size_t) noexcept
{
    perfscope::give_block_back(block);
}

namespace perfscope {

// An analysis makes hundreds of tables as long as the run, each for a moment. Given back one by one, their pages are
// cleared by the kernel again for each: half of the processor time of a long run.
static void keep_memory()
{
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1); // never
    mallopt(M_ARENA_MAX, 1);
#endif
}

// How many bytes may still be written below a directory, and whether they are kept in memory, not on a disk.
static nb::tuple room_below(const std::string &directory)
{
    constexpr long TMPFS = 0x01021994, RAMFS = static_cast<long>(0x858458f6);
    struct statfs about;
    if (::statfs(directory.c_str(), &about) != 0)
        return nb::make_tuple(0, false);
    const auto room = static_cast<uint64_t>(about.f_bavail) * static_cast<uint64_t>(about.f_bsize);
    return nb::make_tuple(room, about.f_type == TMPFS || about.f_type == RAMFS);
}

static bool use_files(const std::string &directory, size_t plain_bytes, size_t resident_bytes)
{
    use_scratch(directory, {plain_bytes, resident_bytes});
    return give_numpy_blocks();
}

static nb::tuple files_used()
{
    const Scratch *used = scratch();
    if (used == nullptr)
        return nb::make_tuple(0, 0, 0);
    return nb::make_tuple(used->peak_file_bytes(), used->refused(), used->refused_bytes());
}

void bind_memory(nb::module_ &module)
{
    module.def("keep_memory", &keep_memory);
    module.def("room_below", &room_below, nb::arg("directory"));
    module.def("use_files", &use_files, nb::arg("directory"), nb::arg("plain_bytes"), nb::arg("resident_bytes"));
    module.def("files_used", &files_used);
}

} // namespace perfscope
