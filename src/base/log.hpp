// Lines for people on stderr, as the environment asks for them: INGOT_LOG is a list of words with
// commas.
#pragma once
#include <string>
#include <string_view>

namespace ingot {

// Whether INGOT_LOG has the word. Asked anew each time, so that a program can turn it on around
// what it is curious about.
bool is_logged(std::string_view what);
// A line on stderr, where it has: "[cache] …". One write a line: those of several threads do not
// mix.
void log_line(std::string_view what, const std::string& line);

}  // namespace ingot
