// Every sample of tests/samples on TwoTensors: each part is what the op makes of it alone, and so
// are gradients.
#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/state.hpp"
#include "op/tensors.hpp"
#include "support/no_leaks.hpp"
#include "support/sample.hpp"
#include "support/wrappers.hpp"
#include "tensor/geometry.hpp"

namespace ingot::testing {
namespace {

class WrapperSamples : public NoLeaks {};

TensorList tensors_in(Args values) {
  TensorList l;
  for (const Value& v : values) for_each_tensor(v, [&](const Tensor& t) { l.push_back(t); });
  return l;
}

// NaN is equal to itself.
bool same_elements(const Tensor& a, const Tensor& b, double relative = 0) {
  if (!a.sizes().same(b.sizes()) || a.dtype() != b.dtype()) return false;
  if (a.is_complex()) return same_elements(aten<"view_as_real">(a), aten<"view_as_real">(b), relative);
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); i++)
    if (!(x[i] == y[i] || (x[i] != x[i] && y[i] != y[i]) || std::abs(x[i] - y[i]) <= relative * std::abs(x[i]))) return false;
  return true;
}

Values sample_args(const Sample& s, const Op** op) {
  SampleCall c = make_call(s, Make::real, 0);
  *op = c.op;
  return std::move(c.args);
}

// The call with every tensor made a TwoTensor of it and its equal in a second set of arguments.
Values paired(const Values& first, const Values& second) {
  const TensorList other = tensors_in(second);
  std::size_t next = 0;
  return map_tensors(Args(first), [&](const Tensor& t) { return two_tensor(t, other[next++]); });
}

void check(const Sample& s) {
  const Op* op = nullptr;
  const Values plain_args = sample_args(s, &op), args = paired(sample_args(s, &op), sample_args(s, &op));
  manual_seed(1);
  const Tensor before = get_rng_state();
  const Value want = call(*op, plain_args);
  const bool random = !equal(get_rng_state(), before);  // each part draws for itself: the first one draws what the op alone does
  manual_seed(1);
  const Value got = call(*op, args);
  const TensorList wants = tensors_in(Args(&want, 1)), gots = tensors_in(Args(&got, 1));
  const TensorList plain = tensors_in(plain_args), wrapped = tensors_in(args);
  ASSERT_EQ(gots.size(), wants.size());
  if (wants.empty()) {
    EXPECT_TRUE(want.same(got));
  }
  const bool any_bytes = op->def->result.uninitialised || op->def->effects.rewires == Rewires::size;
  for (std::size_t k = 0; k < wants.size() && !wrapped.empty(); k++) {
    EXPECT_TRUE(gots[k].sizes().same(wants[k].sizes()) && gots[k].strides().same(wants[k].strides())) << "result " << k;
    if (any_bytes) continue;
    if (!wrapper_state(gots[k])) {  // made of sizes alone
      EXPECT_TRUE(same_elements(gots[k], wants[k])) << "result " << k;
      continue;
    }
    EXPECT_TRUE(gots[k]->geom.same(inner_tensor(gots[k], "a")->geom)) << "result " << k << " looks unlike its part";
    EXPECT_TRUE(same_elements(inner_tensor(gots[k], "a"), wants[k])) << "result " << k;
    EXPECT_TRUE(random || same_elements(inner_tensor(gots[k], "b"), wants[k])) << "result " << k << ", second part";
  }
  for (std::size_t k = 0; k < plain.size() && !any_bytes; k++)  // what it wrote
    EXPECT_TRUE(same_elements(inner_tensor(wrapped[k], "a"), plain[k])) << "argument " << k << " afterwards";
  if (!op->is_view() || wrapped.empty()) return;
  for (const Tensor& t : gots) EXPECT_TRUE(t->storage == args[0].tensor()->storage) << "a view has another outer storage";
}

// The gradients of the double-precision arguments for gradients of ones; nothing where there is
// nothing to differentiate.
TensorList gradients(const Op& op, const Values& args) {
  TensorList inputs, outputs, seeds;
  for (Tensor t : tensors_in(args))
    if (t.dtype() == float64 || t.dtype() == complex128) inputs.push_back(t.requires_grad_());
  const Value result = call(op, args);
  for (const Tensor& t : tensors_in(Args(&result, 1)))
    if (t.requires_grad()) {
      outputs.push_back(t);
      seeds.push_back(ones_like(t));
    }
  if (outputs.empty()) return {};
  return grad(outputs, inputs, seeds, {.allow_unused = true});
}

void check_gradients(const Sample& s) {
  const Op* op = nullptr;
  const Values plain_args = sample_args(s, &op), args = paired(sample_args(s, &op), sample_args(s, &op));
  if (op->mutates() || plain_args.empty()) return;
  manual_seed(1);
  TensorList want;
  try {
    want = gradients(*op, plain_args);
  } catch (const UserError&) {
    return;  // it has no gradient
  }
  manual_seed(1);
  const TensorList got = gradients(*op, args);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < want.size(); k++) {
    ASSERT_EQ(got[k].defined(), want[k].defined()) << "gradient " << k;
    if (!want[k].defined()) continue;
    // Rules that look at elements to choose a cheaper form (prod) cannot look at a wrapper: the
    // last digits may differ.
    EXPECT_TRUE(same_elements(wrapper_state(got[k]) ? inner_tensor(got[k], "a") : got[k], want[k], 1e-12)) << "gradient " << k;
  }
}

TEST_F(WrapperSamples, EveryOpRunsOnBothParts) {
  const std::string folder = (std::filesystem::path(INGOT_TEST_DATA).parent_path() / "samples").string();
  // Programs that depend on what is in a tensor: a wrapper has no data of its own to decide by.
  const std::set<std::string> by_data{"lstm.data", "gru.data", "rnn_tanh.data", "rnn_relu.data", "one_hot"};
  std::set<std::string> refused;
  int ran = 0;
  for (const std::string& file : sample_files(folder))
    for (const Sample& s : read_samples(file)) {
      // It chooses between two formulas by the elements of a tensor, and the sample's arguments are
      // not consistent.
      if (s.op_name == "cumprod_backward") continue;
      try {
        SCOPED_TRACE(s.where());
        check(s);
        check_gradients(s);
        ran++;
      } catch (const UserError& e) {
        refused.insert(s.op_name);
        EXPECT_TRUE(by_data.contains(s.op_name)) << s.where() << "\n    " << e.what();
      }
    }
  EXPECT_EQ(refused, by_data);
  EXPECT_GT(ran, 1500);
}

}  // namespace
}  // namespace ingot::testing
