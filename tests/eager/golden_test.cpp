// Every operator call that the golden cases make, forward and backward, made once more as compiled
// code would make it: as text, in a library that has every op. The bits are those of this process's
// eager library.
#include <map>

#include "check/run_case.hpp"
#include "eager/library.hpp"

namespace ingot::testing {
namespace {

struct Compared {
  const EagerLibrary* library = nullptr;
  std::map<std::string, int> calls;  // by op
  std::vector<std::string> differences;
};
Compared compared;

TensorList tensors_of(const Value& v) {
  if (v.is_tensors()) return v.tensors();
  if (v.is_tensor()) return {v.tensor()};
  if (!v.is_number()) return {};
  return {scalar_tensor(v.to_scalar(), {.dtype = v.is_float() ? float64 : v.is_complex() ? complex128 : v.to_scalar().dtype()})};
}

bool can_be_compared(const Op& op, Args args) {
  if (op.variant != Variant::functional || op.mutates() || op.comes_apart() || op.def->result.uninitialised) return false;
  for (const Value& v : args) {
    if (v.is_generator() || v.is_function()) return false;
    for (const Tensor& t : v.is_tensor() || v.is_tensors() ? tensors_of(v) : TensorList())
      if (t.defined() && t->is_fake()) return false;
  }
  return true;
}

// Runs below every other layer of the thread: what arrives here would run its kernel next.
Value compare_call(const Op& op, Args args) {
  const Draw draw = default_generator()->state();
  const Value result = call_below(Layer::mode, op, args);
  if (!can_be_compared(op, args)) return result;
  const Scoped<Layer> comparing(thread_state().layer, Layer::kernel);  // its own calls are not compared
  const TensorList host = tensors_of(result);
  if (host.empty()) return result;
  const CallText t = text_of({op, args});
  const auto r = compared.library->run({t.text, t.tensors, {}}, TensorList(host.size()), false, draw);
  compared.calls[op.name]++;
  bool same = r.status == 0;
  for (std::size_t k = 0; same && k < host.size(); k++)
    same = host[k].defined() ? r.results[k].defined() && same_elements(r.results[k], host[k]) : !r.results[k].defined();
  if (!same) compared.differences.push_back(text(t.text, ": ", r.error.empty() ? "other elements" : r.error));
  return result;
}

TEST(EagerGolden, EveryCallOfTheGoldenCasesHasTheBitsOfEager) {
  std::vector<std::string> names;
  for (const Op* o : all_ops())
    if (o->form() != Form::higher_order) names.push_back(o->name);
  const EagerLibrary library(names);
  compared.library = &library;
  install_once(Layer::mode, compare_call);
  {
    const auto with_mode = static_cast<uint8_t>(thread_state().active | layer_bit(Layer::mode));
    const Scoped<uint8_t> on(thread_state().active, with_mode);
    for (const Case& c : find_cases(INGOT_GOLDEN_DIR "/ops")) check_case(c, {.gradients = true});
  }
  int calls = 0;
  for (const auto& [name, count] : compared.calls) calls += count;
  std::printf("%d calls of %zu ops\n", calls, compared.calls.size());
  EXPECT_GT(calls, 5000);
  EXPECT_GT(compared.calls.size(), 400u);
  for (std::size_t i = 0; i < std::min<std::size_t>(compared.differences.size(), 20); i++)
    ADD_FAILURE() << compared.differences[i];
  EXPECT_EQ(compared.differences.size(), 0u);
}

}  // namespace
}  // namespace ingot::testing
