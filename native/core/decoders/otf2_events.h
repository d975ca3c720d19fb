// Walks over the events of a location and hands each to a sink.
//
// A sink has
//   void enter(uint64_t time, uint64_t region)   time in corrected ticks, region as the location numbers it
//   void leave(uint64_t time, uint64_t region)
//   void call(uint64_t enter, uint64_t leave, uint64_t region)   both at once, where nothing lies between them
//   bool wants(uint8_t type)                     whether it has a use for events of this type, asked for each event
//   void flush(uint64_t time, uint64_t end)      the recorder wrote its buffer out until `end`
//   void record(uint8_t type, uint64_t time, Bytes &payload)   every other event
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
    int64_t first = INT64_MAX, last = INT64_MIN; // corrected ticks; a correction may make them negative
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
                walk<true, true>(chunk);
            else if (clock_.is_needed())
                walk<false, true>(chunk);
            else
                walk<false, false>(chunk);
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

    template <bool Swapped, bool Corrected> void walk(const Chunk &chunk)
    {
        const uint8_t *at = chunk.begin, *const end = chunk.end;
        // kept out of the members: the sink's writes could change those as far as the compiler knows
        uint64_t now = now_, events = 0;
        bool now_is_known = now_is_known_;
        const bool is_corrected = Corrected && clock_.is_needed();
        if (*at == TIMESTAMP)
            see(correct(load<Swapped>(at + 1)));
        // the block is followed by zeros: what reads a little past `end` is found out by this comparison
        while (at < end) {
            const uint8_t *start = at;
            uint8_t type = *at++;
            if (type == TIMESTAMP) {
                uint64_t time = load<Swapped>(at);
                if (is_corrected)
                    time = clock_.apply(time);
                if (static_cast<int64_t>(time) < static_cast<int64_t>(now) && now_is_known)
                    turn_back(now, time);
                now = time;
                now_is_known = true;
                at += 8;
                type = *at++;
            }
            if (type == ENTER || type == LEAVE) {
                uint64_t region;
                const uint8_t *const written = at;
                at = number<Swapped>(chunk, at, region);
                if (at > end)
                    fail(chunk, start, "a record ends too early");
                events++;
                if (type == LEAVE) {
                    sink_.leave(now, region);
                    continue;
                }
                // most calls make no others: their leave follows at once, and needs no place among the open ones
                if (at[0] == TIMESTAMP && at[9] == LEAVE) {
                    const auto size = static_cast<unsigned>(at - written); // of the region: at most five bytes
                    const uint64_t unlike = (load<false>(written) ^ load<false>(at + 10)) << (64 - 8 * size);
                    uint64_t time = load<Swapped>(at + 1);
                    if (is_corrected)
                        time = clock_.apply(time);
                    const uint8_t *const behind = at + 10 + size;
                    if (!unlike && behind <= end && static_cast<int64_t>(time) >= static_cast<int64_t>(now)) {
                        sink_.call(now, time, region);
                        events++;
                        now = time;
                        now_is_known = true;
                        at = behind;
                        continue;
                    }
                }
                sink_.enter(now, region);
                continue;
            }
            if (at > end)
                fail(chunk, start, "a record ends too early");
            if (type == END_OF_CHUNK || type == END_OF_FILE) {
                file_.check_end(chunk, at - 1);
                now_ = now;
                now_is_known_ = now_is_known;
                counts_.events += events;
                if (counts_.events)
                    see(now);
                return;
            }
            events += type != ATTRIBUTE_LIST;
            // most of the other records are short and of no interest to a sink that only adds up
            if (type >= BUFFER_FLUSH && type < EVENT_TYPES && !sink_.wants(type) && !is_single(type) && *at < 0xff &&
                *at < end - at) {
                at += *at + 1;
                continue;
            }
            at = other(chunk, at, type, now);
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

    void see(uint64_t ticks)
    {
        const auto time = static_cast<int64_t>(ticks);
        counts_.first = time < counts_.first ? time : counts_.first;
        counts_.last = time > counts_.last ? time : counts_.last;
    }

    [[gnu::noinline]] void turn_back(uint64_t from, uint64_t to)
    {
        counts_.backwards++;
        see(from);
        see(to);
    }

    [[gnu::noinline]] const uint8_t *other(const Chunk &chunk, const uint8_t *at, uint8_t type, uint64_t now)
    {
        if (type < ATTRIBUTE_LIST)
            fail(chunk, at - 1, "a mark stands where an event should: the file is damaged");
        Bytes bytes(at, chunk.end, chunk.swapped, file_.path(), chunk.offset + static_cast<uint64_t>(at - chunk.begin));
        if (is_single(type)) {
            const uint64_t offset = bytes.offset();
            bytes.u64();
            Bytes payload(at, bytes.position(), chunk.swapped, file_.path(), offset);
            sink_.record(type, now, payload);
            return bytes.position();
        }
        Bytes payload = bytes.record();
        if (type == ATTRIBUTE_LIST) {
            sink_.attributes(payload);
            return bytes.position();
        }
        if (type == BUFFER_FLUSH)
            sink_.flush(now, correct(payload.u64_full()));
        else if (event_fields(type))
            sink_.record(type, now, payload);
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
    bool now_is_known_ = false;
};

} // namespace perfscope::otf2
