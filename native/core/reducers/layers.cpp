#include "reducers/layers.h"

#include "search.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace perfscope {

void LayerBuilder::reserve(size_t count)
{
    layer_.starts.reserve(count);
    layer_.values.reserve(count);
}

Layer LayerBuilder::take()
{
    if (!is_empty_)
        write();
    is_empty_ = true;
    return std::move(layer_);
}

Layer disjoint_layer(Intervals sorted)
{
    LayerBuilder layer;
    int64_t reach = std::numeric_limits<int64_t>::min();
    for (size_t i = 0; i < sorted.count; i++) {
        const int64_t begin = std::max(sorted.starts[i], reach), end = sorted.ends[i];
        reach = std::max(reach, end);
        if (end <= begin)
            continue;
        layer.put(begin, sorted.values[i]);
        layer.put(end, NOTHING);
    }
    return layer.take();
}

namespace {

// Places of the intervals that are not empty, each behind all that it could be inside of.
std::vector<size_t> outer_first(Intervals all)
{
    std::vector<size_t> order;
    order.reserve(all.count);
    for (size_t i = 0; i < all.count; i++)
        if (all.ends[i] > all.starts[i])
            order.push_back(i);
    const auto stands_before = [&](size_t a, size_t b) {
        if (all.starts[a] != all.starts[b])
            return all.starts[a] < all.starts[b];
        return all.ends[a] != all.ends[b] ? all.ends[a] > all.ends[b] : a < b;
    };
    if (!std::is_sorted(order.begin(), order.end(), stands_before))
        std::sort(order.begin(), order.end(), stands_before);
    return order;
}

} // namespace

Layer innermost_layer(Intervals intervals)
{
    const std::vector<size_t> order = outer_first(intervals);
    const auto end_of = [&](size_t place) { return intervals.ends[order[place]]; };
    std::vector<size_t> open; // a heap: the innermost, which is last in the order, on top
    LayerBuilder layer;
    for (size_t next = 0; next < order.size() || !open.empty();) {
        int64_t moment = std::numeric_limits<int64_t>::max();
        if (next < order.size())
            moment = intervals.starts[order[next]];
        if (!open.empty())
            moment = std::min(moment, end_of(open.front()));
        for (; next < order.size() && intervals.starts[order[next]] <= moment; next++) {
            open.push_back(next);
            std::push_heap(open.begin(), open.end());
        }
        while (!open.empty() && end_of(open.front()) <= moment) {
            std::pop_heap(open.begin(), open.end());
            open.pop_back();
        }
        layer.put(moment, open.empty() ? NOTHING : intervals.values[order[open.front()]]);
    }
    return layer.take();
}

std::pair<std::vector<int64_t>, std::vector<int64_t>> union_of(Intervals intervals)
{
    std::vector<size_t> order;
    for (size_t i = 0; i < intervals.count; i++)
        if (intervals.ends[i] > intervals.starts[i])
            order.push_back(i);
    const auto stands_before = [&](size_t a, size_t b) { return intervals.starts[a] < intervals.starts[b]; };
    if (!std::is_sorted(order.begin(), order.end(), stands_before))
        std::sort(order.begin(), order.end(), stands_before);
    std::pair<std::vector<int64_t>, std::vector<int64_t>> found;
    auto &[starts, ends] = found;
    for (const size_t i : order)
        if (starts.empty() || intervals.starts[i] > ends.back()) {
            starts.push_back(intervals.starts[i]);
            ends.push_back(intervals.ends[i]);
        } else {
            ends.back() = std::max(ends.back(), intervals.ends[i]);
        }
    return found;
}

void make_distinct(std::vector<int64_t> &moments)
{
    // parts that are in order already are merged, not sorted again
    std::vector<size_t> begins{0};
    for (size_t i = 1; i < moments.size(); i++)
        if (moments[i] < moments[i - 1])
            begins.push_back(i);
    if (begins.size() > 64)
        std::sort(moments.begin(), moments.end());
    else
        for (; begins.size() > 1;) {
            std::vector<size_t> joined;
            for (size_t i = 0; i < begins.size(); i += 2) {
                joined.push_back(begins[i]);
                if (i + 1 == begins.size())
                    break;
                const size_t behind = i + 2 < begins.size() ? begins[i + 2] : moments.size();
                const auto place = [&](size_t at) { return moments.begin() + static_cast<std::ptrdiff_t>(at); };
                std::inplace_merge(place(begins[i]), place(begins[i + 1]), place(behind));
            }
            begins = std::move(joined);
        }
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
}

std::vector<int64_t> layer_at(LayerView layer, const int64_t *moments, size_t count)
{
    std::vector<int64_t> values(count);
    places_of(layer.starts, layer.count, moments, count, true, values.data());
    for (int64_t &value : values)
        value = value ? layer.values[value - 1] : NOTHING;
    return values;
}

} // namespace perfscope
