// Any bytes as the text of a loop program: a user error, or a program that prints and reads back as
// itself. One that keeps the rules (loop/verify.hpp) goes on its way up to code: it is scheduled,
// its constants are folded, its memory is planned. What comes of that is a program as well.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "loop/fold.hpp"
#include "loop/memory.hpp"
#include "loop/schedule.hpp"
#include "loop/text.hpp"
#include "loop/verify.hpp"

namespace {

using ingot::loop::Program;

void require_reads_back(const char* stage, const Program& p) {
  const std::string written = to_text(p);
  try {
    INGOT_ENSURE(same(ingot::loop::parse_program(written), p), "after '", stage, "' it is not what its text says:\n", written);
  } catch (const ingot::UserError& e) {
    ingot::throw_internal_error(__FILE__, __LINE__,
                                ingot::text("after '", stage, "' it does not read back: ", e.what(), "\n", written));
  }
}

bool is_valid(const Program& p) {
  try {
    ingot::loop::verify(p);
  } catch (const ingot::UserError&) {
    return false;
  }
  return true;
}

// A machine that does all sums in plain loops.
void go_on(Program p) {
  using namespace ingot::loop;
  schedule(p, {[](Program&, const Computation&) { return std::optional<ProductSteps>(); }, 8});
  require_reads_back("schedule", p);
  std::optional<Program> fold = fold_constants(p, std::vector<bool>(p.constants.size()));
  if (fold) plan_memory(*fold), require_reads_back("fold", *fold);
  plan_memory(p);
  require_reads_back("memory", p);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Program p;
  try {
    p = ingot::loop::parse_program(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const ingot::UserError&) {
    return 0;
  }
  // From here on an exception of another kind is a fault: it ends the process.
  require_reads_back("read", p);
  if (!is_valid(p)) return 0;
  try {
    go_on(std::move(p));
  } catch (const ingot::UserError&) {
    // Expressions that nest too deeply, say.
  }
  return 0;
}
