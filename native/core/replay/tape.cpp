#include "replay/tape.h"

namespace perfscope {

// With what is noted at each of them, so many rows fit a processor's second cache.
static constexpr size_t ROWS_AT_ONCE = 1 << 14;

size_t segments_at_once(const ReplayProgram &program)
{
    const size_t rows_of_one = std::max<size_t>(1, program.rows() / program.segments());
    return std::max<size_t>(1, ROWS_AT_ONCE / rows_of_one);
}

Tape::Tape(const ReplayProgram &program)
    : segments_at_once_(segments_at_once(program)),
      window_starts_((program.segments() + segments_at_once_ - 1) / segments_at_once_ + 1), segment_starts_(program.segments()),
      window_places_(window_starts_.size() - 1)
{
}

// Cuts in front of a segment fulfil what lies behind them.
bool TapeWriter::is_here(int64_t need, size_t segment) const
{
    return (need < 0 ? program_.segment_of_hub(~need) : program_.segment_of(need)) == static_cast<int64_t>(segment);
}

void TapeWriter::write(const Window &window, size_t segment, const std::vector<int64_t> &order)
{
    std::vector<uint32_t> &words = words_[tape_.window_of(segment)];
    if (segment == window.first())
        words.reserve(window.rows() + window.rows() / 2);
    tape_.segment_starts_[segment] = static_cast<uint32_t>(words.size());
    const SmallLists &needs = program_.needs();
    for (const int64_t row : order) {
        if (program_.segment_of(row - 1) != static_cast<int64_t>(segment)) {
            words.push_back(row_place(window, row) | Tape::IS_FIRST);
            if (needs.begin_of(row - 1) != needs.end_of(row - 1))
                reaches_over_cuts_[tape_.window_of(segment)] = true;
            continue;
        }
        const auto first = needs.begin_of(row - 1), behind = needs.end_of(row - 1);
        uint32_t count = 0;
        for (auto need = first; need != behind; ++need)
            if (is_here(*need, segment)) {
                count++;
                if (*need < 0)
                    hub_place(window, segment, ~*need); // stands in front
            }
        if (count != behind - first)
            reaches_over_cuts_[tape_.window_of(segment)] = true;
        words.push_back(row_place(window, row) | (count ? Tape::HAS_NEEDS : 0));
        if (!count)
            continue;
        words.push_back(count);
        for (auto need = first; need != behind; ++need)
            if (is_here(*need, segment))
                words.push_back(*need < 0 ? hub_place(window, segment, ~*need) : row_place(window, *need));
    }
}

// Of the hubs before it that count as its own those without a place get theirs first.
uint32_t TapeWriter::hub_place(const Window &window, size_t segment, int64_t hub)
{
    int64_t first = hub;
    const auto parent = [&](int64_t one) { return program_.hub_parent(static_cast<size_t>(one)); };
    const auto is_missing = [&](int64_t one) { return one >= 0 && is_here(~one, segment) && !hubs_[static_cast<size_t>(one)]; };
    while (is_missing(parent(first)))
        first = parent(first);
    for (; first <= hub; first++)
        if (is_missing(first))
            write_hub(window, segment, first);
    return hubs_[static_cast<size_t>(hub)];
}

void TapeWriter::write_hub(const Window &window, size_t segment, int64_t hub)
{
    const size_t number = tape_.window_of(segment);
    std::vector<uint32_t> &words = words_[number];
    const auto place = static_cast<uint32_t>(window.rows() + places_[number]++);
    words.push_back(place | Tape::IS_HUB | Tape::HAS_NEEDS);
    const size_t count = words.size();
    words.push_back(0);
    const Lists &members = program_.hubs();
    for (auto row = members.begin_of(hub); row != members.end_of(hub); ++row)
        if (is_here(*row, segment))
            words.push_back(row_place(window, *row));
        else
            reaches_over_cuts_[number] = true;
    const int64_t parent = program_.hub_parent(static_cast<size_t>(hub));
    if (parent >= 0 && is_here(~parent, segment))
        words.push_back(hubs_[static_cast<size_t>(parent)]);
    else if (parent >= 0)
        reaches_over_cuts_[number] = true;
    words[count] = static_cast<uint32_t>(words.size() - count - 1);
    hubs_[static_cast<size_t>(hub)] = place;
}

std::shared_ptr<const Tape> TapeWriter::done()
{
    Window window(program_);
    for (size_t number = 0; number < tape_.windows(); number++) {
        tape_.enter(window, number);
        tape_.window_places_[number] = window.rows() + places_[number];
        tape_.window_starts_[number + 1] = tape_.window_starts_[number] + words_[number].size();
    }
    tape_.reaches_over_cuts_ =
        std::any_of(reaches_over_cuts_.begin(), reaches_over_cuts_.end(), [](uint8_t one) { return one; });
    tape_.words_.reserve(tape_.window_starts_.back());
    for (std::vector<uint32_t> &words : words_) {
        tape_.words_.insert(tape_.words_.end(), words.begin(), words.end());
        std::vector<uint32_t>().swap(words);
    }
    return std::make_shared<const Tape>(std::move(tape_));
}

} // namespace perfscope
