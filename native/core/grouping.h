// Small numbers, whose places are put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

struct Grouped {
    std::vector<int64_t> places; // those of each number, ascending, one number after the other
    std::vector<int64_t> starts; // of each number in them, and behind the last one
};

// The numbers are below `count`.
inline Grouped grouped(const int64_t *numbers, size_t size, size_t count)
{
    Grouped found{std::vector<int64_t>(size), std::vector<int64_t>(count + 1)};
    for (size_t place = 0; place < size; place++)
        found.starts[static_cast<size_t>(numbers[place]) + 1]++;
    for (size_t number = 0; number < count; number++)
        found.starts[number + 1] += found.starts[number];
    std::vector<int64_t> next(found.starts.begin(), found.starts.end() - 1);
    for (size_t place = 0; place < size; place++)
        found.places[static_cast<size_t>(next[static_cast<size_t>(numbers[place])]++)] = static_cast<int64_t>(place);
    return found;
}

struct Ranked {
    std::vector<int64_t> places; // of each number among the different ones, from the least on
    size_t different;
};

// The numbers lie in [least, most].
inline Ranked ranked(const int64_t *numbers, size_t size, int64_t least, int64_t most)
{
    const auto number_of = [&](size_t place) { return static_cast<size_t>(numbers[place] - least); };
    std::vector<int64_t> place_of(static_cast<size_t>(most - least) + 1);
    for (size_t place = 0; place < size; place++)
        place_of[number_of(place)] = 1;
    size_t different = 0;
    for (int64_t &one : place_of)
        if (one)
            one = static_cast<int64_t>(different++);
    Ranked found{std::vector<int64_t>(size), different};
    for (size_t place = 0; place < size; place++)
        found.places[place] = place_of[number_of(place)];
    return found;
}

} // namespace perfscope
