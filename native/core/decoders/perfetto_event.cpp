// Track events as rows: their words written out, their facts as the arguments that Kineto's profiles have.
#include "error.h"
#include "json_write.h"
#include "perfetto.h"

#include <algorithm>

namespace perfscope {

using proto::Field;
using proto::Fields;

namespace {

enum EventField : uint64_t {
    CATEGORY_NUMBER = 3,
    FACTS = 4,
    TYPE = 9,
    NAME_NUMBER = 10,
    TRACK = 11,
    CATEGORY_TEXT = 22,
    NAME_TEXT = 23,
    WHOLE_VALUE = 30,
    REAL_VALUE = 44,
    FLOWS_BEGIN = 47,
    FLOWS_END = 48,
};
enum FactField : uint64_t {
    FACT_NAME_NUMBER = 1,
    TRUTH = 2,
    UNSIGNED = 3,
    SIGNED = 4,
    REAL = 5,
    TEXT = 6,
    FACT_NAME = 10,
    TEXT_NUMBER = 17,
};

void write_text(std::string_view text, std::string &out)
{
    out += '"';
    json::escape(text, out);
    out += '"';
}

} // namespace

void PerfettoTrace::event(int64_t moment, uint64_t sequence, std::string_view message)
{
    PerfettoLast type, on, category, category_number, name, name_number, whole, real;
    std::vector<uint64_t> begins, ends;
    parts_.clear();
    Field field;
    for (Fields fields(message); fields.next(field);) {
        uint64_t flow;
        switch (field.number) {
        case TYPE:
            type.take(field);
            break;
        case TRACK:
            on.take(field);
            break;
        case CATEGORY_TEXT:
            category.take(field);
            break;
        case CATEGORY_NUMBER:
            category_number.take(field);
            break;
        case NAME_TEXT:
            name.take(field);
            break;
        case NAME_NUMBER:
            name_number.take(field);
            break;
        case WHOLE_VALUE:
            whole.take(field);
            break;
        case REAL_VALUE:
            real.take(field);
            break;
        case FACTS:
            if (!field.is_whole)
                parts_.push_back(field.held);
            break;
        case FLOWS_BEGIN:
        case FLOWS_END:
            if (!field.is_whole && proto::fixed64(field.held, flow))
                (field.number == FLOWS_BEGIN ? begins : ends).push_back(flow);
            break;
        default:
            break;
        }
    }
    entries_++;
    Row row{};
    row.moment = moment;
    row.track = track(on.number());
    row.type = static_cast<uint32_t>(std::min<uint64_t>(type.number(), UINT32_MAX));
    if (row.type == COUNTER) {
        double value = 0;
        row.length = real.is_there ? proto::real(real.held, value) : whole.is_whole;
        if (!real.is_there)
            value = static_cast<double>(static_cast<int64_t>(whole.value));
        std::memcpy(&row.text, &value, sizeof value);
    } else if (row.type != END) {
        row.kind = kind(word(category, category_number, CATEGORY, sequence), word(name, name_number, NAME, sequence));
        scratch_ = "{";
        for (const std::string_view part : parts_)
            annotation(part, sequence);
        scratch_ += '}';
        if (scratch_.size() > UINT32_MAX)
            throw FormatError(path_, offset_, "the facts of one event take more than 4 GiB");
        row.text = text_.size();
        row.length = static_cast<uint32_t>(scratch_.size());
        text_ += scratch_;
        entries_ += scratch_.size() / 256;
        row.arrows = begins.empty() && ends.empty() ? 0 : static_cast<uint32_t>(arrows_.size() + 1);
        for (const uint64_t number : begins)
            arrows_.push_back({number, true, false});
        for (const uint64_t number : ends)
            arrows_.push_back({number, false, false});
        if (row.arrows)
            arrows_.back().is_last = true;
        entries_ += begins.size() + ends.size();
    }
    rows_.push_back(row);
}

// A text of an event, written out or by its number.
std::string_view PerfettoTrace::word(const PerfettoLast &plain, const PerfettoLast &number, Word which,
                                     uint64_t sequence) const
{
    if (!plain.held.empty())
        return plain.held;
    const auto of = number.is_whole ? words_.find(sequence) : words_.end();
    if (of == words_.end())
        return {};
    const auto found = of->second[which].find(number.value);
    return found == of->second[which].end() ? std::string_view() : std::string_view(found->second);
}

// Appends a fact of an event: one that is a number, a truth or a text.
void PerfettoTrace::annotation(std::string_view message, uint64_t sequence)
{
    PerfettoLast plain, number;
    Field field;
    for (Fields fields(message); fields.next(field);) {
        if (field.number == FACT_NAME)
            plain.take(field);
        else if (field.number == FACT_NAME_NUMBER)
            number.take(field);
    }
    const std::string_view name = word(plain, number, ANNOTATION, sequence);
    const size_t before = scratch_.size();
    if (before > 1)
        scratch_ += ',';
    write_text(name, scratch_);
    scratch_ += ':';
    if (name.empty() || !value(message, sequence, scratch_))
        scratch_.resize(before);
}

bool PerfettoTrace::value(std::string_view message, uint64_t sequence, std::string &out) const
{
    PerfettoLast truth, natural, whole, text, number;
    std::optional<std::string_view> real;
    Field field;
    for (Fields fields(message); fields.next(field);) {
        if (field.number == TRUTH)
            truth.take(field);
        else if (field.number == UNSIGNED)
            natural.take(field);
        else if (field.number == SIGNED)
            whole.take(field);
        else if (field.number == REAL && !real)
            real = field.is_whole ? std::string_view() : field.held;
        else if (field.number == TEXT)
            text.take(field);
        else if (field.number == TEXT_NUMBER)
            number.take(field);
    }
    if (truth.is_there) {
        out += truth.number() ? "true" : "false";
    } else if (natural.is_there) {
        if (!natural.is_whole)
            return false;
        out += std::to_string(natural.value);
    } else if (whole.is_there) {
        out += std::to_string(static_cast<int64_t>(whole.number()));
    } else if (real) {
        double told;
        if (!proto::real(*real, told))
            return false;
        json::write(told, out);
    } else if (number.is_there) {
        const auto of = words_.find(sequence);
        if (of == words_.end())
            return false;
        const auto found = of->second[VALUE].find(number.number());
        if (found == of->second[VALUE].end())
            return false;
        write_text(found->second, out);
    } else if (text.is_there) {
        write_text(text.held, out);
    } else {
        return false;
    }
    return true;
}

uint32_t PerfettoTrace::kind(std::string_view category, std::string_view name)
{
    const uint64_t both = uint64_t{words_of_kinds_.number(category)} << 32 | words_of_kinds_.number(name);
    const auto place = static_cast<uint32_t>(kinds.size());
    const auto [found, is_new] = kind_places_.emplace(both, place);
    if (!is_new)
        return found->second;
    kinds.emplace_back(category, name);
    entries_ += 1 + (category.size() + name.size()) / 64;
    return place;
}

uint32_t PerfettoTrace::track(uint64_t uuid)
{
    const auto [found, is_new] = uuid_places_.emplace(uuid, static_cast<uint32_t>(uuids_.size()));
    if (is_new) {
        uuids_.push_back(uuid);
        entries_++;
    }
    return found->second;
}

void PerfettoTrace::finish()
{
    if (!is_full())
        parse(true);
    buffer_ = {};
    words_ = {};
    const auto by_time = [](const Row &a, const Row &b) { return a.moment < b.moment; };
    if (!std::is_sorted(rows_.begin(), rows_.end(), by_time))
        std::stable_sort(rows_.begin(), rows_.end(), by_time);
    take_facts();
    number_tracks();
}

// Keeps the first facts on the trace, and leaves the slices that tell them out.
void PerfettoTrace::take_facts()
{
    const auto tells = [this](const Row &row) {
        return row.type != END && row.type != COUNTER && kinds[row.kind].second == facts_name_;
    };
    if (facts_name_.empty())
        return;
    const auto first = std::find_if(rows_.begin(), rows_.end(), tells);
    if (first == rows_.end())
        return;
    facts = text_.substr(first->text, first->length);
    rows_.erase(std::remove_if(first, rows_.end(), tells), rows_.end());
}

// Numbers tracks by the first event on them.
void PerfettoTrace::number_tracks()
{
    std::vector<uint32_t> places(uuids_.size(), UINT32_MAX);
    for (Row &row : rows_) {
        uint32_t &place = places[row.track];
        if (place == UINT32_MAX) {
            place = static_cast<uint32_t>(used.size());
            used.push_back(uuids_[row.track]);
        }
        row.track = place;
    }
    uuids_ = {};
    uuid_places_ = {};
}

} // namespace perfscope
