// Part of every test program: tests verify every graph and every loop program (pass/pass.hpp),
// whoever starts them and how.
#include <cstdlib>

namespace {

[[maybe_unused]] const int on = setenv("INGOT_VERIFY", "1", 0);

}  // namespace
