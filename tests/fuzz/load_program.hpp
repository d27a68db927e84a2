// What every byte string must stand: a program loads, and is written again, or a user is told why
// not.
#pragma once
#include <optional>
#include <string>

#include "base/error.hpp"
#include "format/pt2/load.hpp"
#include "format/pt2/samples.hpp"
#include "format/pt2/write.hpp"

namespace ingot {

// A user error is what a user is told; any other exception is a defect, and ends the run. Each
// stage stands alone.
template <class F>
void allow_user_errors(const F& stage) {
  try {
    stage();
  } catch (const UserError&) {}
}

inline void load_program(const std::string& path) {
  allow_user_errors([&] { (void)read_sample_inputs(path); });
  std::optional<Pt2Program> program;
  allow_user_errors([&] { program = read_pt2(path); });
  if (program) allow_user_errors([&] { (void)program_json(*program); });
}

}  // namespace ingot
