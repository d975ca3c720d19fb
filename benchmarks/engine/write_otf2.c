// write_otf2 DIRECTORY LOCATIONS STEPS OPERATIONS: an archive as a training under Score-P leaves it, for benchmarks:
// in every step a forward and a backward pass of OPERATIONS kernels each, which take not quite as long everywhere, with
// counters, messages around a ring and allreduces that wait for the last.
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAIN, STEP, FORWARD, BACKWARD, OPTIMIZER, KERNEL, KERNELS = 32, ALLREDUCE = KERNEL + KERNELS, SEND, RECEIVE, REGIONS };
enum { MOST_LONGER = 2000 }; // ns that a kernel of one location takes longer than that of another

// What all locations draw alike, and what each draws by itself.
static uint64_t common, own;

static uint64_t chance(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static OTF2_FlushType flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)data, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static uint64_t events, now;
static uint64_t latest; // by when every location has come as far: what ends then has all that it needs
static OTF2_EvtWriter *writer;

static void enter(uint32_t region)
{
    OTF2_EvtWriter_Enter(writer, NULL, now, region);
    events++;
}

static void leave(uint32_t region)
{
    OTF2_EvtWriter_Leave(writer, NULL, now, region);
    events++;
}

static void exchange(int location, int locations, unsigned tag)
{
    enter(SEND);
    OTF2_EvtWriter_MpiSend(writer, NULL, now += 50, (location + 1) % locations, 0, tag, 4096);
    now += 500;
    leave(SEND);
    now += 100;
    enter(RECEIVE);
    latest += 3000;
    now = latest;
    OTF2_EvtWriter_MpiRecv(writer, NULL, now, (location + locations - 1) % locations, 0, tag, 4096);
    now = latest += 20;
    leave(RECEIVE);
    events += 2;
}

static void allreduce(void)
{
    enter(ALLREDUCE);
    OTF2_EvtWriter_MpiCollectiveBegin(writer, NULL, now += 30);
    now = latest += 5000;
    OTF2_EvtWriter_MpiCollectiveEnd(writer, NULL, now, OTF2_COLLECTIVE_OP_ALLREDUCE, 0,
                                    OTF2_UNDEFINED_UINT32, 25000000, 25000000);
    now = latest += 20;
    leave(ALLREDUCE);
    events += 2;
}

static void pass(int location, int locations, long step, int operations, uint32_t region)
{
    const OTF2_Type type = OTF2_TYPE_UINT64;
    enter(region);
    for (int i = 0; i < operations; i++) {
        const uint32_t kernel = KERNEL + chance(&common) % KERNELS;
        const uint64_t between = 300 + chance(&common) % 700, length = 2000 + chance(&common) % 20000;
        now += between;
        enter(kernel);
        now += length + chance(&own) % MOST_LONGER;
        leave(kernel);
        latest += between + length + MOST_LONGER;
        if (i % 4 == 0) {
            const OTF2_MetricValue value = {.unsigned_int = chance(&own) % 1000000007};
            OTF2_EvtWriter_Metric(writer, NULL, now, 0, 1, &type, &value);
            events++;
        }
        if (i % 16 == 15)
            exchange(location, locations, (unsigned)step & 0xff);
        if (region == BACKWARD && i % 8 == 7)
            allreduce();
    }
    leave(region);
}

static uint32_t text(OTF2_GlobalDefWriter *definitions, const char *words)
{
    static uint32_t texts;
    OTF2_GlobalDefWriter_WriteString(definitions, texts, words);
    return texts++;
}

static void define(OTF2_GlobalDefWriter *definitions, int locations, const uint64_t *counts)
{
    static const char *names[] = {"main", "train_step", "forward", "backward", "optimizer"};
    char name[64];
    const uint32_t empty = text(definitions, ""), node = text(definitions, "node"), host = text(definitions, "host");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions, 0, host, node, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t region = 0; region < REGIONS; region++) {
        const int is_mpi = region >= ALLREDUCE;
        snprintf(name, sizeof name, "kernel_%u", region - KERNEL);
        const char *shown = region < KERNEL       ? names[region]
                            : region == ALLREDUCE ? "MPI_Allreduce"
                            : region == SEND      ? "MPI_Send"
                            : region == RECEIVE   ? "MPI_Recv"
                                                  : name;
        const uint32_t id = text(definitions, shown);
        OTF2_GlobalDefWriter_WriteRegion(definitions, region, id, id, empty, OTF2_REGION_ROLE_FUNCTION,
                                         is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, empty,
                                         0, 0);
    }
    uint64_t *members = calloc((size_t)locations, sizeof *members);
    for (int i = 0; i < locations; i++) {
        members[i] = (uint64_t)i;
        snprintf(name, sizeof name, "MPI Rank %d", i);
        OTF2_GlobalDefWriter_WriteLocationGroup(definitions, (uint32_t)i, text(definitions, name),
                                                OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(definitions, (uint64_t)i, empty, OTF2_LOCATION_TYPE_CPU_THREAD, counts[i],
                                           (uint32_t)i);
    }
    OTF2_GlobalDefWriter_WriteGroup(definitions, 0, empty, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, (uint32_t)locations, members);
    OTF2_GlobalDefWriter_WriteGroup(definitions, 1, empty, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, (uint32_t)locations, members);
    OTF2_GlobalDefWriter_WriteComm(definitions, 0, text(definitions, "MPI_COMM_WORLD"), 1, OTF2_UNDEFINED_COMM,
                                   OTF2_COMM_FLAG_NONE);
    const uint32_t cycles = text(definitions, "PAPI_TOT_CYC"), member = 0;
    OTF2_GlobalDefWriter_WriteMetricMember(definitions, 0, cycles, empty, OTF2_METRIC_TYPE_PAPI,
                                           OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0,
                                           empty);
    OTF2_GlobalDefWriter_WriteMetricClass(definitions, 0, 1, &member, OTF2_METRIC_SYNCHRONOUS,
                                          OTF2_RECORDER_KIND_CPU);
    free(members);
}

int main(int count, char **words)
{
    if (count != 5)
        return 2;
    const int locations = atoi(words[2]), operations = atoi(words[4]);
    const long steps = atol(words[3]);
    const OTF2_FlushCallbacks callbacks = {.otf2_pre_flush = flush};
    OTF2_Archive *archive = OTF2_Archive_Open(words[1], "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    OTF2_Archive_SetFlushCallbacks(archive, &callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    uint64_t *counts = calloc((size_t)locations, sizeof *counts), total = 0, last = 0;
    for (int location = 0; location < locations; location++) {
        common = 88172645463325252u;
        own = common + (uint64_t)(location + 1) * 7919;
        now = latest = 1000;
        events = 0;
        writer = OTF2_Archive_GetEvtWriter(archive, (uint64_t)location);
        enter(MAIN);
        for (long step = 0; step < steps; step++) {
            enter(STEP);
            pass(location, locations, step, operations, FORWARD);
            pass(location, locations, step, operations, BACKWARD);
            enter(OPTIMIZER);
            now += 20000;
            latest += 20000;
            leave(OPTIMIZER);
            leave(STEP);
        }
        leave(MAIN);
        counts[location] = events;
        total += events;
        last = now > last ? now : last;
        OTF2_Archive_CloseEvtWriter(archive, writer);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_GlobalDefWriter *definitions = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(definitions, 1000000000, 0, last + 1, OTF2_UNDEFINED_TIMESTAMP);
    define(definitions, locations, counts);
    OTF2_Archive_Close(archive);
    free(counts);
    printf("%llu\n", (unsigned long long)total);
    return 0;
}
