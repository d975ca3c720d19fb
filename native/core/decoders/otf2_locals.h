// What one location of an OTF2 archive needs to be read with the others: its id tables and its clock.
#pragma once

#include "otf2_anchor.h"
#include "otf2_bytes.h"
#include "otf2_layout.h"

#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace perfscope::otf2 {

// Local ids of one kind as global ones.
class IdTable {
public:
    bool is_empty() const { return dense_.empty() && sparse_.empty(); }
    const std::vector<uint64_t> &dense() const { return dense_; }
    const std::unordered_map<uint64_t, uint64_t> &sparse() const { return sparse_; }
    // What is not in the table is global already.
    uint64_t global(uint64_t local) const
    {
        if (local < dense_.size())
            return dense_[local];
        if (!sparse_.empty()) {
            const auto found = sparse_.find(local);
            if (found != sparse_.end())
                return found->second;
        }
        return local;
    }
    void read(Bytes &bytes);

private:
    std::vector<uint64_t> dense_;
    std::unordered_map<uint64_t, uint64_t> sparse_;
};

// A stretch of time with a linear offset to the global clock.
struct ClockStretch {
    uint64_t begin, end; // local ticks
    int64_t offset;      // at `begin`
    double slope;
};

// Corrects the times of one location, in their order, exactly as libotf2 does: offsets are interpolated between two
// measurements, extrapolated outside, and a single measurement corrects nothing.
class ClockCorrection {
public:
    explicit ClockCorrection(const std::vector<ClockStretch> *stretches = nullptr)
        : now_(nullptr), last_(nullptr)
    {
        if (stretches && !stretches->empty()) {
            now_ = stretches->data();
            last_ = now_ + stretches->size() - 1;
        }
    }
    bool is_needed() const { return now_ != nullptr; }
    uint64_t apply(uint64_t time)
    {
        while (now_ != last_ && time > now_->end)
            now_++;
        const double distance = time >= now_->begin ? static_cast<double>(time - now_->begin)
                                                    : -static_cast<double>(now_->begin - time);
        const double moved = std::rint(now_->slope * distance);
        // a damaged slope may leave the range of the integer; what comes out is found to be out of range later
        const bool fits = moved >= -0x1p63 && moved < 0x1p63;
        const auto offset = static_cast<uint64_t>(now_->offset) + static_cast<uint64_t>(fits ? static_cast<int64_t>(moved) : 0);
        return time + offset;
    }

private:
    const ClockStretch *now_, *last_;
};

// The local definitions of a location.
struct Locals {
    IdTable tables[static_cast<size_t>(MapKind::COUNT)];
    std::vector<ClockStretch> clock;
    uint64_t clock_measurements = 0;

    uint64_t global(MapKind kind, uint64_t local) const { return tables[static_cast<size_t>(kind)].global(local); }
};

// Reads the definitions of a location; a location without that file has none.
Locals read_locals(const Anchor &anchor, uint64_t location);

} // namespace perfscope::otf2
