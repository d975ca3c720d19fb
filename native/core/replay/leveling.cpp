#include "replay/leveling.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace perfscope {

namespace {

// A value and where it stood; keys are in the order of the values.
struct Keyed {
    uint64_t key;
    uint32_t place;
};

constexpr uint64_t SIGN = uint64_t{1} << 63;

uint64_t key_of(double value)
{
    uint64_t bits;
    value += 0.0; // zeros of either sign are the same
    std::memcpy(&bits, &value, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

double value_of(uint64_t key)
{
    const uint64_t bits = key & SIGN ? key & ~SIGN : ~key;
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Sorts values, equal ones in the order in which they stood. Times are whole numbers and much alike, so that most of
// their digits are the same everywhere, and nothing is to be done for these.
class Sorter {
public:
    std::vector<Keyed> values;

    void sort()
    {
        if (values.size() < FEW) {
            std::stable_sort(values.begin(), values.end(),
                             [](const Keyed &one, const Keyed &other) { return one.key < other.key; });
            return;
        }
        count_digits();
        other_.resize(values.size());
        for (size_t digit = 0; digit < DIGITS; digit++)
            if (counts_[digit][digit_of(values[0].key, digit)] != values.size())
                deal(digit);
    }

private:
    static constexpr size_t FEW = 256, DIGITS = 8, BITS = 8;

    static size_t digit_of(uint64_t key, size_t digit) { return (key >> (digit * BITS)) & 255; }

    void count_digits()
    {
        for (auto &of_digit : counts_)
            of_digit.fill(0);
        for (const Keyed &one : values)
            for (size_t digit = 0; digit < DIGITS; digit++)
                counts_[digit][digit_of(one.key, digit)]++;
    }

    void deal(size_t digit)
    {
        size_t begin = 0;
        for (size_t &count : counts_[digit]) {
            const size_t size = count;
            count = begin;
            begin += size;
        }
        for (const Keyed &one : values)
            other_[counts_[digit][digit_of(one.key, digit)]++] = one;
        values.swap(other_);
    }

    std::array<std::array<size_t, 256>, DIGITS> counts_;
    std::vector<Keyed> other_;
};

// The one in the middle, or the mean of two there; of these the lower one where that is wanted.
double middle(std::vector<double> &values, bool is_lower)
{
    const size_t above = values.size() / 2;
    const bool is_even = values.size() % 2 == 0;
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(is_even && is_lower ? above - 1 : above);
    std::nth_element(values.begin(), place, values.end());
    if (!is_even || is_lower)
        return *place;
    return (*std::max_element(values.begin(), place) + *place) / 2.0;
}

std::vector<size_t> places_of(const uint8_t *chosen, size_t ranks)
{
    std::vector<size_t> found;
    for (size_t rank = 0; rank < ranks; rank++)
        if (chosen[rank])
            found.push_back(rank);
    return found;
}

// As numpy sums values that lie one after the other: eight sums beside each other, and halves of more than 128.
double sum_of(const double *values, size_t count)
{
    if (count < 8) {
        double sum = 0.0;
        for (size_t i = 0; i < count; i++)
            sum += values[i];
        return sum;
    }
    if (count > 128) {
        const size_t half = count / 2 - count / 2 % 8;
        return sum_of(values, half) + sum_of(values + half, count - half);
    }
    double sums[8];
    std::copy(values, values + 8, sums);
    size_t i = 8;
    for (; i < count - count % 8; i += 8)
        for (size_t lane = 0; lane < 8; lane++)
            sums[lane] += values[i + lane];
    double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; i < count; i++)
        sum += values[i];
    return sum;
}

// The segments of a group, and the work of one rank after the other in them.
class Group {
public:
    Group(const WorkTable &work, const SegmentGroups &groups) : work_(work), groups_(groups) {}

    void begin(size_t group)
    {
        segments_ = groups_.segments.data() + groups_.starts[group];
        size_ = static_cast<size_t>(groups_.starts[group + 1] - groups_.starts[group]);
    }

    size_t size() const { return size_; }
    size_t cell(size_t place, size_t rank) const
    {
        return static_cast<size_t>(segments_[place]) * work_.ranks + rank;
    }
    double ns(size_t place, size_t rank) const { return work_.ns[cell(place, rank)]; }

    // The rank's values in order; where they stood goes to `places`.
    const std::vector<Keyed> &sorted(size_t rank, std::vector<uint32_t> *places)
    {
        sorter_.values.resize(size_);
        for (size_t place = 0; place < size_; place++)
            sorter_.values[place] = {key_of(ns(place, rank)), static_cast<uint32_t>(place)};
        sorter_.sort();
        if (places) {
            places->resize(size_);
            for (size_t i = 0; i < size_; i++)
                (*places)[i] = sorter_.values[i].place;
        }
        return sorter_.values;
    }

private:
    const WorkTable &work_;
    const SegmentGroups &groups_;
    const int64_t *segments_ = nullptr;
    size_t size_ = 0;
    Sorter sorter_;
};

// Of a single segment the ranks' values lie together, and numpy sums them as it sums such values.
double sum_of_ranks(const Group &group, const std::vector<size_t> &ranks)
{
    std::vector<double> values;
    for (const size_t rank : ranks)
        values.push_back(group.ns(0, rank));
    return sum_of(values.data(), values.size());
}

void split(SegmentGroups &found, const std::vector<Keyed> &order, const int64_t *segments, const Likeness &likeness)
{
    const size_t count = order.size();
    const double least = std::max(likeness.least, likeness.least_share * static_cast<double>(count));
    const double nothing = likeness.nothing * std::max(0.0, value_of(order.back().key));
    const auto usual = [&](size_t place) { return std::max(value_of(order[place].key), nothing); };
    size_t begin = 0;
    for (size_t place = 0; place < count; place++) {
        const bool is_apart = place && usual(place) > likeness.factor * usual(place - 1);
        if (is_apart && static_cast<double>(place - begin) >= least && static_cast<double>(count - place) >= least) {
            begin = place;
            found.starts.push_back(static_cast<int64_t>(found.segments.size()));
        }
        found.segments.push_back(segments[order[place].place]);
    }
    found.starts.push_back(static_cast<int64_t>(found.segments.size()));
}

} // namespace

SegmentGroups groups_of_like(const WorkTable &work, const SegmentGroups &kinds, const Likeness &likeness)
{
    const std::vector<size_t> ranks = places_of(likeness.ranks, work.ranks);
    SegmentGroups found;
    found.segments.reserve(kinds.segments.size());
    Sorter sorter;
    std::vector<double> values(ranks.size());
    for (size_t kind = 1; kind < kinds.starts.size(); kind++) {
        const int64_t *segments = kinds.segments.data() + kinds.starts[kind - 1];
        const auto count = static_cast<size_t>(kinds.starts[kind] - kinds.starts[kind - 1]);
        bool is_any = false;
        sorter.values.resize(count);
        for (size_t place = 0; place < count; place++) {
            const double *ns = work.of(static_cast<size_t>(segments[place]));
            is_any = is_any || std::any_of(ns, ns + work.ranks, [](double one) { return one != 0.0; });
            for (size_t i = 0; i < ranks.size(); i++)
                values[i] = ns[ranks[i]];
            sorter.values[place] = {key_of(middle(values, likeness.is_lower)), static_cast<uint32_t>(place)};
        }
        if (!is_any)
            continue;
        sorter.sort();
        split(found, sorter.values, segments, likeness);
    }
    return found;
}

std::vector<double> evened(const WorkTable &work, const SegmentGroups &groups, const uint8_t *chosen)
{
    const std::vector<size_t> ranks = places_of(chosen, work.ranks);
    std::vector<double> result(work.ns, work.ns + work.segments * work.ranks), mean;
    std::vector<std::vector<uint32_t>> places(ranks.size());
    Group group(work, groups);
    for (size_t number = 0; number + 1 < groups.starts.size(); number++) {
        group.begin(number);
        mean.assign(group.size(), 0.0);
        for (size_t i = 0; i < ranks.size(); i++) {
            const std::vector<Keyed> &sorted = group.sorted(ranks[i], &places[i]);
            for (size_t place = 0; place < sorted.size(); place++)
                mean[place] += value_of(sorted[place].key);
        }
        if (group.size() == 1)
            mean[0] = sum_of_ranks(group, ranks);
        for (double &one : mean)
            one /= static_cast<double>(ranks.size());
        for (size_t i = 0; i < ranks.size(); i++)
            for (size_t place = 0; place < group.size(); place++)
                result[group.cell(places[i][place], ranks[i])] = mean[place];
    }
    return result;
}

std::vector<double> made_as_others(const WorkTable &work, const SegmentGroups &groups, const uint8_t *chosen)
{
    std::vector<double> result(work.ns, work.ns + work.segments * work.ranks);
    const std::vector<size_t> ranks = places_of(chosen, work.ranks);
    if (ranks.size() == work.ranks)
        return result;
    std::vector<size_t> others;
    for (size_t rank = 0; rank < work.ranks; rank++)
        if (!chosen[rank])
            others.push_back(rank);
    std::vector<double> sorted, usual, values(others.size());
    std::vector<uint32_t> places;
    Group group(work, groups);
    for (size_t number = 0; number + 1 < groups.starts.size(); number++) {
        group.begin(number);
        sorted.resize(others.size() * group.size());
        for (size_t i = 0; i < others.size(); i++) {
            const std::vector<Keyed> &own = group.sorted(others[i], nullptr);
            for (size_t place = 0; place < own.size(); place++)
                sorted[place * others.size() + i] = value_of(own[place].key);
        }
        usual.resize(group.size());
        for (size_t place = 0; place < group.size(); place++) {
            std::copy_n(sorted.begin() + static_cast<std::ptrdiff_t>(place * others.size()), others.size(),
                        values.begin());
            usual[place] = middle(values, false);
        }
        const double all_usual = sum_of(usual.data(), usual.size());
        for (const size_t rank : ranks) {
            double own = 0.0;
            for (size_t place = 0; place < group.size(); place++)
                own += group.ns(place, rank);
            if (!(own > all_usual))
                continue;
            group.sorted(rank, &places);
            for (size_t place = 0; place < group.size(); place++)
                result[group.cell(places[place], rank)] = usual[place];
        }
    }
    return result;
}

// numpy's linear quantile lies between the value at this place and the next one.
static size_t place_of(double quantile, size_t count)
{
    return static_cast<size_t>(static_cast<double>(count - 1) * quantile);
}

static LowValues low_of(std::vector<double> &values, double lower, double upper)
{
    LowValues found;
    found.count = static_cast<int64_t>(values.size());
    if (values.empty())
        return found;
    const auto at = [&](size_t place) { return values.begin() + static_cast<std::ptrdiff_t>(place); };
    const auto high = at(place_of(upper, values.size())), low = at(place_of(lower, values.size()));
    std::nth_element(values.begin(), high, values.end());
    found.around[2] = *high;
    found.around[3] = high + 1 == values.end() ? *high : *std::min_element(high + 1, values.end());
    if (low == high) {
        std::copy_n(found.around + 2, 2, found.around);
        return found;
    }
    std::nth_element(values.begin(), low, high);
    found.around[0] = *low;
    found.around[1] = *std::min_element(low + 1, high + 1);
    return found;
}

std::vector<LowValues> low_values(const WorkTable &work, const SegmentGroups &groups, double lower, double upper)
{
    std::vector<LowValues> found;
    std::vector<double> own, all;
    Group group(work, groups);
    for (size_t number = 0; number + 1 < groups.starts.size(); number++) {
        group.begin(number);
        all.clear();
        for (size_t rank = 0; rank < work.ranks; rank++) {
            own.clear();
            for (size_t place = 0; place < group.size(); place++)
                if (const double ns = group.ns(place, rank); ns > 0.0)
                    own.push_back(ns);
            all.insert(all.end(), own.begin(), own.end());
            found.push_back(low_of(own, lower, upper));
        }
        found.push_back(low_of(all, lower, upper));
    }
    return found;
}

std::vector<double> within_bounds(const WorkTable &work, const SegmentGroups &groups, const uint8_t *chosen,
                                  const double *bounds)
{
    std::vector<double> result(work.ns, work.ns + work.segments * work.ranks), ordinary;
    for (size_t number = 0; number + 1 < groups.starts.size(); number++, bounds += work.ranks)
        for (int64_t place = groups.starts[number]; place < groups.starts[number + 1]; place++) {
            const auto segment = static_cast<size_t>(groups.segments[static_cast<size_t>(place)]);
            const double *const ns = work.of(segment);
            const auto is_late = [&](size_t rank) { return ns[rank] > bounds[rank]; };
            ordinary.clear();
            bool is_any = false;
            for (size_t rank = 0; rank < work.ranks; rank++)
                if (!is_late(rank))
                    ordinary.push_back(ns[rank]);
                else
                    is_any = is_any || chosen[rank];
            if (!is_any)
                continue;
            const double usual = ordinary.empty() ? *std::min_element(ns, ns + work.ranks) : middle(ordinary, false);
            for (size_t rank = 0; rank < work.ranks; rank++)
                if (chosen[rank] && is_late(rank))
                    result[segment * work.ranks + rank] = std::min(ns[rank], usual);
        }
    return result;
}

} // namespace perfscope
