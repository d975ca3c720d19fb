#include "process/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define ROOT "/sys/fs/cgroup"
#define UNLIMITED_BYTES (1ull << 60)

typedef struct {
    char directory[1024]; /* of the process's group, below which no file is looked for; "" unknown */
    size_t root_length;   /* of the mount point in it */
    bool is_version_2;
} group_place;

/* Finds "...:<controller list>:<path>" in /proc/self/cgroup; version 2 has an empty list. */
static const char *find_group_path(const char *text, const char *controller, size_t *length)
{
    size_t wanted = strlen(controller);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *list = strchr(line, ':');
        const char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            return NULL;
        bool is_found = wanted == 0 && path == list + 1;
        for (const char *name = list + 1; !is_found && wanted && name < path; name += strcspn(name, ",:") + 1)
            is_found = strcspn(name, ",:") == wanted && strncmp(name, controller, wanted) == 0;
        if (is_found) {
            *length = strcspn(path + 1, "\n");
            return path + 1;
        }
    }
    return NULL;
}

static group_place find_place(const char *controller)
{
    group_place place = {.directory = ""};
    char text[4096];
    size_t length = 0;
    ps_read_file("/proc/self/cgroup", text, sizeof text);
    const char *path = find_group_path(text, controller, &length);
    if (!path) {
        place.is_version_2 = true;
        controller = "";
        path = find_group_path(text, controller, &length);
    }
    if (!path)
        return place;
    const char *slash = place.is_version_2 ? "" : "/";
    place.root_length = strlen(ROOT) + strlen(slash) + strlen(controller);
    int needed = snprintf(place.directory, sizeof place.directory, ROOT "%s%s%.*s", slash, controller, (int)length,
                          path);
    if (needed < 0 || (size_t)needed >= sizeof place.directory)
        place.directory[0] = '\0';
    return place;
}

/* Reads a file of the group itself; in a container the group's own path may not be mounted, then the root's. */
static bool read_here(const group_place *place, const char *file, char *text, size_t bytes)
{
    char path[1280];
    snprintf(path, sizeof path, "%s/%s", place->directory, file);
    if (ps_read_file(path, text, bytes) > 0)
        return true;
    snprintf(path, sizeof path, "%.*s/%s", (int)place->root_length, place->directory, file);
    return ps_read_file(path, text, bytes) > 0;
}

/* Makes it the place of the group above; false where that is no group. */
static bool go_up(group_place *place)
{
    char *slash = strrchr(place->directory, '/');
    if (!slash || (size_t)(slash - place->directory) < place->root_length)
        return false;
    *slash = '\0';
    return true;
}

/* The smallest value of one_limit over the group and all groups above it; -1 when none limits. */
static int64_t tightest(group_place place, int64_t (*one_limit)(const group_place *))
{
    int64_t least = -1;
    while (place.directory[0]) {
        int64_t limit = one_limit(&place);
        if (limit >= 0 && (least < 0 || limit < least))
            least = limit;
        if (!go_up(&place))
            break;
    }
    return least;
}

static int64_t cpu_limit(const group_place *place)
{
    char text[128];
    const char *period_text = text;
    uint64_t quota, period;
    if (place->is_version_2) {
        if (!read_here(place, "cpu.max", text, sizeof text) || strncmp(text, "max", 3) == 0)
            return -1;
        quota = ps_parse_u64(text, &period_text);
        period = ps_parse_u64(period_text, NULL);
    } else {
        if (!read_here(place, "cpu.cfs_quota_us", text, sizeof text) || text[0] == '-')
            return -1;
        quota = ps_parse_u64(text, NULL);
        period = read_here(place, "cpu.cfs_period_us", text, sizeof text) ? ps_parse_u64(text, NULL) : 0;
    }
    return period ? (int64_t)(quota * 1000000u / period) : -1;
}

static int64_t memory_limit(const group_place *place)
{
    char text[128];
    const char *file = place->is_version_2 ? "memory.max" : "memory.limit_in_bytes";
    if (!read_here(place, file, text, sizeof text) || text[0] < '0' || text[0] > '9')
        return -1;
    uint64_t bytes = ps_parse_u64(text, NULL);
    return bytes < UNLIMITED_BYTES ? (int64_t)bytes : -1;
}

int64_t ps_cgroup_cpu_quota_us(void)
{
    return tightest(find_place("cpu"), cpu_limit);
}

int64_t ps_cgroup_memory_limit(void)
{
    return tightest(find_place("memory"), memory_limit);
}

static int64_t throttled_ms(const group_place *place)
{
    char text[1024];
    if (!read_here(place, "cpu.stat", text, sizeof text))
        return -1;
    uint64_t ns = ps_find_u64(text, "throttled_time ", 0); /* version 1 */
    return (int64_t)((ns ? ns / 1000u : ps_find_u64(text, "throttled_usec ", 0)) / 1000u);
}

uint32_t ps_cgroup_throttled_ms(void)
{
    static group_place place;
    static bool is_known;
    if (!is_known)
        place = find_place("cpu");
    is_known = true;
    int64_t most = -1;
    for (group_place at = place; at.directory[0];) {
        int64_t ms = throttled_ms(&at);
        most = ms > most ? ms : most;
        if (!go_up(&at))
            break;
    }
    return most < 0 ? UINT32_MAX : (uint32_t)most;
}

/* Looked up once: asked for every second, and processes hardly ever move. Used by the sampler alone. */
static const group_place *memory_place(void)
{
    static group_place place;
    static bool is_known;
    if (!is_known)
        place = find_place("memory");
    is_known = true;
    return &place;
}

uint64_t ps_cgroup_memory_used(void)
{
    char text[128];
    const group_place *place = memory_place();
    const char *file = place->is_version_2 ? "memory.current" : "memory.usage_in_bytes";
    return place->directory[0] && read_here(place, file, text, sizeof text) ? ps_parse_u64(text, NULL) : 0;
}

uint64_t ps_oom_kills(void)
{
    char text[16384];
    const group_place *place = memory_place();
    const char *file = place->is_version_2 ? "memory.events" : "memory.oom_control";
    if (place->directory[0] && read_here(place, file, text, sizeof text))
        return ps_find_u64(text, "oom_kill ", 0);
    ps_read_file("/proc/vmstat", text, sizeof text);
    return ps_find_u64(text, "oom_kill ", 0);
}
