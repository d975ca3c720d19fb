// The memory of numpy's arrays is given by a handler (NEP 49), which is a capsule of functions.
#include "numpy_memory.h"

#include "bindings.h"
#include "scratch.h"

#include <algorithm>
#include <cstring>
#include <malloc.h>

namespace nb = nanobind;

namespace perfscope {

// As numpy's headers declare it, which the engine is built without: PyDataMem_Handler, version 1.
struct Handler {
    char name[127];
    uint8_t version;
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *, size_t);
};

// Places of the functions in numpy's table, the same in all versions from 1.22 on.
constexpr size_t SET_HANDLER = 304, GET_HANDLER = 305;

static Handler before; // what numpy itself does; it has ways of its own with small and with large blocks

static void *take(void *, size_t bytes)
{
    if (is_for_scratch(bytes))
        return take_scratch(bytes, false);
    void *block = before.malloc(before.context, bytes);
    if (block != nullptr)
        count_plain(block, true);
    return block;
}

static void *take_zeros(void *, size_t count, size_t item_bytes)
{
    size_t bytes = 0;
    if (!__builtin_mul_overflow(count, item_bytes, &bytes) && is_for_scratch(bytes))
        return take_scratch(bytes, true);
    void *block = before.calloc(before.context, count, item_bytes);
    if (block != nullptr)
        count_plain(block, true);
    return block;
}

static void give_back(void *, void *block, size_t bytes)
{
    if (block == nullptr || scratch()->give_back(block))
        return;
    count_plain(block, false);
    before.free(before.context, block, bytes);
}

static void *take_anew(void *, void *block, size_t bytes)
{
    const size_t room = block != nullptr ? scratch()->size_of(block) : 0;
    if (room == 0 && !is_for_scratch(bytes)) {
        if (block != nullptr)
            count_plain(block, false);
        void *moved = before.realloc(before.context, block, bytes);
        void *stays = moved != nullptr ? moved : block;
        if (stays != nullptr)
            count_plain(stays, true);
        return moved;
    }
    const size_t held = room > 0 || block == nullptr ? room : ::malloc_usable_size(block);
    void *moved = take(nullptr, bytes);
    if (moved == nullptr || block == nullptr)
        return moved;
    std::memcpy(moved, block, std::min(held, bytes));
    give_back(nullptr, block, held);
    return moved;
}

static Handler own{"perfscope", 1, nullptr, take, take_zeros, take_anew, give_back};

bool give_numpy_blocks()
{
    nb::object table;
    try {
        table = nb::module_::import_("numpy").attr("_core").attr("_multiarray_umath").attr("_ARRAY_API");
    } catch (nb::python_error &) { // before numpy 2
        table = nb::module_::import_("numpy").attr("core").attr("_multiarray_umath").attr("_ARRAY_API");
    }
    auto **functions = static_cast<void **>(PyCapsule_GetPointer(table.ptr(), nullptr));
    if (functions == nullptr)
        throw nb::python_error();
    const auto set_handler = reinterpret_cast<PyObject *(*)(PyObject *)>(functions[SET_HANDLER]);
    const auto get_handler = reinterpret_cast<PyObject *(*)()>(functions[GET_HANDLER]);
    const nb::object now = nb::steal(get_handler());
    const auto *known = static_cast<Handler *>(PyCapsule_GetPointer(now.ptr(), "mem_handler"));
    if (known == nullptr)
        throw nb::python_error();
    if (known == &own)
        return true;
    if (known->version != own.version)
        return false;
    before = *known;
    const nb::object given = nb::steal(PyCapsule_New(&own, "mem_handler", nullptr));
    if (!given.is_valid())
        throw nb::python_error();
    const nb::object last = nb::steal(set_handler(given.ptr()));
    if (!last.is_valid())
        throw nb::python_error();
    return true;
}

} // namespace perfscope
