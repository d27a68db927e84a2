// vmap equals the loop over slices, for every sample of tests/samples: each tensor argument mapped
// alone, then all together.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"
#include "ops/batch/rules.hpp"
#include "support/sample.hpp"
#include "tensor/rows.hpp"

namespace ingot::testing {
namespace {

constexpr int kBatch = 3;

std::set<std::string>& looped() {
  static std::set<std::string> ops;
  return ops;
}
void note_loop(const std::string& text) {
  const std::string before = "batching rule for ";
  const std::size_t at = text.find(before) + before.size();
  looped().insert(text.substr(at, text.find(". Please") - at));
}

// The sample's call for each member: the same geometry, other values.
std::vector<SampleCall> member_calls(const Sample& s) {
  std::vector<SampleCall> calls;
  for (int m = 0; m < kBatch; m++) {
    Sample other = s;
    other.line += 1000 * m;
    calls.push_back(make_call(other, Make::real, 0));
  }
  return calls;
}
TensorList tensors_of(Args args) {
  TensorList l;
  for (const Value& v : args) for_each_tensor(v, [&](const Tensor& t) { l.push_back(t); });
  return l;
}
Values with_tensors(Args args, const TensorList& replacement) {
  std::size_t k = 0;
  return map_tensors(args, [&](const Tensor&) { return replacement[k++]; });
}
TensorList results_of(const Value& r) {
  TensorList l;
  for_each_tensor(r, [&](const Tensor& t) { l.push_back(t); });
  return l;
}

std::vector<double> numbers(const Tensor& t) {
  const DType wide = t.is_complex() ? DType::c128 : DType::f64;
  const Tensor dense = make_tensor(Geometry::contiguous(t.sizes(), wide));
  copy_elements(dense, t);
  const auto n = static_cast<std::size_t>(dense.numel().value()) * (t.is_complex() ? 2 : 1);
  return {dense.data<double>(), dense.data<double>() + n};
}
double tolerance(DType t) {
  switch (t) {
    case DType::f64:
    case DType::c128: return 1e-10;
    case DType::f32:
    case DType::c64: return 2e-5;
    case DType::f16: return 2e-2;
    default: return is_floating(t) ? 1e-1 : 0;
  }
}
void expect_equal(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(to_text(got.sizes()), to_text(want.sizes())) << what;
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_FALSE(got->is_fake()) << what << ": a batched tensor was taken for a tensor without bytes";
  const std::vector<double> a = numbers(got), b = numbers(want);
  const double tol = tolerance(want.dtype());
  for (std::size_t i = 0; i < a.size(); i++) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), tol * (1 + std::abs(b[i])))
        << what << ": element " << i << " is " << a[i] << ", the loop's is " << b[i];
  }
}

// Which tensors of the call are mapped, and along which dim the members lie.
struct Mapping {
  std::vector<bool> mapped;
  int64_t dim = 0;
};
std::vector<Mapping> mappings(std::size_t tensors) {
  std::vector<Mapping> l;
  for (std::size_t k = 0; k < tensors; k++) {
    l.push_back({std::vector<bool>(tensors), 0});
    l.back().mapped[k] = true;
  }
  if (tensors > 1) l.push_back({std::vector<bool>(tensors, true), 0});
  l.push_back({std::vector<bool>(tensors, true), -1});
  return l;
}

std::string text_of(const Sample& s, const Mapping& m) {
  std::string t = s.where() + " mapped:";
  for (const bool b : m.mapped) t += b ? " yes" : " no";
  return t + " dim " + std::to_string(m.dim);
}

// Places in a storage count from a member's own first element: as_strided sees it as a storage of
// its own.
bool looks_at_storage(const SampleCall& c) { return c.op->schema.index_of("storage_offset") >= 0; }
Tensor member_of(const SampleCall& c, const Tensor& batch, int64_t dim, int64_t b) {
  const Tensor member = batch.select(dim, b);
  return looks_at_storage(c) ? member.clone() : member;
}

// A tensor that all members share cannot be written, and set_ or resize_ of a member is refused
// (vmap_test.cpp).
bool is_refused(const SampleCall& c, const Mapping& m) {
  if (c.op->def->effects.rewires != Rewires::nothing) return true;
  bool refused = false;
  std::size_t k = 0;
  for (std::size_t i = 0; i < c.args.size(); i++)
    for_each_tensor(c.args[i], [&](const Tensor&) { refused |= !m.mapped[k++] && c.op->schema.args[i].type.writes(); });
  return refused;
}

