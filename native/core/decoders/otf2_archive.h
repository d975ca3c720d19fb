// An opened OTF2 archive.
#pragma once

#include "otf2_definitions.h"
#include "otf2_events.h"
#include "otf2_locals.h"

#include <cerrno>

namespace perfscope::otf2 {

struct Archive {
    Anchor anchor;
    Definitions definitions;

    std::string events_path(const Location &location) const;
};

// Opens the archive whose anchor file is at `path`.
Archive open_archive(const std::string &path);

// Walks over the events of a location; one without a file has none, unless its definition speaks of some.
template <class Sink>
EventCounts walk_location(const Archive &archive, const Location &location, const ClockCorrection &clock, Sink &sink)
{
    const std::string path = archive.events_path(location);
    try {
        ChunkReader file(path, archive.anchor.event_chunk_bytes);
        return EventWalk<Sink>(file, clock, sink).run();
    } catch (const ReadError &error) {
        if (error.code() != ENOENT || location.events)
            throw;
        return {};
    }
}

} // namespace perfscope::otf2
