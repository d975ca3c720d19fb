// JSON text as the decoder of Kineto's profiles takes it, of what other formats tell otherwise.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace perfscope::json {

// Appends what stands between the quotes of a text.
inline void escape(std::string_view text, std::string &out)
{
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < ' ') {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            out += code;
        } else {
            out += c;
        }
    }
}

// Appends a floating-point number, which a fraction tells from a whole one.
inline void write(double number, std::string &out)
{
    if (!std::isfinite(number)) {
        out += std::isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity";
        return;
    }
    char text[40];
    std::snprintf(text, sizeof text, std::fabs(number) < 1e16 ? "%.17g" : "%.17e", number);
    out += text;
    if (std::strpbrk(text, ".e") == nullptr)
        out += ".0";
}

} // namespace perfscope::json
