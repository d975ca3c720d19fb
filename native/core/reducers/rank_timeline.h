// What each moment of a rank's main location was spent on: one account, the innermost phase, the stack that ran.
#pragma once

#include "reducers/layers.h"

#include <limits>

namespace perfscope {

// How phases become accounts; tables by kind of phase, NOTHING where the kind says nothing.
struct AccountRules {
    std::vector<int64_t> special; // the innermost such phase decides
    std::vector<int64_t> broad;   // decide in the order of `broad_order`, where no special one is
    std::vector<int64_t> broad_order;
    int64_t predict, communication; // kinds: the first is training inside a step, the second hides what is below it
    int64_t training, marked_communication, computation, start_up, shut_down, untraced; // accounts
};

// Marked phases and steps of the main location.
struct Marks {
    const int64_t *starts, *ends, *phases; // phases: indices in the catalog
    const uint16_t *kinds;
    size_t count;
    Intervals steps;
};

// Calls of the main location in order of their begin, each [enter, need) waiting and [need, leave) `after`.
struct CallSplit {
    const int64_t *enter, *need, *leave, *after;
    size_t count;
    int64_t wait; // account of waiting
};

// What stack samples say.
struct SampledLayers {
    LayerView accounts, phases, stacks, blocking; // blocking: marked phases in which samples name none
};

struct Life {
    int64_t start, end, focus_start, focus_end;
    int64_t detail_end = std::numeric_limits<int64_t>::max(); // behind it records were dropped
    int64_t unnamed = NOTHING;                                // account of time that nothing names
};

// Segment i is [boundaries[i], boundaries[i + 1]).
struct RankTimeline {
    std::vector<int64_t> boundaries;
    std::vector<uint8_t> accounts;
    std::vector<int32_t> phases, stacks;
};

RankTimeline rank_timeline(const AccountRules &rules, const Marks &marks, const CallSplit &calls,
                           const SampledLayers &sampled, const Life &life);

} // namespace perfscope