void check_mapping(const Sample& s, const std::vector<SampleCall>& calls, const Mapping& m) {
  std::vector<TensorList> members;  // by member
  for (const SampleCall& c : calls) members.push_back(tensors_of(c.args));
  const std::size_t n = m.mapped.size();
  TensorList arguments;
  VmapOptions options{.in_dims = {}, .randomness = Randomness::different};
  for (std::size_t k = 0; k < n; k++) {
    if (!m.mapped[k]) {
      arguments.push_back(members[0][k]);
      options.in_dims.push_back(std::nullopt);
      continue;
    }
    TensorList l;
    for (const TensorList& of_member : members) l.push_back(of_member[k]);
    arguments.push_back(aten<"stack">(l, m.dim));
    options.in_dims.push_back(m.dim);
  }
  const auto f = [&](const TensorList& in) { return results_of(call(*calls[0].op, with_tensors(calls[0].args, in))); };
  TensorList copies;  // an op that writes must not write what the loop has read
  for (const Tensor& t : arguments) copies.push_back(calls[0].op->mutates() ? t.clone() : t);
  std::vector<TensorList> want;  // by member
  try {
    for (int b = 0; b < kBatch; b++) {
      TensorList slice;
      for (std::size_t k = 0; k < n; k++)
        slice.push_back(m.mapped[k] ? member_of(calls[0], arguments[k], m.dim, b) : arguments[k]);
      want.push_back(f(slice));
    }
  } catch (const UserError&) {  // a view that the members' strides do not allow
    EXPECT_THROW(vmap(f, options)(copies), UserError) << text_of(s, m);
    return;
  }
  const TensorList got = vmap(f, options)(copies);
  ASSERT_EQ(got.size(), want[0].size()) << text_of(s, m);
  for (std::size_t r = 0; r < got.size(); r++) {
    TensorList l;
    for (const TensorList& of_member : want) l.push_back(of_member[r]);
    if (calls[0].op->def->result.uninitialised) {
      EXPECT_EQ(to_text(got[r].sizes().sub(1, got[r].sizes().size())), to_text(l[0].sizes())) << text_of(s, m);
      continue;
    }
    expect_equal(got[r], aten<"stack">(l, 0), text_of(s, m) + " result " + std::to_string(r));
  }
}

// A vmap in a vmap: two batches, the second in the other order, equal the two mapped one after the
// other.
void check_nested(const Sample& s, const std::vector<SampleCall>& calls) {
  if (calls[0].op->mutates() || calls[0].op->def->result.uninitialised) return;
  TensorList batches, turned, both;
  for (std::size_t k = 0; k < tensors_of(calls[0].args).size(); k++) {
    TensorList l;
    for (const SampleCall& c : calls) l.push_back(tensors_of(c.args)[k]);
    batches.push_back(aten<"stack">(l, 0));
    turned.push_back(aten<"flip">(batches.back(), Shape{0}));
    both.push_back(aten<"stack">(TensorList{batches.back(), turned.back()}, 0));
  }
  const auto f = [&](const TensorList& in) { return results_of(call(*calls[0].op, with_tensors(calls[0].args, in))); };
  const TensorFunction once = vmap(f, {.randomness = Randomness::different});
  TensorList first, second;
  try {
    first = once(batches);
    second = once(turned);
  } catch (const UserError&) {
    return;  // check_mapping has compared the refusals
  }
  const TensorList got = vmap(once, {.randomness = Randomness::different})(both);
  ASSERT_EQ(got.size(), first.size()) << s.where();
  for (std::size_t r = 0; r < got.size(); r++)
    expect_equal(got[r], aten<"stack">(TensorList{first[r], second[r]}, 0), s.where() + " nested");
}

