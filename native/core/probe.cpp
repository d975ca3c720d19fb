// perfscope_engine_probe FILE: reads a file with the decoder of its format; exit code 0 read, 3 said what is wrong.
#include "error.h"
#include "input.h"

#include <cstdio>
#include <exception>

int main(int count, char **words)
{
    if (count != 3) {
        std::fprintf(stderr, "usage: %s FORMAT FILE\n", words[0]);
        return 2;
    }
    try {
        const perfscope::InputFile file(words[2]);
        std::printf("%s: %llu bytes\n", words[1], static_cast<unsigned long long>(file.size()));
        return 0;
    } catch (const perfscope::FormatError &error) {
        std::fprintf(stderr, "%s: byte %llu: %s\n", error.path().c_str(),
                     static_cast<unsigned long long>(error.offset()), error.what());
    } catch (const perfscope::ReadError &error) {
        std::fprintf(stderr, "%s: %s\n", error.path().c_str(), error.what());
    }
    return 3;
}
