// The first line of a Paraver trace, and the communicators that follow it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfscope {

struct ParaverCommunicator {
    int32_t application; // from 1
    int64_t id;
    std::vector<int32_t> ranks; // places among all tasks
};

struct ParaverHeader {
    std::string date;
    int64_t duration_ns = 0;
    int64_t unit_ns = 1;        // what a time of the file counts
    std::vector<int32_t> tasks; // of each application
    std::vector<int32_t> nodes; // of each task, from 1; 0 unknown
    std::vector<int64_t> threads; // of each task
    std::vector<ParaverCommunicator> communicators;

    // The place of a task among all tasks, -1 if there is none such.
    int32_t rank(int64_t application, int64_t task) const;
};

// Reads `#Paraver (date):duration[_ns]:nodes(cpus):applications:tasks(threads:node,...),communicators:...`.
// Applications are separated by `:` or, as Extrae does, by `,`.
// Returns what is wrong, nullptr when nothing is; `place` is then the byte.
const char *parse_paraver_header(std::string_view line, ParaverHeader &header, size_t &place);

// Reads `c:application:id:count:task:task...` into the header. Of several applications, one that names a task that
// the application does not have belongs to another one and is left out.
const char *parse_paraver_communicator(std::string_view line, ParaverHeader &header);

} // namespace perfscope