// The gradient of a weighted sum of the results: through vmap, and through the loop. All tensors
// are mapped.
void check_gradients(const Sample& s, const std::vector<SampleCall>& calls) {
  const auto differentiable = [](const Tensor& t) { return t.dtype() == DType::f64 || t.dtype() == DType::c128; };
  TensorList batches, leaves;
  const std::size_t n = tensors_of(calls[0].args).size();
  for (std::size_t k = 0; k < n; k++) {
    TensorList l;
    for (const SampleCall& c : calls) l.push_back(tensors_of(c.args)[k]);
    Tensor batch = aten<"stack">(l, 0);
    if (differentiable(batch)) leaves.push_back(batch.requires_grad_());
    batches.push_back(batch);
  }
  if (leaves.empty() || calls[0].op->mutates()) return;
  const auto f = [&](const TensorList& in) { return results_of(call(*calls[0].op, with_tensors(calls[0].args, in))); };
  TensorList looped;
  std::vector<TensorList> of_members;
  try {
    for (int b = 0; b < kBatch; b++) {
      TensorList slice;
      for (const Tensor& t : batches) slice.push_back(member_of(calls[0], t, 0, b));
      of_members.push_back(f(slice));
    }
  } catch (const UserError&) {
    return;  // check_mapping has compared the refusals
  }
  const TensorList mapped = vmap(f, {.randomness = Randomness::different})(batches);
  for (std::size_t r = 0; r < mapped.size(); r++) {
    TensorList l;
    for (const TensorList& m : of_members) l.push_back(m[r]);
    looped.push_back(aten<"stack">(l, 0));
  }
  const auto gradients = [&](const TensorList& results) {
    TensorList outs, weights;
    for (std::size_t r = 0; r < results.size(); r++) {
      if (!looped[r].requires_grad() || !differentiable(looped[r])) continue;
      const Tensor w =
          aten<"sin">(aten<"add.Scalar">(aten<"arange">(results[r].numel(), DType::f64), 1 + static_cast<double>(r)));
      outs.push_back(results[r]);
      weights.push_back(aten<"to.dtype">(aten<"reshape">(w, results[r].sizes()), results[r].dtype()));
    }
    return outs.empty() ? TensorList{} : grad(outs, leaves, weights, {.allow_unused = true});
  };
  const TensorList want = gradients(looped), got = gradients(mapped);
  ASSERT_EQ(got.size(), want.size()) << s.where();
  for (std::size_t k = 0; k < want.size(); k++) {
    const Tensor zeros = aten<"zeros_like">(leaves[k]);
    expect_equal(got[k].defined() ? got[k] : zeros, want[k].defined() ? want[k] : zeros,
                 s.where() + ": gradient of leaf " + std::to_string(k));
  }
}

bool is_tensor_function(const Sample& s) {
  for (const SchemaArg& r : op(s.op_name).schema.results)
    if (r.type.kind != Kind::tensor) return false;
  return true;
}

struct Counts {
  int checked = 0, skipped = 0;
};
Counts& counts() {
  static Counts c;
  return c;
}

class VmapSampleTest : public ::testing::Test {
 public:
  explicit VmapSampleTest(std::string path) : path_(std::move(path)) {}
  void TestBody() override {
    const BatchWarningSink before_sink = set_batch_warning_sink(note_loop);
    const int64_t before = TensorImpl::live();
    for (const Sample& s : read_samples(path_)) {
      const std::vector<SampleCall> calls = member_calls(s);
      const std::size_t n = tensors_of(calls[0].args).size();
      if (n == 0 || s.has("random") || s.has("nofake") || s.has("novmap") || !is_tensor_function(s)) {
        counts().skipped++;
        continue;
      }
      for (const Mapping& m : mappings(n)) {
        if (is_refused(calls[0], m) || (looks_at_storage(calls[0]) && m.dim != 0)) {
          counts().skipped++;
          continue;
        }
        try {
          check_mapping(s, calls, m);
        } catch (const std::exception& e) {
          ADD_FAILURE() << text_of(s, m) << ": " << e.what();
        }
        counts().checked++;
      }
      try {
        if (calls[0].op->def->effects.rewires == Rewires::nothing) check_nested(s, calls);
        if (!s.has("nograd")) check_gradients(s, calls);
      } catch (const std::exception& e) {
        ADD_FAILURE() << s.where() << " nested or gradients: " << e.what();
      }
    }
    set_batch_warning_sink(before_sink);
    EXPECT_EQ(TensorImpl::live(), before) << "tensors are left alive: a reference cycle";
  }

 private:
  std::string path_;
};

// Ops that loop are right but slow. Their number may only fall: a new op gets a rule, or its form
// says how it is batched.
class FewLoops : public ::testing::Test {
 public:
  void TestBody() override {
    constexpr std::size_t kAllowed = 55;
    std::string names;
    for (const std::string& name : looped()) names += " " + name;
    EXPECT_LE(looped().size(), kAllowed) << "ops that loop over the members:" << names;
    RecordProperty("looped", names);
    RecordProperty("checked", counts().checked);
    RecordProperty("skipped", counts().skipped);
  }
};

const bool registered = [] {
  const std::string folder = (std::filesystem::path(INGOT_TEST_DATA).parent_path() / "samples").string();
  for (const std::string& path : sample_files(folder)) {
    std::string family = path.substr(path.rfind('/') + 1);
    family.resize(family.size() - 4);
    ::testing::RegisterTest("VmapSamples", family.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [path]() -> ::testing::Test* { return new VmapSampleTest(path); });
  }
  ::testing::RegisterTest("VmapSamples", "FewOpsLoop", nullptr, nullptr, __FILE__, __LINE__,
                          []() -> ::testing::Test* { return new FewLoops; });
  return true;
}();

}  // namespace
}  // namespace ingot::testing
