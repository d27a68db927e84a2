#include "aot/debug_assert.hpp"

#include "aot/metadata_record.hpp"
#include "base/error.hpp"

namespace ingot::aot {
namespace {

enum class Assumed : uint8_t { no_tensor, no_grad, nothing };

Assumed assumed_of(const Value& v) {
  if (!v.is_tensor()) return Assumed::no_tensor;
  return requires_grad(v.tensor()) ? Assumed::nothing : Assumed::no_grad;
}

}  // namespace

std::string argument_name(std::size_t argument, int params_and_buffers) {
  const int k = static_cast<int>(argument);
  return k < params_and_buffers ? text("parameter/buffer ", k) : text("input ", k - params_and_buffers);
}

std::string broken_assumption(int id, const std::string& assumption) {
  return text(
      "At compilation time, graph ", id, " was compiled under the assumption that ", assumption,
      ", but at runtime this was not the case.  This indicates a guard bug in AOTAutograd or Dynamo, please file a bug to PyTorch.");
}

void require_record(const Metadata& expected, const Metadata& found, std::string_view of) {
  INGOT_REQUIRE(same_record(expected, found), "the function does something else ", of, ". Expected:\n", expected, "Found:\n",
                found, "Does it depend on anything but its arguments?");
}

FlatCallable with_gradients_as_assumed(FlatCallable inner, const Values& fakes, int params_and_buffers, int id) {
  std::vector<Assumed> assumed;
  for (const Value& v : fakes) assumed.push_back(assumed_of(v));
  return [inner = std::move(inner), assumed = std::move(assumed), params_and_buffers, id](Values arguments) {
    for (std::size_t i = 0; i < arguments.size(); i++) {
      const bool is_tensor = arguments[i].is_tensor();
      INGOT_REQUIRE(assumed[i] != Assumed::no_tensor || !is_tensor,
                    broken_assumption(id, text(argument_name(i, params_and_buffers), " would not be a tensor")));
      INGOT_REQUIRE(assumed[i] != Assumed::no_grad || !is_tensor || !requires_grad(arguments[i].tensor()),
                    broken_assumption(id, text(argument_name(i, params_and_buffers), " would not require grad")));
    }
    return inner(std::move(arguments));
  };
}

}  // namespace ingot::aot
