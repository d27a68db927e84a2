// A program of op and what op uses, without the layers above: it has the ops that it registers, and
// no tape.
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "op/call.hpp"

using namespace ingot;

namespace {

constexpr OpDef kTwice[] = {{.schema = "alone::twice(Tensor self) -> Tensor",
                             .meta = [](const Call& c, Outputs& o) { o.add(c.tensor(0)->geom); },
                             .kernel =
                                 [](const Call& c, std::span<const Tensor> results) {
                                   for (int64_t i = 0; i < c.tensor(0).numel().number(); i++)
                                     results[0].data<float>()[i] = 2 * c.tensor(0).data<float>()[i];
                                 }}};

bool failed = false;
void expect(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "op_alone: expected %.*s\n", static_cast<int>(what.size()), what.data());
  failed = true;
}

// What is not there says how to have it.
template <class Error, class F>
void expect_link_advice(const F& f) {
  std::string said;
  try {
    f();
  } catch (const Error& e) {
    said = e.what();
  }
  expect(said.find("should link ingot_setup") != std::string::npos, "what to link, found \"" + said + "\"");
}

}  // namespace

int main() {
  register_ops(kTwice);
  Tensor t = make_tensor(Geometry::contiguous({2}, DType::f32));
  t.data<float>()[0] = 1;
  t.data<float>()[1] = 2;
  const Tensor twice = call(op("alone::twice"), {t}).tensor();
  expect(twice.data<float>()[0] == 2 && twice.data<float>()[1] == 4, "[2, 4] of its own op");
  expect(all_ops().size() == 1 && !find_op("add.Tensor"), "no ops but its own");
  expect(!t.requires_grad() && t.is_leaf(), "a tensor without a tape");
  expect_link_advice<UserError>([] { (void)op("add.Tensor"); });
  expect_link_advice<InternalError>([&] { t.requires_grad_(); });
  return failed;
}
