#include "made_events.h"

#include "error.h"
#include "json_text.h"
#include "json_write.h"

namespace perfscope {

static void append(std::string &arguments, const char *name, int64_t value)
{
    if (value < 0)
        return;
    arguments += arguments.size() > 1 ? ",\"" : "\"";
    arguments.append(name).append("\":").append(std::to_string(value));
}

static std::vector<std::string> escaped(const std::vector<std::string> &texts)
{
    std::vector<std::string> found(texts.size());
    for (size_t place = 0; place < texts.size(); place++)
        json::escape(texts[place], found[place]);
    return found;
}

void take_made(KinetoFile &file, const MadeRow *rows, size_t count, const std::vector<std::string> &names,
               const std::vector<std::string> &categories, const std::string &process)
{
    const std::vector<std::string> shown = escaped(names), kinds = escaped(categories);
    std::string thread, arguments;
    for (const MadeRow *row = rows; row < rows + count; row++) {
        if (row->name >= names.size() || row->category >= categories.size())
            throw FormatError("", 0, "an event has a name that is in no list");
        arguments = "{";
        append(arguments, "correlation", row->correlation);
        append(arguments, "device", row->device);
        append(arguments, "stream", row->stream);
        append(arguments, "bytes", row->bytes);
        arguments += '}';
        const size_t length = arguments.size();
        arguments.append(json::PADDING, json::PAD);
        thread = std::to_string(row->thread);
        ChromeEvent event;
        event.phase = 'X';
        event.has_time = event.has_duration = true;
        event.time = row->t0;
        event.is_damaged = __builtin_sub_overflow(row->t1, row->t0, &event.duration);
        event.name = shown[row->name];
        event.category = kinds[row->category];
        event.process = process;
        event.thread = thread;
        event.arguments = std::string_view(arguments).substr(0, length);
        file.event(event);
    }
}

} // namespace perfscope
