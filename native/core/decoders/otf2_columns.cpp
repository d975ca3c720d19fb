#include "otf2_columns.h"

namespace perfscope::otf2 {

namespace {

enum Type : uint8_t {
    U8 = 1,
    U16 = 2,
    U32 = 3,
    S8 = 5,
    S16 = 6,
    S32 = 7,
    FLOAT = 9,
    DOUBLE = 10,
    FIRST_REFERENCE = 11,
    LAST_REFERENCE = 25,
};

// Which table maps a value that refers to a definition, in the order of the types from FIRST_REFERENCE on.
constexpr MapKind REFERENCES[] = {
    MapKind::STRING,    MapKind::ATTRIBUTE, MapKind::LOCATION,        MapKind::REGION,
    MapKind::GROUP,     MapKind::METRIC,    MapKind::COMM,            MapKind::PARAMETER,
    MapKind::RMA_WIN,   MapKind::SOURCE_CODE_LOCATION, MapKind::CALLING_CONTEXT, MapKind::INTERRUPT_GENERATOR,
    MapKind::IO_FILE,   MapKind::IO_HANDLE, MapKind::LOCATION_GROUP,
};

class Columns {
public:
    Columns(const Locals &locals, bool apply_mappings) : locals_(locals), apply_mappings_(apply_mappings) {}

    bool next_chunk() const { return true; }
    bool wants(uint8_t) const { return true; }
    void enter(uint64_t time, uint64_t region)
    {
        begin(ENTER, time);
        found.values.push_back(mapped(MapKind::REGION, region));
        end();
    }
    void leave(uint64_t time, uint64_t region)
    {
        begin(LEAVE, time);
        found.values.push_back(mapped(MapKind::REGION, region));
        end();
    }
    void call(uint64_t entered, uint64_t left, uint64_t region)
    {
        enter(entered, region);
        leave(left, region);
    }
    void flush(uint64_t time, uint64_t stop)
    {
        begin(BUFFER_FLUSH, time);
        found.values.push_back(stop);
        end();
    }
    void record(uint8_t type, uint64_t time, Bytes &payload)
    {
        begin(type, time);
        for (const char *field = event_fields(type); *field; field++)
            read_field(*field, payload);
        end();
    }
    void attributes(Bytes payload)
    {
        const uint32_t count = payload.u32();
        payload.expect(count, 2);
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t id = mapped(MapKind::ATTRIBUTE, payload.u32());
            const uint8_t type = payload.u8();
            const uint64_t value = attribute_value(type, payload);
            found.attributes.insert(found.attributes.end(), {id, type, value});
        }
    }

    uint64_t attributes_done() const { return attributes_done_; }

    EventColumns found;

private:
    void begin(uint8_t type, uint64_t time)
    {
        found.types.push_back(type);
        found.times.push_back(time);
        found.starts.push_back(found.values.size());
        found.attribute_starts.push_back(attributes_done_);
    }
    void end() { attributes_done_ = found.attributes.size(); }

    uint64_t mapped(MapKind kind, uint64_t id) const { return apply_mappings_ ? locals_.global(kind, id) : id; }

    void read_field(char field, Bytes &payload)
    {
        auto &values = found.values;
        switch (field) {
        case 'b':
            values.push_back(payload.u8());
            break;
        case 'w':
            values.push_back(payload.u32());
            break;
        case 'q':
            values.push_back(payload.u64());
            break;
        case 'v':
            read_metrics(payload);
            break;
        case 's':
            read_strings(payload);
            break;
        default:
            values.push_back(mapped(map_kind(field), payload.u32()));
        }
    }
    void read_metrics(Bytes &payload)
    {
        const uint8_t count = payload.u8();
        found.values.push_back(count);
        for (uint8_t i = 0; i < count; i++) {
            found.values.push_back(payload.u8());
            found.values.push_back(payload.u64());
        }
    }
    void read_strings(Bytes &payload)
    {
        const uint32_t count = payload.u32();
        payload.expect(count, 1);
        found.values.push_back(count);
        for (uint32_t i = 0; i < count; i++)
            found.values.push_back(mapped(MapKind::STRING, payload.u32()));
    }
    uint64_t attribute_value(uint8_t type, Bytes &payload) const
    {
        switch (type) {
        case U8:
            return payload.u8();
        case S8:
            return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(payload.u8())));
        case U16:
            return payload.u16_full();
        case S16:
            return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(payload.u16_full())));
        case U32:
            return payload.u32();
        case S32:
            return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(payload.u32())));
        case FLOAT:
            return payload.u32_full();
        case DOUBLE:
            return payload.u64_full();
        default:
            break;
        }
        if (type < FIRST_REFERENCE || type > LAST_REFERENCE)
            return payload.u64();
        const MapKind kind = REFERENCES[type - FIRST_REFERENCE];
        return mapped(kind, kind == MapKind::LOCATION ? payload.u64() : payload.u32());
    }

    const Locals &locals_;
    bool apply_mappings_;
    uint64_t attributes_done_ = 0;
};

} // namespace

EventColumns decode_events(const Archive &archive, size_t index, bool apply_mappings, bool apply_clock)
{
    const Location &location = archive.definitions.locations.at(index);
    const Locals locals = read_locals(archive.anchor, location.id);
    const ClockCorrection clock(apply_clock ? &locals.clock : nullptr);
    Columns sink(locals, apply_mappings);
    sink.found.counts = walk_location(archive, location, clock, sink);
    sink.found.starts.push_back(sink.found.values.size());
    sink.found.attribute_starts.push_back(sink.attributes_done());
    return std::move(sink.found);
}

} // namespace perfscope::otf2
