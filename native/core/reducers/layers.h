// Step functions of time made from intervals: which one is innermost, which one is first, where any is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace perfscope {

constexpr int64_t NOTHING = -1; // value of a layer where no interval is

// Intervals [starts[i], ends[i]) in ns with what each stands for.
struct Intervals {
    const int64_t *starts, *ends, *values;
    size_t count;
};

// values[i] holds on [starts[i], starts[i + 1]), the last forever; starts ascend strictly. Where one value follows an
// equal one there is one start.
struct Layer {
    std::vector<int64_t> starts, values;
};

// The same, of arrays that belong to somebody else.
struct LayerView {
    const int64_t *starts, *values;
    size_t count;

    LayerView(const int64_t *first, const int64_t *first_value, size_t size)
        : starts(first), values(first_value), count(size)
    {
    }
    LayerView(const Layer &layer) : LayerView(layer.starts.data(), layer.values.data(), layer.starts.size()) {}
};

// Takes values at moments in order; of equal moments the last counts.
class LayerBuilder {
public:
    void reserve(size_t count);
    void put(int64_t moment, int64_t value)
    {
        if (!is_empty_ && moment != moment_)
            write();
        is_empty_ = false;
        moment_ = moment;
        value_ = value;
    }
    Layer take();

private:
    void write()
    {
        if (layer_.values.empty() || layer_.values.back() != value_) {
            layer_.starts.push_back(moment_);
            layer_.values.push_back(value_);
        }
    }

    Layer layer_;
    bool is_empty_ = true;
    int64_t moment_ = 0, value_ = 0;
};

// Reads a layer at moments that do not go back.
class LayerReader {
public:
    explicit LayerReader(LayerView layer) : layer_(layer) {}

    int64_t at(int64_t moment)
    {
        while (next_ < layer_.count && layer_.starts[next_] <= moment)
            next_++;
        return next_ ? layer_.values[next_ - 1] : NOTHING;
    }

private:
    LayerView layer_;
    size_t next_ = 0;
};

// Of intervals sorted by start; where two overlap, the earlier one has the moment.
Layer disjoint_layer(Intervals sorted);

// At each moment the value of the interval that started last of those that cover it; of equal starts the shortest, of
// equal intervals the last. Empty intervals are nowhere.
Layer innermost_layer(Intervals intervals);

// All moments in which some interval is, as disjoint intervals in order.
std::pair<std::vector<int64_t>, std::vector<int64_t>> union_of(Intervals intervals);

// The moments in order, each once.
void make_distinct(std::vector<int64_t> &moments);

// The values of a layer at moments in any order.
std::vector<int64_t> layer_at(LayerView layer, const int64_t *moments, size_t count);

} // namespace perfscope
