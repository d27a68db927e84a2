// The generated functions of the host: one an op, by one convention (I081, I082); and operators of
// a library's own (I088).
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <sstream>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "host/torch/handle.hpp"
#include "host/torch/host_op_call.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

using Doubles = std::vector<double>;

Tensor counting(const Shape& sizes) {
  const Tensor t = make_tensor(Geometry::contiguous(sizes, DType::f32));
  for (int64_t i = 0; i < t.numel().value(); i++) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

// A handle that goes with the test.
class Handle {
 public:
  Handle() = default;
  explicit Handle(const Tensor& t) : handle_(new_handle(t)) {}
  ~Handle() { aoti_torch_delete_tensor_object(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator AtenTensorHandle() const { return handle_; }
  AtenTensorHandle* operator&() { return &handle_; }
  const Tensor& tensor() const { return handle_->tensor; }
  Doubles values() const { return handle_->tensor.to_vector<double>(); }

 private:
  AtenTensorHandle handle_ = nullptr;
};

// The process's function of that name, called with the types that PyTorch's header gives its
// arguments. Those of host_ops.list are defined for pointers to anything: the same to a C caller,
// but not to a sanitizer that sees both sides.
template <class T>
auto passed(T value) {
  if constexpr (std::is_pointer_v<T>) return const_cast<void*>(static_cast<const void*>(value));
  else return value;
}
template <class... A>
auto function(const char* name) {
  void* f = dlsym(RTLD_DEFAULT, name);
  EXPECT_NE(f, nullptr) << name;
  const auto rows = host_op_rows();
  const bool is_row = std::any_of(rows.begin(), rows.end(), [&](const HostOpRow& row) { return row.function == name; });
  return [f, is_row](A... arguments) {
    if (is_row) return reinterpret_cast<AOTITorchError (*)(decltype(passed(std::declval<A>()))...)>(f)(passed(arguments)...);
    return reinterpret_cast<AOTITorchError (*)(A...)>(f)(arguments...);
  };
}

TEST(HostOps, I081_I082_EveryRowIsAFunctionThatFitsItsOp) {
  EXPECT_EQ(host_op_rows().size(), 152u);
  for (const HostOpRow& row : host_op_rows()) {
    EXPECT_NE(dlsym(RTLD_DEFAULT, std::string(row.function).c_str()), nullptr) << row.function;
    const Op* op = find_op(row.op);
    ASSERT_NE(op, nullptr) << row.op;
    std::string letters;
    for (const char c : row.arguments)
      if (c != ',' && c != ' ') letters += c;
    EXPECT_EQ(letters, host_signature(*op)) << row.function;
    std::string name(row.op);  // "sort.stable" → sort_stable
    for (char& c : name)
      if (c == '.') c = '_';
    EXPECT_TRUE(row.function == "aoti_torch_cpu_" + name || row.function == "aoti_torch_aten_" + name) << row.function;
  }
}

// What the specification lists for the CPU, but for what Ingot has no op of: those are the second
// list, and are not there, so that a library which needs one is refused when it is loaded.
TEST(HostOps, I081_TheFunctionsOfTheCpu) {
  std::istringstream present(R"(
      _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward _cdist_forward
      _cdist_backward _efficientzerotensor _embedding_bag _embedding_bag_dense_backward _embedding_bag_forward_only
      _embedding_bag_per_sample_weights_backward _fft_c2c _fft_r2c _fused_rms_norm _int_mm_out _pdist_forward _pdist_backward
      _addmm_activation _scaled_mm _scaled_mm_out _weight_int8pack_mm _segment_reduce_backward _trilinear abs adaptive_max_pool2d adaptive_max_pool2d_backward adaptive_max_pool3d
      adaptive_max_pool3d_backward add_Scalar add_Tensor addbmm addmm_out addmv angle avg_pool2d avg_pool2d_backward avg_pool3d
      avg_pool3d_backward baddbmm_out bernoulli__float bernoulli__Tensor bmm_out bucketize_Tensor cat cholesky_inverse
      cholesky_solve convolution convolution_backward cummax cummin cumprod cumsum exponential fill__Scalar fractional_max_pool2d
      fractional_max_pool2d_backward fractional_max_pool3d fractional_max_pool3d_backward gcd geqrf grid_sampler_2d_backward
      hann_window histc index_Tensor index_put index_reduce kthvalue logcumsumexp lu_unpack masked_scatter
      masked_scatter_backward masked_select max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices
      max_pool3d_with_indices_backward max_unpool2d max_unpool3d median mm_out mode mul_Scalar mul_Tensor nanmedian narrow
      native_dropout nonzero nonzero_static normal_functional ormqr pad permute polar pow_Scalar pow_Tensor_Scalar
      pow_Tensor_Tensor rand rand_generator randint randint_generator randint_low randint_low_out randn randn_generator randperm
      repeat_interleave_Tensor replication_pad1d_backward replication_pad2d_backward reshape resize_ resize_as_
      scatter_reduce_two_out scatter_src_out scatter_value_out searchsorted_Scalar searchsorted_Tensor segment_reduce
      set__source_Tensor slice_Tensor soft_margin_loss_backward sort sort_stable squeeze_dim topk triangular_solve uniform
      upsample_bicubic2d_backward upsample_linear1d_backward upsample_trilinear3d_backward view_as_complex view_as_real view_dtype
      _histogramdd_from_bin_cts histogram_bin_ct _scaled_dot_product_flash_attention_for_cpu
      _scaled_dot_product_flash_attention_for_cpu_backward _fused_moving_avg_obs_fq_helper
      _fused_moving_avg_obs_fq_helper_functional _grouped_mm mkldnn_rnn_layer)");
  for (std::string name; present >> name;) EXPECT_NE(dlsym(RTLD_DEFAULT, ("aoti_torch_cpu_" + name).c_str()), nullptr) << name;
  for (const char* name : {"amax", "fill__Scalar", "full", "narrow", "new_empty", "new_zeros", "pad", "subtract_Tensor"})
    EXPECT_NE(dlsym(RTLD_DEFAULT, (std::string("aoti_torch_aten_") + name).c_str()), nullptr) << name;
  std::istringstream absent(R"(
      _scaled_dot_product_fused_attention_overrideable _scaled_dot_product_fused_attention_overrideable_backward
      _to_sparse to_sparse _dyn_quant_matmul_4bit _dyn_quant_pack_4bit_weight
      mkldnn__convolution_pointwise _linear_pointwise _qlinear_pointwise_tensor _mkl_linear
      _weight_int4pack_mm_cpu_tensor)");
  for (std::string name; absent >> name;) EXPECT_EQ(dlsym(RTLD_DEFAULT, ("aoti_torch_cpu_" + name).c_str()), nullptr) << name;
}

// What a library reads of the result is laid out as PyTorch (2.6, 2.14) lays it out: as the query,
// the sums with their heads inside.
TEST(HostOps, I081_AttentionIsLaidOutAsItsQuery) {
  const Tensor k = counting({2, 3, 5, 8}) * 0.01, plain = k.clone(), inside = counting({2, 5, 3, 8}).transpose(1, 2);
  const Tensor first_half = counting({2, 3, 5, 16}).narrow(3, 0, 8), spread = counting({1, 3, 5, 8}).expand({2, 3, 5, 8});
  const std::pair<Tensor, const char*> cases[] = {
      {plain, "[120, 40, 8, 1]"}, {inside, "[120, 8, 24, 1]"}, {first_half, "[120, 40, 8, 1]"}, {spread, "[120, 40, 8, 1]"}};
  for (const auto& [query, strides] : cases) {
    const TensorList r = atens<"_scaled_dot_product_flash_attention_for_cpu">(query, k, k, 0.0, false);
    EXPECT_EQ(to_text(r[0].strides()), strides) << to_text(query.strides());
    EXPECT_EQ(to_text(r[1].strides()), "[15, 1, 3]");
  }
}

// One layer of an LSTM: what lstm.input computes of it, forwards and backwards, with biases and
// without.
TEST(HostOps, I081_ALayerOfALstm) {
  using H = AtenTensorHandle;
  const auto part = [](Shape sizes) { return Handle(aten<"sin">(counting(sizes))); };
  const Handle x = part({4, 2, 6}), w_ih = part({20, 6}), w_hh = part({20, 5}), b_ih = part({20}), b_hh = part({20}),
               h = part({1, 2, 5}), c = part({1, 2, 5});
  for (const bool reverse : {false, true}) {
    for (const bool has_biases : {false, true}) {
      Handle made[4];
      EXPECT_EQ((function<H, H, H, H, H, H, H, int32_t, const int64_t*, int64_t, int64_t, int64_t, int64_t, int32_t, int32_t,
                          int32_t, int32_t, H*, H*, H*, H*>("aoti_torch_cpu_mkldnn_rnn_layer")(
                    x, w_ih, w_hh, b_ih, b_hh, h, c, reverse, nullptr, 0, 2, 5, 1, has_biases, 0, 0, 0, &made[0], &made[1],
                    &made[2], &made[3])),
                0);
      const TensorList weights = has_biases ? TensorList{w_ih.tensor(), w_hh.tensor(), b_ih.tensor(), b_hh.tensor()}
                                            : TensorList{w_ih.tensor(), w_hh.tensor()};
      const Tensor in = reverse ? aten<"flip">(x.tensor(), Shape{0}) : x.tensor();
      const TensorList want =
          atens<"lstm.input">(in, TensorList{h.tensor(), c.tensor()}, weights, has_biases, int64_t{1}, 0.0, false, false, false);
      EXPECT_EQ(made[0].values(), (reverse ? aten<"flip">(want[0], Shape{0}) : want[0]).to_vector<double>());
      EXPECT_EQ(made[1].values(), want[1].to_vector<double>());
      EXPECT_EQ(made[2].values(), want[2].to_vector<double>());
      EXPECT_EQ(to_text(made[0].tensor().strides()), "[10, 5, 1]");
    }
  }
}

TEST(HostOps, I082_NumbersListsAndSeveralResults) {
  using H = AtenTensorHandle;
  const Handle x(counting({2, 3}));
  Handle made[16];
  EXPECT_EQ((function<H, H, double, H*>("aoti_torch_cpu_add_Tensor")(x, x, 10.0, &made[0])), 0);
  EXPECT_EQ(made[0].values(), (Doubles{0, 11, 22, 33, 44, 55}));
  EXPECT_EQ((function<H, double, double, H*>("aoti_torch_cpu_add_Scalar")(x, 0.5, 2.0, &made[1])), 0);
  EXPECT_EQ(made[1].values(), (Doubles{1, 2, 3, 4, 5, 6}));
  const int64_t dims[] = {1, 0}, shape[] = {3, -1};
  EXPECT_EQ((function<H, const int64_t*, int64_t, H*>("aoti_torch_cpu_permute")(x, dims, 2, &made[2])), 0);
  EXPECT_EQ(made[2].values(), (Doubles{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(made[2].tensor().data_ptr(), x.tensor().data_ptr()) << "a view";
  EXPECT_EQ((function<H, const int64_t*, int64_t, H*>("aoti_torch_cpu_reshape")(x, shape, 2, &made[3])), 0);
  EXPECT_EQ(to_text(made[3].tensor().sizes()), "[3, 2]");
  EXPECT_EQ((function<H, int64_t, int64_t, int32_t, int32_t, H*, H*>("aoti_torch_cpu_topk")(x, 2, -1, 1, 1, &made[4], &made[5])),
            0);
  EXPECT_EQ(made[4].values(), (Doubles{2, 1, 5, 4}));
  EXPECT_EQ(made[5].values(), (Doubles{2, 1, 2, 1}));
  const H parts[] = {x, x};
  EXPECT_EQ((function<const H*, int64_t, int64_t, H*>("aoti_torch_cpu_cat")(parts, 2, 0, &made[6])), 0);
  EXPECT_EQ(to_text(made[6].tensor().sizes()), "[4, 3]");
  EXPECT_EQ((function<double, H, H*>("aoti_torch_cpu_pow_Scalar")(2.0, x, &made[7])), 0);
  EXPECT_EQ(made[7].values(), (Doubles{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ((function<H, int32_t, H*>("aoti_torch_cpu_view_dtype")(x, aoti_torch_dtype_int32(), &made[8])), 0);
  EXPECT_EQ(made[8].tensor().dtype(), DType::i32);
  const double range[] = {0, 6}, *range_at = range;
  Handle hist, edges;
  const auto histogram = function<H, int64_t, const double**, int64_t, H*, int32_t, H*, H*>("aoti_torch_cpu_histogram_bin_ct");
  EXPECT_EQ(histogram(x, 3, &range_at, 2, nullptr, 0, &hist, &edges), 0);
  EXPECT_EQ(hist.values(), (Doubles{2, 2, 2}));
  EXPECT_EQ(edges.values(), (Doubles{0, 2, 4, 6}));
  Handle found, other_edges;
  EXPECT_EQ(histogram(x, 5, nullptr, 0, nullptr, 0, &found, &other_edges), 0) << "an optional list that is not there";
  EXPECT_EQ(other_edges.values(), (Doubles{0, 1, 2, 3, 4, 5}));
}

TEST(HostOps, I082_OptionalArguments) {
  using H = AtenTensorHandle;
  const Handle x(counting({2, 3}));
  Handle made[8];
  const auto slice = function<H, int64_t, int64_t*, int64_t*, int64_t, H*>("aoti_torch_cpu_slice_Tensor");
  int64_t from = 1;
  EXPECT_EQ(slice(x, 1, &from, nullptr, 1, &made[0]), 0);
  EXPECT_EQ(made[0].values(), (Doubles{1, 2, 4, 5}));
  const auto search = function<H, H, int32_t, int32_t, const char**, H*, H*>("aoti_torch_cpu_searchsorted_Tensor");
  const Handle sorted(tensor({1., 3, 5})), wanted(tensor({3.})), order(tensor({0, 1, 2}, DType::i64));
  const char* side = "right";
  EXPECT_EQ(search(sorted, wanted, 1, 0, nullptr, nullptr, &made[1]), 0);
  EXPECT_EQ(made[1].values(), Doubles{1});
  EXPECT_EQ(made[1].tensor().dtype(), DType::i32);
  H sorter = order;
  EXPECT_EQ(search(sorted, wanted, 0, 0, &side, &sorter, &made[2]), 0);
  EXPECT_EQ(made[2].values(), Doubles{2});
  const auto pad = function<H, const int64_t*, int64_t, const char*, double*, H*>("aoti_torch_cpu_pad");
  const int64_t widths[] = {1, 0};
  double value = 9;
  EXPECT_EQ(pad(sorted, widths, 2, "constant", &value, &made[3]), 0);
  EXPECT_EQ(made[3].values(), (Doubles{9, 1, 3, 5}));
  const auto index = function<H, const H**, int64_t, H*>("aoti_torch_cpu_index_Tensor");
  const H last = order;
  const H* indices[] = {nullptr, &last};
  EXPECT_EQ(index(x, indices, 2, &made[4]), 0);
  EXPECT_EQ(made[4].values(), (Doubles{0, 1, 2, 3, 4, 5}));

  // A factory: dtype, layout and device may be left out; the generator is the default one.
  const auto rand = function<const int64_t*, int64_t, void*, int32_t*, int32_t*, int32_t*, int32_t, int32_t*, H*>(
      "aoti_torch_cpu_rand_generator");
  const int64_t sizes[] = {4};
  int32_t dtype = aoti_torch_dtype_float64(), layout = aoti_torch_layout_strided(), device = aoti_torch_device_type_cpu();
  EXPECT_EQ(rand(sizes, 1, nullptr, &dtype, &layout, &device, 0, nullptr, &made[5]), 0);
  EXPECT_EQ(made[5].tensor().dtype(), DType::f64);
  // Another one by its handle, of which a library may make more: they are one stream.
  AtenGeneratorOpaque stream{make_ref<Generator>(7)};
  AtenGeneratorHandle given = &stream, copy = nullptr;
  ASSERT_EQ(torch_new_generator_handle(given, &copy), 0);
  Handle drawn[2];
  EXPECT_EQ(rand(sizes, 1, &given, &dtype, nullptr, nullptr, 0, nullptr, &drawn[0]), 0);
  EXPECT_EQ(rand(sizes, 1, &copy, &dtype, nullptr, nullptr, 0, nullptr, &drawn[1]), 0);
  EXPECT_EQ(torch_delete_generator(copy), 0);
  const Ref<Generator> same = make_ref<Generator>(7);
  for (const Handle& h : drawn) EXPECT_EQ(h.values(), aten<"rand.generator">(Shape{4}, same, float64).to_vector<double>());
  EXPECT_EQ(stream.generator->state(), same->state());
  ::testing::internal::CaptureStderr();
  device = aoti_torch_device_type_cuda();
  EXPECT_EQ(rand(sizes, 1, nullptr, &dtype, &layout, &device, 0, nullptr, &made[6]), 1);
  layout = aoti_torch_layout_sparse_coo();
  EXPECT_EQ(rand(sizes, 1, nullptr, &dtype, &layout, nullptr, 0, nullptr, &made[6]), 1);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("Exception in aoti_torch: device type 1: this host has CPU tensors only"), std::string::npos) << log;
  EXPECT_NE(log.find("layout 1: this host has strided tensors only"), std::string::npos) << log;
  EXPECT_EQ(static_cast<H>(made[6]), nullptr);
}

TEST(HostOps, I082_ResultsAreWrittenIntoTheFirstHandleOrInPlace) {
  using H = AtenTensorHandle;
  const Handle x(counting({2, 2})), out(zeros({2, 2})), index(tensor({1}, DType::i64).view({1, 1}));
  EXPECT_EQ((function<H, H, H>("aoti_torch_cpu_mm_out")(out, x, x)), 0);
  EXPECT_EQ(out.values(), (Doubles{2, 3, 6, 11}));
  EXPECT_EQ((function<H, H, int64_t, H, double>("aoti_torch_cpu_scatter_value_out")(out, x, 0, index, 50.0)), 0);
  EXPECT_EQ(out.values(), (Doubles{0, 1, 50, 3}));
  EXPECT_EQ((function<H, double>("aoti_torch_cpu_fill__Scalar")(out, 7.0)), 0);
  EXPECT_EQ(out.values(), Doubles(4, 7));

  // The sizes that a library borrows are the new ones.
  const int64_t sizes[] = {3, 5};
  EXPECT_EQ((function<H, const int64_t*, int64_t, int32_t*>("aoti_torch_cpu_resize_")(out, sizes, 2, nullptr)), 0);
  int64_t *borrowed = nullptr, rank = 0;
  EXPECT_EQ(aoti_torch_get_dim(out, &rank), 0);
  EXPECT_EQ(aoti_torch_get_sizes(out, &borrowed), 0);
  EXPECT_EQ(std::vector(borrowed, borrowed + rank), (std::vector<int64_t>{3, 5}));

  EXPECT_EQ((function<H, int64_t, int64_t, const int64_t*, int64_t>("aoti_torch_cpu_randint_low_out")(out, 5, 8, sizes, 2)), 0);
  for (const double v : out.values()) EXPECT_TRUE(v == 5 || v == 6 || v == 7) << v;

  // A conjugate is a tensor of its own here: there are no bits to resolve.
  const Tensor z = full({1}, std::complex<double>(1, 2), {.dtype = DType::c64});
  const Handle conjugate(aten<"_conj">(z));
  Handle made;
  EXPECT_EQ((function<H, H, H*>("aoti_torch_cpu_mul_Tensor")(conjugate, conjugate, &made)), 0);
  EXPECT_EQ(aten<"view_as_real">(made.tensor()).to_vector<double>(), (Doubles{-3, -4}));
}

// PyTorch's own numbers.
TEST(HostOps, I080_I081_ProductsWithoutAnOpOfTheirOwn) {
  using H = AtenTensorHandle;
  const Handle a(tensor({1., 2, -3, 4}, {2, 2})), b(tensor({1, 0.5, 0, -1}, {2, 2})), s(tensor({0.5, -0.5, 0.25, 1}, {2, 2}));
  Handle made[12];
  const auto activation = function<H, H, H, double, double, int32_t, H*>("aoti_torch_cpu__addmm_activation");
  EXPECT_EQ(activation(s, a, b, 2, 3, 0, &made[0]), 0);
  EXPECT_EQ(made[0].values(), (Doubles{4, 0, 0, 0}));
  EXPECT_EQ(activation(s, a, b, 2, 3, 1, &made[1]), 0);
  EXPECT_NEAR(made[1].values()[0], 3.999873161315918, 1e-6);
  EXPECT_NEAR(made[1].values()[1], -1.6391277313232422e-07, 1e-7);
  const Handle packed(tensor({1., -2, 3, 4, 5, 6}, {3, 2}).to(DType::i8)), scales(tensor({0.5, 0.25, 2}));
  const auto int8 = function<H, H, H, H*>("aoti_torch_cpu__weight_int8pack_mm");
  EXPECT_EQ(int8(a, packed, scales, &made[2]), 0);
  EXPECT_EQ(made[2].values(), (Doubles{-1.5, 2.75, 34, -5.5, 1.75, 18})) << "by its formula: PyTorch needs whole blocks of 16";
  const Handle half(a.tensor().to(DType::bf16)), half_scales(scales.tensor().to(DType::bf16));
  EXPECT_NE(int8(half, packed, scales, &made[3]), 0) << "one type, as in PyTorch";
  EXPECT_EQ(int8(half, packed, half_scales, &made[3]), 0);
  EXPECT_EQ(made[3].tensor().dtype(), DType::bf16);

  const auto matrix = [](int64_t rows, int64_t columns, int modulus, int shift) {
    const Tensor t = counting({rows, columns});
    for (int64_t i = 0; i < rows * columns; i++) t.data<float>()[i] = static_cast<float>(i % modulus - shift);
    return t.to(DType::f8e4m3fn);
  };
  const Handle x(matrix(2, 16, 5, 2)), y(matrix(16, 16, 7, 3)), sa(full({}, 0.5)), sb(full({}, 0.25)), four(full({}, 4.0)),
      bias(counting({16}));
  const auto scaled = function<H, H, H, H, H*, H*, int32_t*, int32_t, H*>("aoti_torch_cpu__scaled_mm");
  const auto first = [](const Handle& h) {
    const Doubles v = h.tensor().to(DType::f32).to_vector<double>();
    return Doubles(v.begin(), v.begin() + 6);
  };
  int32_t f32 = aoti_torch_dtype_float32(), f8 = aoti_torch_dtype_float8_e4m3fn();
  H with_bias = bias, result_scale = four;
  EXPECT_EQ(scaled(x, y, sa, sb, nullptr, nullptr, &f32, 0, &made[4]), 0);
  EXPECT_EQ(first(made[4]), (Doubles{-0.125, 0.5, 0.25, -1.75, -0.25, 1.25}));
  EXPECT_EQ(scaled(x, y, sa, sb, &with_bias, &result_scale, &f32, 1, &made[5]), 0);
  EXPECT_EQ(first(made[5]), (Doubles{-0.125, 1.5, 2.25, 1.25, 3.75, 6.25})) << "no scale of a float32 result";
  EXPECT_EQ(scaled(x, y, sa, sb, nullptr, &result_scale, &f8, 0, &made[6]), 0);
  EXPECT_EQ(first(made[6]), (Doubles{-0.03125, 0.125, 0.0625, -0.4375, -0.0625, 0.3125}));
  EXPECT_EQ(scaled(x, y, sa, sb, nullptr, nullptr, nullptr, 0, &made[7]), 0);
  EXPECT_EQ(made[7].tensor().dtype(), DType::f8e4m3fn);
  const Handle rows(tensor({0.5, 2}, {2, 1})), columns(full({1, 16}, 0.25));
  EXPECT_EQ(scaled(x, y, rows, columns, nullptr, nullptr, &f32, 0, &made[8]), 0);
  EXPECT_EQ(made[8].values()[16], 7.5);
  EXPECT_EQ(made[8].values()[17], 3.5);
  const Handle out(zeros({2, 16}));
  EXPECT_EQ((function<H, H, H, H, H, H*, H*, int32_t*, int32_t>("aoti_torch_cpu__scaled_mm_out")(out, x, y, sa, sb, nullptr,
                                                                                                 nullptr, &f32, 0)),
            0);
  EXPECT_EQ(first(out), first(made[4]));
  EXPECT_EQ((function<H, H, H, H, H, H, int32_t*, int8_t, H*>("aoti_torch__scaled_mm_v2")(x, y, sa, sb, bias, nullptr, &f32, 0,
                                                                                          &made[9])),
            0);
  EXPECT_EQ(first(made[9]), first(made[5]));
  EXPECT_EQ((function<H, H, H, int32_t*, H, H, H, int8_t, H*, H*>("aoti_torch__scaled_mm")(x, y, nullptr, &f32, sa, sb, nullptr,
                                                                                           0, &made[10], &made[11])),
            0);
  EXPECT_EQ(first(made[10]), first(made[4]));
  ::testing::internal::CaptureStderr();
  Handle refused;
  EXPECT_EQ(scaled(a, b, sa, sb, nullptr, nullptr, nullptr, 0, &refused), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("Invalid scaling configuration"), std::string::npos);
}

TEST(HostOps, I082_GradientsAreNotRecorded) {
  using H = AtenTensorHandle;
  Tensor t = counting({2});
  t.requires_grad_();
  const Handle x(t);
  Handle made;
  EXPECT_EQ((function<H, double, H*>("aoti_torch_cpu_mul_Scalar")(x, 2.0, &made)), 0);
  EXPECT_FALSE(made.tensor().requires_grad());
}

// ---- operators of a library's own

StableIValue bits(double v) {
  StableIValue out;
  std::memcpy(&out, &v, sizeof out);
  return out;
}
StableIValue bits(AtenTensorHandle h) { return reinterpret_cast<uintptr_t>(h); }
AtenTensorHandle handle(StableIValue v) { return reinterpret_cast<AtenTensorHandle>(static_cast<uintptr_t>(v)); }

// stub::scaled(Tensor x, float by, int? more) -> (Tensor, int)
void scaled(StableIValue* stack, uint64_t arguments, uint64_t results) {
  EXPECT_EQ(arguments, 3u);
  EXPECT_EQ(results, 2u);
  double by;
  std::memcpy(&by, &stack[1], sizeof by);
  int64_t more = 0;
  if (stack[2]) {
    auto* inner = reinterpret_cast<StableIValue*>(static_cast<uintptr_t>(stack[2]));
    more = static_cast<int64_t>(*inner);
    delete inner;
  }
  const AtenTensorHandle x = handle(stack[0]);
  AtenTensorHandle result = new_handle(x->tensor * by);
  aoti_torch_delete_tensor_object(x);
  stack[0] = bits(result);
  stack[1] = static_cast<StableIValue>(more + 1);
}

TEST(HostLibrary, I088_OpsAreCalledByName) {
  const int64_t before = TensorImpl::live();
  StableIValue stack[8] = {bits(new_handle(counting({3}))), bits(new_handle(ones({3}))), bits(10.0)};
  EXPECT_EQ(aoti_torch_call_dispatcher("aten::add", "Tensor", stack), 0);
  {
    const Handle keep;
    AtenTensorHandle result = handle(stack[0]);
    EXPECT_EQ(result->tensor.to_vector<double>(), (Doubles{10, 11, 12}));
    aoti_torch_delete_tensor_object(result);
  }
  stack[0] = bits(new_handle(counting({2, 3})));
  stack[1] = 2;
  stack[2] = static_cast<StableIValue>(int64_t{-1});
  stack[3] = stack[4] = 1;
  EXPECT_EQ(aoti_torch_call_dispatcher("aten::topk", "", stack), 0);
  EXPECT_EQ(handle(stack[0])->tensor.to_vector<double>(), (Doubles{2, 1, 5, 4}));
  EXPECT_EQ(handle(stack[1])->tensor.to_vector<double>(), (Doubles{2, 1, 2, 1}));
  for (int k : {0, 1}) aoti_torch_delete_tensor_object(handle(stack[k]));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(aoti_torch_call_dispatcher("aten::nothing_of_the_kind", "", stack), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("nothing_of_the_kind"), std::string::npos);
  EXPECT_EQ(TensorImpl::live(), before) << "what was given is gone";
}

TEST(HostLibrary, I088_ALibraryDefinesAndImplements) {
  TorchLibraryHandle definitions = nullptr, fragment = nullptr, cpu = nullptr, cuda = nullptr;
  ASSERT_EQ(aoti_torch_library_init_def("stub", "file.cpp", 1, &definitions), 0);
  ASSERT_EQ(aoti_torch_library_init_fragment("stub", "file.cpp", 2, &fragment), 0);
  ASSERT_EQ(aoti_torch_library_init_impl("stub", "CPU", "file.cpp", 3, &cpu), 0);
  ASSERT_EQ(aoti_torch_library_init_impl("stub", "CUDA", "file.cpp", 4, &cuda), 0);
  ASSERT_EQ(aoti_torch_library_def(definitions, "scaled(Tensor x, float by, int? more=None) -> (Tensor, int)"), 0);
  ASSERT_EQ(aoti_torch_library_def(fragment, "unused(Tensor x) -> Tensor"), 0);
  StableIValue stack[3] = {bits(new_handle(counting({3}))), bits(2.0), 0};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(aoti_torch_library_impl(cuda, "scaled", scaled), 0) << "kept for another device";
  EXPECT_EQ(aoti_torch_call_dispatcher("stub::scaled", "", stack), 1);
  EXPECT_EQ(aoti_torch_library_def(definitions, "scaled(Tensor x) -> Tensor"), 1);
  EXPECT_EQ(aoti_torch_library_impl(cpu, "aten::add.Tensor", scaled), 1);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("stub::scaled: the operator has no implementation for the CPU"), std::string::npos) << log;
  EXPECT_NE(log.find("there is an operator of this name already"), std::string::npos) << log;
  EXPECT_NE(log.find("aten::add.Tensor: the operator is one of Ingot's own, whose implementation stays as it is"),
            std::string::npos)
      << log;

  ASSERT_EQ(aoti_torch_library_impl(cpu, "scaled", scaled), 0);
  stack[0] = bits(new_handle(counting({3})));
  stack[2] = reinterpret_cast<uintptr_t>(new StableIValue(41));
  ASSERT_EQ(aoti_torch_call_dispatcher("stub::scaled", "", stack), 0);
  EXPECT_EQ(handle(stack[0])->tensor.to_vector<double>(), (Doubles{0, 2, 4}));
  EXPECT_EQ(stack[1], 42u);
  aoti_torch_delete_tensor_object(handle(stack[0]));
  // It is an operator like any other.
  const Values both = list_elements(call(op("stub::scaled"), Values{counting({2}), 3.0, Value()}));
  EXPECT_EQ(both[0].tensor().to_vector<double>(), (Doubles{0, 3}));
  EXPECT_EQ(both[1].to_int64(), 1);

  for (TorchLibraryHandle l : {cpu, cuda, fragment, definitions}) EXPECT_EQ(aoti_torch_delete_library_object(l), 0);
  EXPECT_THROW(call(op("stub::scaled"), Values{counting({2}), 3.0, Value()}), UserError) << "the code may be gone";
}

// Everything that a schema can have: what comes goes out again, in other places.
void everything(StableIValue* stack, uint64_t arguments, uint64_t results) {
  EXPECT_EQ(arguments, 12u);
  EXPECT_EQ(results, 12u);
  std::swap(stack[0], stack[1]);
}

TEST(HostLibrary, I088_EveryTypeOfASchemaStandsOnTheStack) {
  TorchLibraryHandle library = nullptr;
  ASSERT_EQ(aoti_torch_library_init_fragment("kinds", "file.cpp", 1, &library), 0);
  // What is implemented before it is defined counts as well.
  ASSERT_EQ(aoti_torch_library_impl(library, "everything", everything), 0);
  ASSERT_EQ(aoti_torch_library_def(
                library,
                "everything(int[] a, int[] b, Tensor[] c, Tensor?[] d, float[] e, bool[] f, str g, Device h, "
                "Layout i, ScalarType j, int[]? k, str? l) -> (int[], int[], Tensor[], Tensor?[], float[], bool[], str, "
                "Device, Layout, ScalarType, int[]?, str?)"),
            0);
  const int64_t before = TensorImpl::live();
  {
    const Values results =
        list_elements(call(op("kinds::everything"), Values{Shape{1, 2}, Shape{3}, TensorList{ones({2}), counting({3})},
                                                           TensorList{Tensor(), counting({2})}, std::vector<double>{0.5, 2},
                                                           std::vector<bool>{true, false, true}, "a text", Device(),
                                                           Layout::strided, int16, Value(), "more"}));
    ASSERT_EQ(results.size(), 12u);
    EXPECT_EQ(results[0].ints(), Shape({3}));
    EXPECT_EQ(results[1].ints(), Shape({1, 2}));
    EXPECT_EQ(results[2].tensors()[1].to_vector<double>(), (Doubles{0, 1, 2}));
    EXPECT_FALSE(results[3].tensors()[0].defined());
    EXPECT_EQ(results[3].tensors()[1].to_vector<double>(), (Doubles{0, 1}));
    EXPECT_EQ(results[4].floats(), (Doubles{0.5, 2}));
    EXPECT_EQ(results[5].bools(), (std::vector<bool>{true, false, true}));
    EXPECT_EQ(results[6].string(), "a text");
    EXPECT_TRUE(results[7].is_device() && results[8].is_layout() && results[10].is_none());
    EXPECT_EQ(results[9].dtype(), int16);
    EXPECT_EQ(results[11].string(), "more");
  }
  EXPECT_EQ(TensorImpl::live(), before);
  EXPECT_EQ(aoti_torch_delete_library_object(library), 0);
}

// A library makes and reads lists and strings by functions.
TEST(HostLibrary, I088_ListsAndStringsOfALibrary) {
  StableListHandle sizes = nullptr;
  ASSERT_EQ(torch_new_list_reserve_size(2, &sizes), 0);
  ASSERT_EQ(torch_list_push_back(sizes, 7), 0);
  ASSERT_EQ(torch_list_push_back(sizes, 3), 0);
  ASSERT_EQ(torch_list_set_item(sizes, 0, 2), 0);
  size_t count = 0;
  StableIValue element = 0;
  EXPECT_EQ(torch_list_size(sizes, &count), 0);
  EXPECT_EQ(torch_list_get_item(sizes, 1, &element), 0);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(element, 3u);
  // full(SymInt[] size, Scalar fill_value, *, dtype, layout, device, pin_memory)
  const StableIValue cpu = static_cast<StableIValue>(aoti_torch_device_type_cpu()) << 32 | 0xffffffffu;
  StableIValue stack[6] = {reinterpret_cast<uintptr_t>(sizes),
                           bits(1.5),
                           reinterpret_cast<uintptr_t>(new StableIValue(static_cast<uint32_t>(aoti_torch_dtype_float64()))),
                           reinterpret_cast<uintptr_t>(new StableIValue(static_cast<uint32_t>(aoti_torch_layout_strided()))),
                           reinterpret_cast<uintptr_t>(new StableIValue(cpu)),
                           0};
  ASSERT_EQ(aoti_torch_call_dispatcher("aten::full", "", stack), 0);
  EXPECT_EQ(handle(stack[0])->tensor.sizes(), Shape({2, 3}));
  EXPECT_EQ(handle(stack[0])->tensor.dtype(), float64);
  // div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode)
  StringHandle mode = nullptr;
  ASSERT_EQ(torch_new_string_handle("floor and more", 5, &mode), 0);
  const char* chars = nullptr;
  EXPECT_EQ(torch_string_length(mode, &count), 0);
  EXPECT_EQ(torch_string_c_str(mode, &chars), 0);
  EXPECT_EQ(std::string(chars, count), "floor");
  stack[1] = bits(new_handle(ones({3})));
  stack[2] = reinterpret_cast<uintptr_t>(new StableIValue(reinterpret_cast<uintptr_t>(mode)));
  ASSERT_EQ(aoti_torch_call_dispatcher("aten::div", "Tensor_mode", stack), 0);
  EXPECT_EQ(handle(stack[0])->tensor.to_vector<double>(), Doubles(6, 1));
  aoti_torch_delete_tensor_object(handle(stack[0]));
  // split returns a list.
  stack[0] = bits(new_handle(counting({5})));
  stack[1] = 2;
  stack[2] = 0;
  ASSERT_EQ(aoti_torch_call_dispatcher("aten::split", "Tensor", stack), 0);
  const auto parts = reinterpret_cast<StableListHandle>(stack[0]);
  EXPECT_EQ(torch_list_size(parts, &count), 0);
  EXPECT_EQ(count, 3u);
  for (size_t k = 0; k < count; k++) {
    EXPECT_EQ(torch_list_get_item(parts, k, &element), 0);
    EXPECT_EQ(handle(element)->tensor.numel(), k < 2 ? 2 : 1);
    aoti_torch_delete_tensor_object(handle(element));
  }
  EXPECT_EQ(torch_delete_list(parts), 0);
  // What is wrong is said.
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(torch_new_list_reserve_size(0, &sizes), 0);
  EXPECT_EQ(torch_list_get_item(sizes, 0, &element), 1);
  EXPECT_EQ(torch_delete_list(sizes), 0);
  EXPECT_EQ(torch_list_size(nullptr, &count), 1);
  EXPECT_EQ(torch_string_length(nullptr, &count), 1);
  ASSERT_EQ(torch_new_string_handle("", 0, &mode), 0);
  EXPECT_EQ(torch_delete_string(mode), 0);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("element 0 of a list of 0"), std::string::npos) << log;
  EXPECT_NE(log.find("expected a list, found a null handle"), std::string::npos) << log;
  EXPECT_NE(log.find("expected a string, found a null handle"), std::string::npos) << log;
}

}  // namespace
}  // namespace ingot
