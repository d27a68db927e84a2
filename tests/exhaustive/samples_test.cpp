// A193, A194 on the project's own samples (tests/samples): operators that no golden case has gradients of, other dtypes, in-place and out=
// forms, strided and expanded arguments.
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

// Operators whose samples need not agree. One whose samples do must leave the table.
const std::map<std::string, std::string> kExcuses = {
    {"narrow.Tensor", "on the reference's list: where the result begins is read from an argument"},
    {"tensor_split.tensor_indices_or_sections", "on the reference's list: how many results there are is read from an argument"},
    {"lstm.data", "M01: packed sequences are skipped; the program depends on their lengths"},
    {"gru.data", "as lstm.data"},
    {"rnn_tanh.data", "as lstm.data"},
    {"rnn_relu.data", "as lstm.data"},
    {"set_", "R032: a set_ of an argument that does not stay in the graph is refused"},
    {"set_.source_Tensor", "as set_"},
    {"set_.source_Tensor_storage_offset", "as set_"},
};
constexpr int kLeastCompared = 2350;

// Which of the arguments that can have gradients are to have them.
enum class Tracked { all, first };

// The tensors among the arguments.
TensorList arguments_of(const Sample& s, Tracked tracked) {
  TensorList l;
  bool any = false;
  for (const Tensor& t : testing::tensors_of(make_call(s, Make::real, 0).args, testing::is_defined)) {
    const bool is_tracked = is_differentiable(t.dtype()) && (tracked == Tracked::all || !any);
    l.push_back(is_tracked ? make_alias(t, t->geom).requires_grad_() : t);
    any = any || is_tracked;
  }
  return l;
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
      .other_data = !s.op_name.starts_with("max_unpool"),
  };
  return ExhaustiveCheck(sample, options).run();
}
// Some arguments may not require grad, such as running statistics.
CheckResult check_sample(const Sample& s, const AotOptions& options) {
  const CheckResult r = check_sample(s, Tracked::all, options);
  return r.outcome == CheckResult::Outcome::skipped ? check_sample(s, Tracked::first, options) : r;
}

class ExhaustiveSamples : public NoLeaks {
 protected:
  void check_samples(const AotOptions& options) {
    int compared = 0;
    std::set<std::string> excused, seen;
    for (const std::string& path : testing::sample_files(INGOT_TEST_DATA "/../samples"))
      for (const Sample& s : testing::read_samples(path)) {
        const CheckResult r = check_sample(s, options);
        if (r.outcome == CheckResult::Outcome::skipped) continue;
        const bool failed = r.outcome == CheckResult::Outcome::failed, is_excused = kExcuses.contains(s.op_name);
        EXPECT_EQ(failed, is_excused) << s.where() << ": "
                                      << (failed ? r.message : "agrees now: take it off the table of excuses");
        compared += !failed;
        if (!failed) seen.insert(s.op_name);
        if (is_excused) excused.insert(s.op_name);
      }
    EXPECT_EQ(excused.size(), kExcuses.size()) << "an excuse is of no sample";
    EXPECT_GE(compared, kLeastCompared);
    for (const Op* o : all_ops())
      if (has_gradient_rule(*o->def) && !kExcuses.contains(o->name)) {
        EXPECT_TRUE(seen.contains(o->name)) << "no sample of " << o->name << " was compared";
      }
  }
  // Every operator that the project differentiates by a rule of its own is to be among the samples that were compared.
  static bool has_gradient_rule(const OpDef& d) { return d.vjp || (d.form == Form::view && d.inverse); }
};
class ExhaustiveSamplesStatic : public ExhaustiveSamples {};
class ExhaustiveSamplesDynamic : public ExhaustiveSamples {};

TEST_F(ExhaustiveSamplesStatic, A193_X01_X06) { check_samples(static_min_cut()); }
TEST_F(ExhaustiveSamplesDynamic, A194_X01_X06) { check_samples(dynamic_min_cut()); }

}  // namespace
}  // namespace ingot::aot
