// read_otf2 ANCHOR local|global: reads all events through libotf2 and adds up time in MPI, as the engine's plain
// reduction does: enter and leave on a stack, bytes of messages.
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_MPI = 37, DEEPEST = 256, REGIONS = 64 };

struct sums {
    uint64_t events, first, last, mpi, began, bytes;
    uint64_t count[REGIONS], inclusive[REGIONS];
    uint64_t starts[DEEPEST];
    int depth, in_mpi;
};
static struct sums *of;
static uint64_t *ids, locations;

static OTF2_CallbackCode location(void *data, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type,
                                  uint64_t events, OTF2_LocationGroupRef group)
{
    (void)data, (void)name, (void)type, (void)events, (void)group;
    ids[locations++] = self;
    return OTF2_CALLBACK_SUCCESS;
}

static void seen(struct sums *sums, uint64_t time)
{
    if (!sums->events++)
        sums->first = time;
    sums->last = time;
}

static OTF2_CallbackCode enter(uint64_t place, uint64_t time, uint32_t region)
{
    struct sums *sums = &of[place];
    seen(sums, time);
    if (sums->depth < DEEPEST)
        sums->starts[sums->depth++] = time;
    if (region >= FIRST_MPI && sums->in_mpi++ == 0)
        sums->began = time;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode leave(uint64_t place, uint64_t time, uint32_t region)
{
    struct sums *sums = &of[place];
    seen(sums, time);
    if (sums->depth && region < REGIONS) {
        sums->count[region]++;
        sums->inclusive[region] += time - sums->starts[--sums->depth];
    }
    if (region >= FIRST_MPI && --sums->in_mpi == 0)
        sums->mpi += time - sums->began;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode other(uint64_t place, uint64_t time, uint64_t bytes)
{
    seen(&of[place], time);
    of[place].bytes += bytes;
    return OTF2_CALLBACK_SUCCESS;
}

#define LOCAL OTF2_LocationRef at, OTF2_TimeStamp time, uint64_t position, void *data, OTF2_AttributeList *list
#define GLOBAL OTF2_LocationRef at, OTF2_TimeStamp time, void *data, OTF2_AttributeList *list
#define MESSAGE uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes
#define COLLECTIVE OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received
#define METRIC OTF2_MetricRef metric, uint8_t count, const OTF2_Type *types, const OTF2_MetricValue *values
#define HANDLERS(kind, HEAD)                                                                                         \
    static OTF2_CallbackCode kind##_enter(HEAD, OTF2_RegionRef region) { return enter(at, time, region); }            \
    static OTF2_CallbackCode kind##_leave(HEAD, OTF2_RegionRef region) { return leave(at, time, region); }            \
    static OTF2_CallbackCode kind##_send(HEAD, MESSAGE) { return other(at, time, bytes); }                            \
    static OTF2_CallbackCode kind##_recv(HEAD, MESSAGE) { return other(at, time, 0); }                                \
    static OTF2_CallbackCode kind##_begin(HEAD) { return other(at, time, 0); }                                        \
    static OTF2_CallbackCode kind##_end(HEAD, COLLECTIVE) { return other(at, time, sent); }                           \
    static OTF2_CallbackCode kind##_metric(HEAD, METRIC) { return other(at, time, 0); }
HANDLERS(local, LOCAL)
HANDLERS(global, GLOBAL)

#define REGISTER(Type, kind, callbacks)                                                                              \
    Type##_SetEnterCallback(callbacks, kind##_enter);                                                                 \
    Type##_SetLeaveCallback(callbacks, kind##_leave);                                                                 \
    Type##_SetMpiSendCallback(callbacks, kind##_send);                                                                \
    Type##_SetMpiRecvCallback(callbacks, kind##_recv);                                                                \
    Type##_SetMpiCollectiveBeginCallback(callbacks, kind##_begin);                                                    \
    Type##_SetMpiCollectiveEndCallback(callbacks, kind##_end);                                                        \
    Type##_SetMetricCallback(callbacks, kind##_metric)

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    ids = calloc(1 << 20, sizeof *ids);
    OTF2_Reader *reader = OTF2_Reader_Open(words[1]);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *defined = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(defined, location);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, defined, NULL);
    uint64_t read = 0;
    OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read);
    of = calloc(locations, sizeof *of);
    for (uint64_t i = 0; i < locations; i++)
        OTF2_Reader_SelectLocation(reader, ids[i]);
    OTF2_Reader_OpenEvtFiles(reader);
    for (uint64_t i = 0; i < locations; i++)
        OTF2_Reader_GetEvtReader(reader, ids[i]);
    if (strcmp(words[2], "global") == 0) {
        OTF2_GlobalEvtReader *events = OTF2_Reader_GetGlobalEvtReader(reader);
        OTF2_GlobalEvtReaderCallbacks *callbacks = OTF2_GlobalEvtReaderCallbacks_New();
        REGISTER(OTF2_GlobalEvtReaderCallbacks, global, callbacks);
        OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, callbacks, NULL);
        OTF2_Reader_ReadAllGlobalEvents(reader, events, &read);
    } else {
        OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
        REGISTER(OTF2_EvtReaderCallbacks, local, callbacks);
        for (uint64_t i = 0; i < locations; i++) {
            OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, ids[i]);
            OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, NULL);
            OTF2_Reader_ReadAllLocalEvents(reader, events, &read);
        }
    }
    uint64_t events = 0, mpi = 0;
    for (uint64_t i = 0; i < locations; i++) {
        events += of[i].events;
        mpi += of[i].mpi;
    }
    printf("%llu %llu\n", (unsigned long long)events, (unsigned long long)mpi);
    return 0;
}
