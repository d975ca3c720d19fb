#include "decoders/paraver_header.h"

#include <algorithm>
#include <limits>

namespace perfscope {
namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max();
constexpr size_t most_tasks = 1 << 24;

class Line {
public:
    explicit Line(std::string_view text) : text_(text) {}
    size_t at() const { return at_; }
    bool take(char wanted)
    {
        if (at_ >= text_.size() || text_[at_] != wanted)
            return false;
        at_++;
        return true;
    }
    bool take(std::string_view wanted)
    {
        if (text_.substr(at_, wanted.size()) != wanted)
            return false;
        at_ += wanted.size();
        return true;
    }
    bool number(int64_t &value)
    {
        const size_t first = at_;
        for (value = 0; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++) {
            if (value > (most - 9) / 10)
                return false;
            value = value * 10 + (text_[at_] - '0');
        }
        return at_ > first;
    }
    std::string_view until(char end)
    {
        const size_t first = at_;
        while (at_ < text_.size() && text_[at_] != end)
            at_++;
        return text_.substr(first, at_ - first);
    }
    bool is_done() const { return at_ >= text_.size(); }

private:
    std::string_view text_;
    size_t at_ = 0;
};

// `tasks(threads:node,threads:node)`.
const char *application(Line &line, ParaverHeader &header)
{
    int64_t count, threads, node;
    if (!line.number(count) || count > static_cast<int64_t>(most_tasks))
        return "the number of tasks is missing or too large";
    if (!line.take('('))
        return "the threads of the tasks are missing";
    int64_t seen = 0;
    for (; !line.take(')'); seen++) {
        if (seen && !line.take(','))
            return "a comma was expected between tasks";
        if (!line.number(threads))
            return "the number of threads of a task is missing";
        node = 0;
        if (line.take(':') && !line.number(node))
            return "the node of a task is missing";
        if (header.threads.size() >= most_tasks)
            return "there are too many tasks";
        header.threads.push_back(threads);
        header.nodes.push_back(node <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(node) : 0);
    }
    if (seen != count)
        return "the number of tasks is not that of the list of tasks";
    header.tasks.push_back(static_cast<int32_t>(count));
    return nullptr;
}

// What stands after an application: `:` or `,` before the next one, `,communicators` in between or at the end.
const char *after_application(Line &line, bool is_last)
{
    int64_t number;
    Line ahead = line;
    if (!is_last && ahead.take(',') && ahead.number(number) && ahead.take('(')) {
        line.take(',');
        return nullptr;
    }
    if (line.take(',') && !line.number(number))
        return "the number of communicators is missing";
    return is_last || line.take(':') || line.take(',') ? nullptr : "an application is missing";
}

// The unit of all times: microseconds where the length of the trace does not name another.
int64_t unit_ns(Line &line)
{
    const bool is_ns = line.take("_ns"), is_ms = line.take("_ms");
    line.take("_us");
    return is_ns ? 1 : is_ms ? 1000000 : 1000;
}

const char *header_fields(Line &line, ParaverHeader &header)
{
    int64_t applications;
    if (!line.take("#Paraver (") && !line.take("#Paraver("))
        return "it does not begin with #Paraver";
    header.date = std::string(line.until(')'));
    if (!line.take("):") || !line.number(header.duration_ns))
        return "the length of the trace is missing or too large";
    header.unit_ns = unit_ns(line);
    if (header.duration_ns > most / 4 / header.unit_ns)
        return "the length of the trace is out of range";
    header.duration_ns *= header.unit_ns;
    if (!line.take(':'))
        return "a colon was expected after the length of the trace";
    line.until(':'); // nodes and their CPUs
    if (!line.take(':') || !line.number(applications) || applications > static_cast<int64_t>(most_tasks))
        return "the number of applications is missing or too large";
    if (!line.take(':'))
        return "an application is missing";
    for (int64_t i = 0; i < applications; i++) {
        if (const char *problem = application(line, header))
            return problem;
        if (const char *problem = after_application(line, i + 1 == applications))
            return problem;
    }
    return header.threads.empty() ? "it has no task" : nullptr;
}

} // namespace

int32_t ParaverHeader::rank(int64_t application, int64_t task) const
{
    if (application < 1 || application > static_cast<int64_t>(tasks.size()) || task < 1)
        return -1;
    int64_t place = 0;
    for (int64_t i = 0; i + 1 < application; i++)
        place += tasks[static_cast<size_t>(i)];
    return task <= tasks[static_cast<size_t>(application - 1)] ? static_cast<int32_t>(place + task - 1) : -1;
}

const char *parse_paraver_header(std::string_view line, ParaverHeader &header, size_t &place)
{
    Line cursor(line);
    const char *problem = header_fields(cursor, header);
    place = cursor.at();
    return problem;
}

const char *parse_paraver_communicator(std::string_view line, ParaverHeader &header)
{
    Line cursor(line);
    int64_t application, count, task;
    ParaverCommunicator found;
    if (!(cursor.take("c:") || cursor.take("C:")) || !cursor.number(application) || !cursor.take(':') || !cursor.number(found.id) ||
        !cursor.take(':') || !cursor.number(count))
        return "a communicator has no number or size";
    while (cursor.take(':')) {
        if (!cursor.number(task))
            return "a task of a communicator is no number";
        found.ranks.push_back(header.rank(application, task));
    }
    if (!cursor.is_done() || count != static_cast<int64_t>(found.ranks.size()))
        return "the size of a communicator is not that of the list of its tasks";
    if (std::find(found.ranks.begin(), found.ranks.end(), -1) != found.ranks.end()) {
        // communicators of all applications are listed for each of them, also for those with fewer tasks
        if (header.tasks.size() > 1)
            return nullptr;
        return "a communicator has a task that the trace does not have";
    }
    found.application = static_cast<int32_t>(application);
    header.communicators.push_back(std::move(found));
    return nullptr;
}

} // namespace perfscope
