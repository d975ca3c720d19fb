// Walks over the events of a location and hands each to a sink.
//
// A sink has
//   void enter(uint64_t time, uint64_t region)   time in corrected ticks, region as the location numbers it
//   void leave(uint64_t time, uint64_t region)
//   void flush(uint64_t time, uint64_t end)      the recorder wrote its buffer out until `end`
//   void record(uint8_t type, uint64_t time, Bytes payload)   every other event
//   void attributes(Bytes payload)               those of the event that follows
// and, before each chunk's events, bool next_chunk(): false ends the walk.
#pragma once

#include "otf2_chunks.h"
#include "otf2_layout.h"
#include "otf2_locals.h"

namespace perfscope::otf2 {

struct EventCounts {
    uint64_t events = 0;
    uint64_t unknown = 0;   // records of types that OTF2 3.2 does not have, skipped
    uint64_t backwards = 0; // timestamps before the one before them
    uint64_t first = UINT64_MAX, last = 0; // corrected ticks
};

template <class Sink> class EventWalk {
public:
    EventWalk(ChunkReader &file, const ClockCorrection &clock, Sink &sink) : file_(file), clock_(clock), sink_(sink) {}

    EventCounts run()
    {
        if (!file_.size())
            throw FormatError(file_.path(), 0, "the file is empty");
        for (Chunk chunk; file_.next(chunk);) {
            if (!sink_.next_chunk())
                break;
            const uint64_t before = counts_.events;
            if (chunk.swapped)
                walk<true>(chunk);
            else
                walk<false>(chunk);
            check_numbers(chunk, counts_.events - before);
        }
        return counts_;
    }

private:
    template <bool Swapped> static uint64_t load(const uint8_t *at)
    {
        uint64_t value;
        std::memcpy(&value, at, 8);
        return Swapped ? __builtin_bswap64(value) : value;
    }

    template <bool Swapped> void walk(const Chunk &chunk)
    {
        const uint8_t *at = chunk.begin, *const end = chunk.end;
        // the block is followed by zeros: what reads a little past `end` is found out by this comparison
        while (at < end) {
            const uint8_t *start = at;
            uint8_t type = *at++;
            if (type == TIMESTAMP) {
                set_time(load<Swapped>(at));
                at += 8;
                type = *at++;
            }
            if (type == ENTER || type == LEAVE) {
                uint64_t region;
                at = number<Swapped>(chunk, at, region);
                if (at > end)
                    fail(chunk, start, "a record ends too early");
                counts_.events++;
                if (type == ENTER)
                    sink_.enter(now_, region);
                else
                    sink_.leave(now_, region);
                continue;
            }
            if (at > end)
                fail(chunk, start, "a record ends too early");
            if (type == END_OF_CHUNK || type == END_OF_FILE) {
                file_.check_end(chunk, at - 1);
                return;
            }
            at = other(chunk, at, type);
        }
        fail(chunk, at, "the file has no end mark: it was cut off");
    }

    // The number that an event without a length holds, 32 bits wide.
    template <bool Swapped> const uint8_t *number(const Chunk &chunk, const uint8_t *at, uint64_t &value) const
    {
        const unsigned bytes = *at++;
        if (bytes > 4) {
            if (bytes != 0xff)
                fail(chunk, at - 1, "the size of a number is not valid");
            value = UNDEFINED_32;
            return at;
        }
        const uint64_t word = load<Swapped>(at);
        if (Swapped)
            value = bytes ? word >> (64 - 8 * bytes) : 0;
        else
            value = word & ((uint64_t{1} << (8 * bytes)) - 1);
        return at + bytes;
    }

    void set_time(uint64_t local)
    {
        const uint64_t time = clock_.is_needed() ? clock_.apply(local) : local;
        counts_.backwards += time < now_;
        counts_.first = time < counts_.first ? time : counts_.first;
        counts_.last = time > counts_.last ? time : counts_.last;
        now_ = time;
    }

    const uint8_t *other(const Chunk &chunk, const uint8_t *at, uint8_t type)
    {
        if (type < ATTRIBUTE_LIST)
            fail(chunk, at - 1, "a mark stands where an event should: the file is damaged");
        Bytes bytes(at, chunk.end, chunk.swapped, file_.path(), chunk.offset + static_cast<uint64_t>(at - chunk.begin));
        if (type < EVENT_TYPES && event_layout(type).is_single) {
            const uint64_t offset = bytes.offset();
            bytes.u64();
            counts_.events++;
            sink_.record(type, now_, Bytes(at, bytes.position(), chunk.swapped, file_.path(), offset));
            return bytes.position();
        }
        Bytes payload = bytes.record();
        if (type == ATTRIBUTE_LIST) {
            sink_.attributes(payload);
            return bytes.position();
        }
        counts_.events++;
        if (type == BUFFER_FLUSH)
            sink_.flush(now_, correct(payload.u64_full()));
        else if (event_layout(type).fields)
            sink_.record(type, now_, payload);
        else
            counts_.unknown++;
        return bytes.position();
    }

    void check_numbers(const Chunk &chunk, uint64_t events) const
    {
        if (chunk.last_record && chunk.last_record - chunk.first_record + 1 != events)
            throw FormatError(file_.path(), chunk.offset - CHUNK_HEADER_BYTES,
                              "a chunk holds " + std::to_string(events) + " events, its header says otherwise");
    }

    [[noreturn]] void fail(const Chunk &chunk, const uint8_t *at, const char *reason) const
    {
        throw FormatError(file_.path(), chunk.offset + static_cast<uint64_t>(at - chunk.begin), reason);
    }

    uint64_t correct(uint64_t time) { return clock_.is_needed() ? clock_.apply(time) : time; }

    ChunkReader &file_;
    ClockCorrection clock_;
    Sink &sink_;
    EventCounts counts_;
    uint64_t now_ = 0;
};

} // namespace perfscope::otf2
