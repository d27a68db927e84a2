// Every family of ops that wide programs are made of, and every type of numbers, is really drawn: a
// maker that no program comes from finds nothing, and nobody would miss it.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "ingot/ingot.hpp"
#include "support/random_program.hpp"
#include "support/wide_makers.hpp"

namespace ingot::testing {
namespace {

// Ops that no other family of the table has a part in: where one of them is called, the family's
// maker made the call.
struct OwnOps {
  const char* family;
  std::set<std::string> ops;
};
const std::vector<OwnOps>& own_ops() {
  static const std::vector<OwnOps> all = {
      {"unary", {"sin", "cos", "tanh", "sigmoid", "exp", "erf", "gelu", "square", "neg", "log1p", "atan", "expm1"}},
      {"unary, kinked", {"relu", "sign", "floor", "round", "trunc", "hardtanh", "leaky_relu", "isnan", "logical_not", "clamp"}},
      {"binary", {"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "atan2", "add.Scalar", "rsub.Scalar", "addcmul"}},
      {"binary, kinked", {"maximum", "minimum", "eq.Tensor", "lt.Tensor", "gt.Scalar", "fmax", "where.self", "logical_and"}},
      {"reduction", {"sum.dim_IntList", "mean.dim", "var.correction", "logsumexp", "cumsum", "sum", "linalg_vector_norm"}},
      {"reduction, kinked", {"amax", "amin", "argmax", "any.dim", "all.dim", "max.dim", "cummax", "count_nonzero.dim_IntList"}},
      {"normalization and loss",
       {"softmax.int", "log_softmax.int", "layer_norm", "mse_loss", "group_norm", "cross_entropy_loss"}},
      {"product", {"mm", "bmm", "addmm", "linear", "outer", "dot", "scaled_dot_product_attention", "matmul"}},
      {"convolution", {"conv2d", "conv_transpose2d.input"}},
      {"pooling", {"avg_pool2d", "adaptive_avg_pool2d", "upsample_nearest2d", "upsample_bilinear2d", "avg_pool1d"}},
      {"pooling, kinked", {"max_pool2d", "max_pool2d_with_indices", "adaptive_max_pool2d"}},
      {"complex", {"complex", "real", "imag", "view_as_real", "conj", "resolve_conj", "_conj_physical"}},
      {"random", {"dropout", "rand_like", "randn_like", "bernoulli.p", "native_dropout"}},
      {"factory", {"zeros_like", "ones_like", "full_like", "arange", "zeros", "eye", "scalar_tensor"}},
      {"control flow", {"cond", "map", "scan", "while_loop"}},
      {"view", {"view", "transpose.int", "select.int", "slice.Tensor", "diagonal", "unbind.int", "unsqueeze", "expand"}},
      {"copy", {"cat", "stack", "flip", "roll", "repeat", "constant_pad_nd", "tril", "triu", "clone", "diag_embed"}},
      {"indexing", {"index_select", "gather", "index.Tensor", "embedding", "take", "masked_fill.Scalar"}},
      {"indexing, sums", {"scatter_add", "index_add", "scatter_reduce.two", "trapezoid.dx"}},
      {"indexing, moves", {"scatter.value", "index_fill.int_Scalar", "select_scatter", "slice_scatter", "one_hot"}},
      {"sort", {"sort", "sort.stable", "topk", "argsort", "bucketize.Tensor"}},
      {"conversion", {"_to_copy", "to.dtype"}},
      {"write",
       {"mul_.Tensor", "sub_.Tensor", "div_.Tensor", "mul_.Scalar", "sin_", "tanh_", "sin.out", "add.out", "index_add_"}},
      {"write, moves", {"zero_", "fill_.Scalar", "masked_fill_.Scalar", "index_fill_.int_Scalar"}},
      {"write, kinked", {"relu_", "clamp_"}},
      {"view in place", {"t_", "unsqueeze_", "transpose_", "squeeze_"}},
  };
  return all;
}
// Of what networks have besides. Convolutions of two dims, and control flow of float32 and float64,
// may come from the families above.
const std::vector<OwnOps>& own_ops_of_layers() {
  static const std::vector<OwnOps> all = {
      {"convolution in groups", {"conv1d", "conv3d", "conv_transpose1d", "conv_transpose3d.input"}},
      {"batch normalization", {"batch_norm", "instance_norm"}},
      {"scatter", {"scatter.src", "scatter_.src"}},
      {"buffer", {"lerp_.Scalar"}},
      {"control flow on every type", {"cond of halves", "map of halves", "scan of halves", "while_loop of halves"}},
  };
  return all;
}

std::vector<std::string> names_of(const std::vector<Family>& families) {
  std::vector<std::string> names;
  for (const Family& f : families) names.emplace_back(f.name);
  return names;
}

// What the programs of some seeds call, and the types of what is called with it. Calls with a half
// at the end are counted once more: control flow carries it, whatever decides.
struct Drawn {
  std::map<std::string, int> ops;
  std::set<DType> dtypes;
};
Drawn drawn_by(const WideOptions& options, uint64_t seeds) {
  Drawn drawn;
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    const Program p = wide_program(seed, options);
    manual_seed(p.seed);
    const TensorList pool = run_all(p, make_inputs(p).inputs);
    for (const Step& s : p.body) {
      drawn.ops[s.op]++;
      bool ends_in_half = false;
      for (const StepArg& a : s.args)
        for (const int k : a.tensors) {
          if (k < 0) continue;
          const DType t = pool[static_cast<std::size_t>(k)].dtype();
          drawn.dtypes.insert(t);
          ends_in_half = t == DType::f16 || t == DType::bf16;
        }
      if (ends_in_half) drawn.ops[s.op + " of halves"]++;
    }
  }
  return drawn;
}

void expect_each(const std::vector<OwnOps>& families, const Drawn& drawn) {
  for (const OwnOps& f : families) {
    int calls = 0;
    for (const std::string& op : f.ops)
      if (const auto at = drawn.ops.find(op); at != drawn.ops.end()) calls += at->second;
    EXPECT_GT(calls, 0) << "no call came from the family '" << f.family << "'";
  }
}

TEST(WidePrograms, TheTableOfThisTestHasEveryFamily) {
  std::vector<std::string> listed, of_layers;
  std::map<std::string, int> families_of;
  for (const OwnOps& f : own_ops()) listed.emplace_back(f.family);
  EXPECT_EQ(listed, names_of(families()));
  of_layers = listed;
  for (const OwnOps& f : own_ops_of_layers()) of_layers.emplace_back(f.family);
  EXPECT_EQ(of_layers, names_of(layer_families()));
  for (const auto* table : {&own_ops(), &own_ops_of_layers()})
    for (const OwnOps& f : *table)
      for (const std::string& op : f.ops) EXPECT_EQ(++families_of[op], 1) << op << " is in two rows";
}

constexpr uint64_t kSeeds = 500;

// Types by hand: one that is added to the makers is to be added here.
const std::set<DType> kDrawnTypes = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32,
                                     DType::i16, DType::u8,  DType::b8,  DType::c64,  DType::c128};

TEST(WidePrograms, EveryFamilyAndTypeIsDrawn) {
  const Drawn drawn = drawn_by({}, kSeeds);
  expect_each(own_ops(), drawn);
  EXPECT_EQ(drawn.dtypes, kDrawnTypes);
}
TEST(WidePrograms, EveryFamilyAndTypeIsDrawnWithOpenSizes) {
  const Drawn drawn = drawn_by({.open = true}, kSeeds);
  expect_each(own_ops(), drawn);
  EXPECT_EQ(drawn.dtypes, kDrawnTypes);
}
TEST(WidePrograms, EveryFamilyOfLayersIsDrawn) {
  const Drawn drawn = drawn_by({.layers = true}, kSeeds);
  expect_each(own_ops(), drawn);
  expect_each(own_ops_of_layers(), drawn);
  for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64}) EXPECT_TRUE(drawn.dtypes.contains(t)) << t;
}

// Nothing is written, and nothing is drawn at random, where that is not wanted.
TEST(WidePrograms, FamiliesThatAreNotWantedAreNotDrawn) {
  const Drawn drawn = drawn_by({.writes = false, .random = false}, 100);
  for (const OwnOps& f : own_ops()) {
    const std::string family = f.family;
    if (!family.starts_with("write") && family != "view in place" && family != "random") continue;
    for (const std::string& op : f.ops) EXPECT_FALSE(drawn.ops.contains(op)) << op;
  }
}

}  // namespace
}  // namespace ingot::testing
