// What the events of a trace of Perfetto are in a profile of Kineto's.
#include "error.h"
#include "json_text.h"
#include "json_write.h"
#include "perfetto.h"

#include <algorithm>
#include <cstring>

namespace perfscope {

namespace {

constexpr size_t MOST_DIGITS = 9; // of the number that ends a text

struct Shown {
    std::string category, name; // as they stand between quotes
};

// The whole number that a value is, or that ends a text: "Agent-4" is number 4. Empty where there is none.
std::string_view number_in(std::string_view value)
{
    static constexpr std::string_view DIGITS = "0123456789";
    const bool is_text = value.size() > 1 && value.front() == '"';
    if (is_text)
        value = value.substr(1, value.size() - 2);
    const size_t before = value.find_last_not_of(DIGITS);
    const std::string_view digits = before == std::string_view::npos ? value : value.substr(before + 1);
    if (is_text)
        return digits.size() <= MOST_DIGITS ? digits : std::string_view();
    return before == std::string_view::npos || (before == 0 && value[0] == '-' && !digits.empty()) ? value
                                                                                                 : std::string_view();
}

// The arguments of an event, with those that its meaning adds, in a buffer that a scan does not leave.
std::string_view told(std::string_view facts, const PerfettoMeaning &meaning, std::string &padded, std::string &more)
{
    padded.assign(facts).append(json::PADDING, json::PAD);
    if (meaning.fixed.empty() && meaning.renamed.empty())
        return std::string_view(padded).substr(0, facts.size());
    more.clear();
    const auto add = [&more](std::string_view name, std::string_view value) {
        more.append(",\"").append(name).append("\":").append(value);
    };
    for (const auto &[name, value] : meaning.fixed)
        add(name, std::to_string(value));
    for (const auto &[name, fact] : meaning.renamed) {
        std::string_view found;
        json::for_each_member(std::string_view(padded).substr(0, facts.size()), [&, of = fact](auto key, auto value) {
            if (key == of)
                found = value;
        });
        if (const std::string_view number = number_in(found); !number.empty())
            add(name, number);
    }
    padded.assign(facts.substr(0, facts.size() - 1));
    padded.append(padded.size() > 1 || more.empty() ? more : more.substr(1)).append(1, '}');
    const size_t length = padded.size();
    padded.append(json::PADDING, json::PAD);
    return std::string_view(padded).substr(0, length);
}

} // namespace

// Gives one event after the other in the order of time; slices when they end.
class PerfettoTrace::Giver {
public:
    Giver(const PerfettoTrace &trace, KinetoFile &file, const std::vector<PerfettoPlace> &places,
          const std::vector<PerfettoMeaning> &meanings)
        : trace_(trace), file_(file), places_(places), meanings_(meanings), shown_(trace.kinds.size()),
          open_(trace.used.size())
    {
        for (size_t kind = 0; kind < shown_.size(); kind++) {
            json::escape(meanings[kind].category, shown_[kind].category);
            json::escape(trace.kinds[kind].second, shown_[kind].name);
        }
    }

    void take(const Row &row)
    {
        const int64_t moment = at(row);
        last_ = std::max(last_, moment);
        auto &stack = open_[row.track].slices;
        if (row.type == END) {
            if (!stack.empty()) {
                ended(*stack.back(), moment);
                stack.pop_back();
            }
        } else if (row.type == COUNTER) {
            counter(row);
        } else {
            arrows(row);
            if (row.type == BEGIN)
                begin(row);
            else if (row.type == INSTANT && !row.arrows)
                file_.event(with_facts(row, named(row, 'i')));
        }
    }

    // What does not end lasts to the last event.
    void end()
    {
        for (const uint32_t track : order_)
            for (const Row *row : open_[track].slices)
                ended(*row, last_);
    }

private:
    struct Stack {
        std::vector<const Row *> slices;
        bool is_known = false;
    };

    int64_t at(const Row &row) const
    {
        int64_t sum;
        if (!__builtin_add_overflow(row.moment, trace_.offset_ns, &sum))
            return sum;
        return trace_.offset_ns < 0 ? INT64_MIN : INT64_MAX;
    }

    ChromeEvent based(const Row &row, char phase) const
    {
        ChromeEvent event;
        event.phase = phase;
        event.has_time = true;
        event.time = at(row);
        event.process = places_[row.track].process;
        event.thread = places_[row.track].thread;
        return event;
    }

    ChromeEvent named(const Row &row, char phase) const
    {
        ChromeEvent event = based(row, phase);
        event.name = shown_[row.kind].name;
        event.category = shown_[row.kind].category;
        return event;
    }

    void begin(const Row &row)
    {
        Stack &stack = open_[row.track];
        if (!stack.is_known)
            order_.push_back(row.track);
        stack.is_known = true;
        stack.slices.push_back(&row);
    }

    void ended(const Row &row, int64_t end)
    {
        ChromeEvent event = named(row, 'X');
        event.has_duration = true;
        event.is_damaged = __builtin_sub_overflow(end, event.time, &event.duration);
        file_.event(with_facts(row, event));
    }

    // The event with its arguments, which last until the next one.
    ChromeEvent with_facts(const Row &row, ChromeEvent event)
    {
        event.arguments =
            told(std::string_view(trace_.text_).substr(row.text, row.length), meanings_[row.kind], padded_, more_);
        return event;
    }

    void counter(const Row &row)
    {
        if (!row.length)
            return;
        const PerfettoPlace &place = places_[row.track];
        double value;
        std::memcpy(&value, &row.text, sizeof value);
        more_.clear();
        json::escape(place.name, more_);
        padded_ = "{\"";
        json::escape(place.unit, padded_);
        padded_ += "\":";
        json::write(value, padded_);
        padded_ += '}';
        const size_t length = padded_.size();
        padded_.append(json::PADDING, json::PAD);
        ChromeEvent event = based(row, 'C');
        event.name = more_;
        event.category = "counter";
        event.arguments = std::string_view(padded_).substr(0, length);
        file_.event(event);
    }

    void arrows(const Row &row)
    {
        for (size_t place = row.arrows; place; place = trace_.arrows_[place - 1].is_last ? 0 : place + 1) {
            const Arrow &arrow = trace_.arrows_[place - 1];
            more_ = arrow.number ? std::to_string(arrow.number - 1) : "-1"; // as an export of perfscope numbers them
            ChromeEvent event = named(row, arrow.is_begin ? 's' : 'f');
            event.id = more_;
            file_.event(event);
        }
    }

    const PerfettoTrace &trace_;
    KinetoFile &file_;
    const std::vector<PerfettoPlace> &places_;
    const std::vector<PerfettoMeaning> &meanings_;
    std::vector<Shown> shown_; // by kind
    std::vector<Stack> open_;  // by track
    std::vector<uint32_t> order_; // of tracks, by the first slice on them
    std::string padded_, more_;
    int64_t last_ = 0;
};

void PerfettoTrace::into(KinetoFile &file, const std::vector<PerfettoPlace> &places,
                         const std::vector<PerfettoMeaning> &meanings) const
{
    if (places.size() != used.size() || meanings.size() != kinds.size())
        throw FormatError(path_, 0, "the tracks or kinds of events are not those of this trace");
    Giver giver(*this, file, places, meanings);
    for (const Row &row : rows_)
        giver.take(row);
    giver.end();
}

} // namespace perfscope
