#include "sampling/directory.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel lays it out. */
typedef struct {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
} directory_entry;

bool ps_directory_open(ps_directory *directory, const char *path)
{
    directory->used = directory->at = 0;
    directory->file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return directory->file >= 0;
}

const char *ps_directory_next(ps_directory *directory)
{
    if (directory->at >= directory->used) {
        directory->at = 0;
        directory->used = syscall(SYS_getdents64, directory->file, directory->entries, sizeof directory->entries);
        if (directory->used <= 0)
            return NULL;
    }
    const directory_entry *entry = (const directory_entry *)(const void *)(directory->entries + directory->at);
    directory->at += entry->bytes;
    return entry->name;
}

void ps_directory_close(ps_directory *directory)
{
    close(directory->file);
}
