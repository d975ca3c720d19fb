#include "mpi/mpi_abi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define FUNCTION_NAME_BYTES 96

ps_mpi_abi ps_abi;

static struct {
    void *handle; /* of the MPI library, NULL until one was found */
    char path[PS_PATH_BYTES];
    uintptr_t begin, end; /* of the library's image */
    uintptr_t program_begin, program_end;
} library;
static ps_lock finding = ATOMIC_FLAG_INIT;

static const ps_mpi_abi mpich_abi = {
    .abi = PS_ABI_MPICH, .handle_bytes = 4, .status_bytes = 20, .status_source = 2, .any_source = -2,
    .proc_null = -1, .root = -3, .any_tag = -1, .thread_multiple = 3, .error_other = 15, .error_count = 2,
    .in_place = (ps_word)-1, .comm_world = 0x44000000, .comm_self = 0x44000001, .comm_null = 0x04000000,
    .datatype_null = 0x0c000000, .byte = 0x4c00010d, .request_null = 0x2c000000, .message_null = 0x2c000000,
    .message_no_proc = 0x6c000000, .no_operation = 0x5800000e, .graph = 1, .cartesian = 2, .distributed_graph = 3,
    .op_band = 0x58000006, .op_bor = 0x58000008,
};
static const ps_mpi_abi standard_abi = {
    .abi = PS_ABI_STANDARD, .handle_bytes = 8, .status_bytes = 32, .status_source = 0, .any_source = -1,
    .proc_null = -3, .root = -4, .any_tag = -2, .thread_multiple = 4096, .error_other = 16, .error_count = 2,
    .in_place = 1, .comm_world = 0x101, .comm_self = 0x102, .comm_null = 0x100, .datatype_null = 0x200,
    .byte = 0x247, .request_null = 0x180, .message_null = 0x128, .message_no_proc = 0x129,
    .no_operation = 0x3d, .cartesian = 211, .graph = 212, .distributed_graph = 213,
    .op_band = 0x28, .op_bor = 0x29,
};
static const ps_mpi_abi openmpi_abi = {
    .abi = PS_ABI_OPENMPI, .handle_bytes = 8, .status_bytes = 24, .status_source = 0, .any_source = -1,
    .proc_null = -2, .root = -4, .any_tag = -1, .thread_multiple = 3, .error_other = 16, .error_count = 2,
    .in_place = 1, .cartesian = 1, .graph = 2, .distributed_graph = 3,
};

/* Looks for an MPI library that was opened privately (mpi4py, torch and TensorFlow do): it is in no scope that
 * RTLD_NEXT searches. */
static int visit_object(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    const char *path = info->dlpi_name;
    const char *name = path ? strrchr(path, '/') : NULL;
    name = name ? name + 1 : path;
    if (!name || strncmp(name, "libmpi", 6) != 0)
        return 0;
    void *handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (!handle)
        return 0;
    if (dlsym(handle, "PMPI_Init")) {
        *(void **)found = handle;
        return 1;
    }
    dlclose(handle);
    return 0;
}

static void find_private_library(void)
{
    ps_acquire(&finding);
    if (!library.handle) {
        void *handle = NULL;
        dl_iterate_phdr(visit_object, &handle);
        library.handle = handle;
    }
    ps_release(&finding);
}

void *ps_find_function(const char *name)
{
    if (!dlsym || !dlopen || !dlclose || !dladdr)
        return NULL;
    void *address = dlsym(RTLD_NEXT, name);
    if (address)
        return address;
    if (!library.handle)
        find_private_library();
    return library.handle ? dlsym(library.handle, name) : NULL;
}

/* MPI_X rather than PMPI_X, so that another preloaded tool behind us still sees its calls. */
static void *find_either(const char *name)
{
    char profiled[FUNCTION_NAME_BYTES];
    void *address = ps_find_function(name);
    if (address)
        return address;
    snprintf(profiled, sizeof profiled, "P%s", name);
    return ps_find_function(profiled);
}

bool ps_resolve(ps_function *function)
{
    void *address = find_either(function->name);
    if (!address && function->narrow_name) {
        address = find_either(function->narrow_name);
        function->is_narrow = address != NULL;
    }
    atomic_store_explicit(&function->address, address, memory_order_release);
    return address != NULL;
}

int ps_missing_function(void)
{
    return ps_abi.error_other ? ps_abi.error_other : mpich_abi.error_other;
}

int ps_count_too_large(void)
{
    return ps_abi.error_count ? ps_abi.error_count : mpich_abi.error_count;
}

const char *ps_library_path(void)
{
    return library.path;
}

/* The program first: it may hold a copy of a variable of the library, and the library then uses that copy. */
static ps_word find_variable(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (!address && library.handle)
        address = dlsym(library.handle, name);
    return (ps_word)(uintptr_t)address;
}

static int note_image(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    bool is_program = !info->dlpi_name || !*info->dlpi_name;
    if (!is_program && strcmp(info->dlpi_name, library.path) != 0)
        return 0;
    uintptr_t *begin = is_program ? &library.program_begin : &library.begin;
    uintptr_t *end = is_program ? &library.program_end : &library.end;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t first = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        if (*begin == 0 || first < *begin)
            *begin = first;
        if (first + segment->p_memsz > *end)
            *end = first + segment->p_memsz;
    }
    return 0;
}

bool ps_is_static_address(ps_word address)
{
    return (address >= library.begin && address < library.end) ||
           (address >= library.program_begin && address < library.program_end);
}

static void learn_openmpi_handles(void)
{
    ps_abi.comm_world = find_variable("ompi_mpi_comm_world");
    ps_abi.comm_self = find_variable("ompi_mpi_comm_self");
    ps_abi.comm_null = find_variable("ompi_mpi_comm_null");
    ps_abi.datatype_null = find_variable("ompi_mpi_datatype_null");
    ps_abi.byte = find_variable("ompi_mpi_byte");
    ps_abi.request_null = find_variable("ompi_request_null");
    ps_abi.message_null = find_variable("ompi_message_null");
    ps_abi.message_no_proc = find_variable("ompi_message_no_proc");
    ps_abi.op_band = find_variable("ompi_mpi_op_band");
    ps_abi.op_bor = find_variable("ompi_mpi_op_bor");
    ps_abi.no_operation = find_variable("ompi_mpi_op_no_op");
}

void ps_abi_learn(void)
{
    Dl_info info = {0};
    void *initialize = ps_find_function("PMPI_Init");
    if (!initialize || !dladdr(initialize, &info) || !info.dli_fname)
        return;
    ps_copy_text(library.path, sizeof library.path, info.dli_fname);
    if (!library.handle)
        library.handle = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    dl_iterate_phdr(note_image, NULL);
    if (find_variable("ompi_mpi_comm_world")) {
        ps_abi = openmpi_abi;
        learn_openmpi_handles();
    } else {
        ps_abi = strstr(library.path, "libmpi_abi") ? standard_abi : mpich_abi;
    }
}
