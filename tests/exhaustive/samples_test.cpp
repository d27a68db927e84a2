// A193, A194 on the project's own samples (tests/samples): operators that no golden case has
// gradients of, other dtypes, in-place and out= forms, strided and expanded arguments.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/dtype.hpp"
#include "exhaustive/exhaustive_check.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"
#include "support/no_leaks.hpp"
#include "support/sample.hpp"

namespace ingot::aot {
namespace {

using testing::Make;
using testing::Sample;

// Operators whose samples need not agree, or single samples. One that does must leave the table.
const std::map<std::string, std::string> kExcuses = {
    {"tensor_split.tensor_indices_or_sections(f64[7,3], i64[]:range(2,4))",
     "on the reference's list: how many results there are is read from an argument"},
    {"narrow.Tensor", "on the reference's list: where the result begins is read from an argument"},
    {"lstm.data", "M01: packed sequences are skipped; the program depends on their lengths"},
    {"gru.data", "as lstm.data"},
    {"rnn_tanh.data", "as lstm.data"},
    {"rnn_relu.data", "as lstm.data"},
    {"set_", "R032: a set_ of an argument that does not stay in the graph is refused"},
    {"set_.source_Tensor", "as set_"},
    {"set_.source_Tensor_storage_offset", "as set_"},
};
// Operators with gradients that no line of the samples can call.
const std::map<std::string, std::string> kElsewhere = {
    {"higher_order::cond", "takes functions: higher_order_test.cpp"},
    {"higher_order::map_impl", "as cond"},
    {"higher_order::scan", "as cond"},
    {"higher_order::while_loop", "as cond"},
    {"higher_order::flex_attention", "as cond"},
    {"higher_order::auto_functionalized_v2", "takes an operator: auto_functionalized_test.cpp"},
    {"_sparse_coo_tensor_unsafe", "sparse layouts are on the reference's list; A021 has gradients that are sparse"},
    {"_coalesce", "as _sparse_coo_tensor_unsafe"},
    {"_to_dense", "as _sparse_coo_tensor_unsafe"},
    {"sparse_mask", "as _sparse_coo_tensor_unsafe"},
    {"detach_", "its result has no gradient; A073"},
};
constexpr int kCompared = 2446;

// Which of the arguments that can have gradients is to have one; kAll: all of them.
using Tracked = int;
constexpr Tracked kAll = -1;

// The tensors among the arguments.
TensorList arguments_of(const Sample& s, Tracked tracked) {
  TensorList l;
  int next = 0;
  for (const Tensor& t : testing::tensors_of(make_call(s, Make::real, 0).args, testing::is_defined)) {
    const bool is_tracked = is_differentiable(t.dtype()) && (tracked == kAll || tracked == next++);
    l.push_back(is_tracked ? make_alias(t, t->geom).requires_grad_() : t);
  }
  return l;
}
int differentiable_arguments(const Sample& s) {
  int count = 0;
  for (const Tensor& t : arguments_of(s, kAll)) count += t.requires_grad();
  return count;
}

CheckResult check_sample(const Sample& s, Tracked tracked, const AotOptions& options) {
  const testing::SampleCall c = make_call(s, Make::real, 0);
  const ExhaustiveSample sample{
      .f =
          [&](const TensorList& in) {
            TensorList out;
            for_each_tensor(call(*c.op, testing::with_tensors(c.args, testing::is_defined, in)),
                            [&](const Tensor& t) { out.push_back(t); });
            return out;
          },
      .arguments = [&] { return arguments_of(s, tracked); },
      // Of cumprod_backward one argument is the result for another one, by which the gradient of
      // zeros is told.
      .other_data = !s.op_name.starts_with("max_unpool") && s.op_name != "cumprod_backward",
  };
  return ExhaustiveCheck(sample, options).run();
}
// Some arguments may not require grad, such as running statistics.
CheckResult check_sample(const Sample& s, const AotOptions& options) {
  CheckResult r = check_sample(s, kAll, options);
  for (int k = 0; r.outcome == CheckResult::Outcome::skipped && k < differentiable_arguments(s); k++)
    r = check_sample(s, k, options);
  return r;
}

class ExhaustiveSamples : public NoLeaks {
 protected:
  void check_samples(const AotOptions& options) {
    int compared = 0;
    std::set<std::string> excused, seen;
    std::map<std::string, std::string> skipped;  // why
    for (const std::string& path : testing::sample_files(INGOT_TEST_DATA "/../samples"))
      for (const Sample& s : testing::read_samples(path)) {
        const CheckResult r = check_sample(s, options);
        if (r.outcome == CheckResult::Outcome::skipped) {
          skipped.try_emplace(s.op_name, r.message);
          continue;
        }
        const std::string& excuse = kExcuses.contains(s.text) ? s.text : s.op_name;
        const bool failed = r.outcome == CheckResult::Outcome::failed, is_excused = kExcuses.contains(excuse);
        EXPECT_EQ(failed, is_excused) << s.where() << ": "
                                      << (failed ? r.message : "agrees now: take it off the table of excuses");
        compared += !failed;
        if (!failed) seen.insert(s.op_name);
        if (is_excused) excused.insert(excuse);
      }
    EXPECT_EQ(excused.size(), kExcuses.size()) << "an excuse is of no sample";
    EXPECT_EQ(compared, kCompared);
    for (const Op* o : all_ops())
      if (has_gradient_rule(*o->def) && !kExcuses.contains(o->name) && !kElsewhere.contains(o->name) && !seen.contains(o->name)) {
        EXPECT_TRUE(is_without_gradient(skipped[o->name])) << "no sample of " << o->name << " was compared: " << skipped[o->name];
      }
  }
  // Every operator that the project differentiates by a rule of its own is among the samples that
  // were compared, but for rules that refuse, or that are for results without a gradient, and for
  // what no graph is made of (X06).
  static bool has_gradient_rule(const OpDef& d) { return d.vjp || (d.form == Form::view && d.view.inverse); }
  static bool is_without_gradient(const std::string& why) {
    for (const char* words :
         {"is not implemented", "there is nothing to differentiate", "does not require grad and does not have a",
          "the size of a result depends on data; it cannot be traced"})
      if (why.starts_with("X06: ") && why.find(words) != why.npos) return true;
    return false;
  }
};
class ExhaustiveSamplesStatic : public ExhaustiveSamples {};
class ExhaustiveSamplesDynamic : public ExhaustiveSamples {};

TEST_F(ExhaustiveSamplesStatic, A193_X01_X06) { check_samples(static_min_cut()); }
TEST_F(ExhaustiveSamplesDynamic, A194_X01_X06) { check_samples(dynamic_min_cut()); }

}  // namespace
}  // namespace ingot::aot
