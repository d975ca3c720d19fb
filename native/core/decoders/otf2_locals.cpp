#include "otf2_locals.h"

#include "otf2_definition_file.h"

#include <cerrno>

namespace perfscope::otf2 {

enum MapMode : uint8_t { DENSE = 0, SPARSE = 1 };

void IdTable::read(Bytes &bytes)
{
    dense_.clear();
    sparse_.clear();
    const uint64_t count = bytes.u64();
    const uint8_t mode = bytes.u8();
    if (mode > SPARSE)
        bytes.fail("the kind of a mapping table is not known");
    bytes.expect(count, mode == DENSE ? 1 : 2);
    if (mode == DENSE)
        dense_.reserve(count);
    for (uint64_t i = 0; i < count; i++) {
        if (mode == DENSE) {
            dense_.push_back(bytes.u64());
        } else {
            const uint64_t local = bytes.u64();
            sparse_[local] = bytes.u64();
        }
    }
}

// One measurement of the distance to the global clock.
struct Measurement {
    uint64_t time;
    int64_t offset;
};

static void read_measurement(Bytes &bytes, Locals &into, Measurement &last)
{
    const Measurement now{bytes.u64_full(), bytes.i64()};
    bytes.u64_full(); // standard deviation
    if (into.clock_measurements++) {
        if (last.time >= now.time)
            bytes.fail("two measurements of the clock are not in order of time");
        const auto moved = static_cast<int64_t>(static_cast<uint64_t>(now.offset) - static_cast<uint64_t>(last.offset));
        const double slope = static_cast<double>(moved) / static_cast<double>(now.time - last.time);
        into.clock.push_back({last.time, now.time, last.offset, slope});
    }
    last = now;
}

static void read_record(uint8_t type, Bytes &payload, Locals &into, Measurement &last)
{
    if (type == LOCAL_MAPPING_TABLE) {
        const uint8_t kind = payload.u8();
        if (kind < static_cast<uint8_t>(MapKind::COUNT))
            into.tables[kind].read(payload);
    } else if (type == LOCAL_CLOCK_OFFSET) {
        read_measurement(payload, into, last);
    }
}

Locals read_locals(const Anchor &anchor, uint64_t location)
{
    Locals found;
    try {
        ChunkReader file(anchor.directory + "/" + std::to_string(location) + ".def", anchor.definition_chunk_bytes);
        Measurement last{};
        for_each_definition(file, [&](uint8_t type, Bytes &payload) { read_record(type, payload, found, last); });
    } catch (const ReadError &error) {
        if (error.code() != ENOENT)
            throw;
    }
    return found;
}

} // namespace perfscope::otf2
