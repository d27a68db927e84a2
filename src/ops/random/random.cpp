// Random tensors. One op call is one draw of its generator; the mapping from a draw to numbers is
// that of kernels/philox.hpp, and each distribution below says how a number becomes an element.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "kernels/philox.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "ops/random/random_rows.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// The argument of that name; None where the schema has none.
const Value& named(const Call& c, std::string_view name) {
  static const Value none;
  const int i = c.op.schema.index_of(name);
  return i < 0 ? none : c[i];
}
Draw next_draw_of(const Call& c) { return next_draw(named(c, "generator")); }

// Every op that makes a tensor of a `size`, or one like `self`: dtype, device and memory format
// where the schema has them.
void shaped_meta(const Call& c, Outputs& o) {
  if (const Value& d = named(c, "device"); d.is_device()) o.device = d.device();
  if (const Value& size = named(c, "size"); size.is_ints()) {
    for (Int s : size.ints())
      INGOT_REQUIRE(!(s < 0), c.op.schema.name, ": Trying to create tensor with negative dimension ", s, ": ", size.ints());
    return o.add(size.ints(), named(c, "dtype").dtype_or(thread_state().default_dtype));
  }
  const Tensor& self = c.tensor(0);
  const Value& format = named(c, "memory_format");
  Geometry g;
  g.sizes = self.sizes();
  g.dtype = named(c, "dtype").dtype_or(self.dtype());
  g.strides = format.is_none() || format.memory_format() == MemoryFormat::preserve
                  ? dense_strides_like(self.sizes(), self.strides())
                  : strides_for(self.sizes(), format.memory_format());
  o.add(std::move(g));
}
void require_floating(const Call& c, const Outputs& o, bool complex_too = false) {
  const DType t = o.geoms.at(0).dtype;
  INGOT_REQUIRE(is_floating(t) || (complex_too && is_complex(t)), "\"", c.op.schema.name, "\" not implemented for '",
                scalar_type_name(t), "'");
}
void floating_meta(const Call& c, Outputs& o) {
  shaped_meta(c, o);
  require_floating(c, o);
}
void inexact_meta(const Call& c, Outputs& o) {
  shaped_meta(c, o);
  require_floating(c, o, true);
}

// ---- uniform and normal

// Bits of a reduced type's significand: a number of [0, 1) must not round up to 1.
int significand_bits(DType t) {
  switch (t) {
    case DType::f16: return 11;
    case DType::bf16: return 8;
    case DType::f8e4m3fn: return 4;
    case DType::f8e5m2: return 3;
    default: return 24;
  }
}
void uniform_kernel(const Call& c, std::span<const Tensor> r) {
  const double from = named(c, "from").double_or(0), to = named(c, "to").double_or(1);
  const int bits = significand_bits(r[0].dtype());
  const Draw d = next_draw_of(c);
  fill_real(r[0], [&]<class T>(T* x, int64_t begin, int64_t end) {
    kernels::fill_uniform(x, d.seed, d.offset, begin, end);
    if (bits < 24)
      for (int64_t i = 0; i < end - begin; i++) x[i] = std::ldexp(std::floor(std::ldexp(x[i], bits)), -bits);
    if (from != 0 || to != 1)
      for (int64_t i = 0; i < end - begin; i++) x[i] = static_cast<T>(x[i] * T(to - from) + T(from));
  });
}
void uniform_meta(const Call& c, Outputs& o) {
  inexact_meta(c, o);
  const double from = c[1].to_double(), to = c[2].to_double();
  INGOT_REQUIRE(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
}

void fill_normal(const Tensor& out, const Draw& d, double mean, double std) {
  // A complex normal number has variance 1 in all: half in each part.
  const double scale = is_complex(out.dtype()) ? std * std::sqrt(0.5) : std;
  fill_real(out, [&]<class T>(T* x, int64_t begin, int64_t end) {
    kernels::fill_normal(x, d.seed, d.offset, begin, end);
    if (scale == 1 && mean == 0) return;
    for (int64_t i = 0; i < end - begin; i++) x[i] = static_cast<T>(x[i] * T(scale) + T(mean));
  });
}
void normal_kernel(const Call& c, std::span<const Tensor> r) {
  fill_normal(r[0], next_draw_of(c), named(c, "mean").double_or(0), named(c, "std").double_or(1));
}
void normal_meta(const Call& c, Outputs& o) {
  inexact_meta(c, o);
  const double std = named(c, "std").double_or(1);
  INGOT_REQUIRE(std >= 0, "normal expects std >= 0.0, but found std ", std);
}
// normal.Tensor_*: numbers of the broadcast shape, scaled and moved by tensors.
Value normal_of_tensors(const Call& c) {
  const Value &mean = c[0], &std = c[1];
  if (std.is_tensor()) {
    const Tensor& s = std.tensor();
    INGOT_REQUIRE(!s.is_complex(), "normal expects standard deviation to be non-complex");
    if (!s->is_fake())
      for (double x : s.to_vector<double>()) INGOT_REQUIRE(!(x < 0), "normal expects all elements of std >= 0.0, but found ", x);
  } else {
    INGOT_REQUIRE(std.to_double() >= 0, "normal expects std >= 0.0, but found std ", std);
  }
  const Tensor& like = mean.is_tensor() ? mean.tensor() : std.tensor();
  const Shape sizes = mean.is_tensor() && std.is_tensor()
                          ? broadcast_shapes(mean.tensor().sizes(), std.tensor().sizes(), "normal")
                          : like.sizes();
  const Tensor z = aten<"normal_functional">(aten<"new_empty">(like, sizes), 0.0, 1.0, c[2]);
  return aten<"add.Tensor">(aten<"mul.Tensor">(z, std), mean);
}

// ---- integers

void check_bounds(DType t, int64_t from, int64_t last) {
  int64_t lo = std::numeric_limits<int64_t>::min(), hi = std::numeric_limits<int64_t>::max();
  switch (t) {
    case DType::b8: lo = 0, hi = 1; break;
    case DType::u8: lo = 0, hi = 255; break;
    case DType::i8: lo = -128, hi = 127; break;
    case DType::i16: lo = -32768, hi = 32767; break;
    case DType::u16: lo = 0, hi = 65535; break;
    case DType::i32: lo = std::numeric_limits<int32_t>::min(), hi = std::numeric_limits<int32_t>::max(); break;
    case DType::u32: lo = 0, hi = std::numeric_limits<uint32_t>::max(); break;
    case DType::u64: lo = 0; break;
    default: break;
  }
  INGOT_REQUIRE(from >= lo && from <= hi, "from is out of bounds for ", name_of(t), ": found ", from);
  INGOT_REQUIRE(last >= lo && last <= hi, "to - 1 is out of bounds for ", name_of(t), ": found ", last);
}
// out = integers of [from, last], both included.
void fill_integers(const Call& c, const Tensor& out, int64_t from, int64_t last) {
  INGOT_REQUIRE(!is_complex(out.dtype()), "\"", c.op.schema.name, "\" not implemented for '", scalar_type_name(out.dtype()), "'");
  INGOT_REQUIRE(from <= last, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", last + 1);
  check_bounds(out.dtype(), from, last);
  const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;  // 0: all 2^64 values
  const Draw d = next_draw_of(c);
  fill_numbers<int64_t>(out, Compute::i64, [&](int64_t* x, int64_t begin, int64_t end) {
    kernels::fill_integers(x, from, range, d.seed, d.offset, begin, end);
  });
}
// randint's bounds are its integer arguments `low` (0) and `high`; randint_like.Tensor's high is a
// 0-dim tensor.
void randint_kernel(const Call& c, std::span<const Tensor> r) {
  const Value &low = named(c, "low"), &high = named(c, "high");
  if (high.is_tensor())
    INGOT_REQUIRE(high.tensor().numel() == 1, "randint_like: high must hold one number, found shape ", high.tensor().sizes());
  const int64_t to = high.is_tensor() ? high.tensor().item_int() : high.to_int64(), from = low.is_none() ? 0 : low.to_int64();
  INGOT_REQUIRE(from < to, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", to);
  fill_integers(c, r[0], from, to - 1);
}
// The largest integer n such that 0 … n are all values of the type.
int64_t largest_exact(DType t) {
  switch (t) {
    case DType::b8: return 1;
    case DType::u8: return 255;
    case DType::i8: return 127;
    case DType::i16: return 32767;
    case DType::u16: return 65535;
    case DType::i32: return std::numeric_limits<int32_t>::max();
    case DType::u32: return std::numeric_limits<uint32_t>::max();
    case DType::f64: return int64_t{1} << 53;
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e5m2: return int64_t{1} << significand_bits(t);
    default: return std::numeric_limits<int64_t>::max();
  }
}
void random_kernel(const Call& c, std::span<const Tensor> r) {
  const Value &from = named(c, "from"), &to = named(c, "to");
  const int64_t low = from.is_none() ? 0 : from.to_int64();
  INGOT_REQUIRE(to.is_none() || low < to.to_int64(), "random_ expects 'from' to be less than 'to', but got from=", low,
                " >= to=", to);
  fill_integers(c, r[0], low, to.is_none() ? largest_exact(r[0].dtype()) : to.to_int64() - 1);
}

void randperm_meta(const Call& c, Outputs& o) {
  const Int n = c[0].to_int();
  INGOT_REQUIRE(!(n < 0), "n must be non-negative, got ", n);
  if (const Value& d = named(c, "device"); d.is_device()) o.device = d.device();
  o.add(Shape{n}, named(c, "dtype").dtype_or(DType::i64));
}
// The order of random keys.
void randperm_kernel(const Call& c, std::span<const Tensor> r) {
  const int64_t n = r[0].numel().number();
  INGOT_REQUIRE(n - 1 <= largest_exact(r[0].dtype()), "n is too large for result tensor type: '", name_of(r[0].dtype()), "'");
  const Draw d = next_draw_of(c);
  std::vector<std::pair<uint64_t, int64_t>> keys(static_cast<std::size_t>(n));
  for (int64_t i = 0; i < n; i++)
    keys[static_cast<std::size_t>(i)] = {kernels::random_u64(d.seed, d.offset, static_cast<uint64_t>(i)), i};
  std::sort(keys.begin(), keys.end());
  fill_numbers<int64_t>(r[0], Compute::i64, [&](int64_t* x, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) x[i - begin] = keys[static_cast<std::size_t>(i)].second;
  });
}

// ---- distributions by inversion of one uniform number

// Out of (0, 1): no logarithm of zero.
inline double open(float u) { return u == 0 ? 0x1p-25 : u; }
inline double open(double u) { return u == 0 ? 0x1p-54 : u; }

template <class F>
void invert(const Call& c, const Tensor& out, const F& quantile) {
  const Draw d = next_draw_of(c);
  fill_real(out, [&]<class T>(T* x, int64_t begin, int64_t end) {
    kernels::fill_uniform(x, d.seed, d.offset, begin, end);
    for (int64_t i = 0; i < end - begin; i++) x[i] = static_cast<T>(quantile(open(x[i])));
  });
}
void exponential_kernel(const Call& c, std::span<const Tensor> r) {
  const double lambda = c[1].to_double();
  invert(c, r[0], [=](double u) { return -std::log1p(-u) / lambda; });
}
void cauchy_kernel(const Call& c, std::span<const Tensor> r) {
  const double median = c[1].to_double(), sigma = c[2].to_double();
  invert(c, r[0], [=](double u) { return median + sigma * std::tan(3.14159265358979323846 * (u - 0.5)); });
}
void geometric_kernel(const Call& c, std::span<const Tensor> r) {
  const double log_fail = std::log1p(-c[1].to_double());
  invert(c, r[0], [=](double u) { return std::ceil(std::log(u) / log_fail); });
}
void log_normal_kernel(const Call& c, std::span<const Tensor> r) {
  const double mean = c[1].to_double(), std = c[2].to_double();
  const Draw d = next_draw_of(c);
  fill_real(r[0], [&]<class T>(T* x, int64_t begin, int64_t end) {
    kernels::fill_normal(x, d.seed, d.offset, begin, end);
    for (int64_t i = 0; i < end - begin; i++) x[i] = static_cast<T>(std::exp(static_cast<double>(x[i]) * std + mean));
  });
}

// ---- bernoulli: 1 where a uniform number is below p

void bernoulli_kernel(const Call& c, std::span<const Tensor> r) {
  const Value& given = named(c, "p");
  const Draw d = next_draw_of(c);
  auto decide = [&]<class T>(T, Compute compute, auto probability) {
    fill_numbers<T>(r[0], compute, [&](T* x, int64_t begin, int64_t end) {
      kernels::fill_uniform(x, d.seed, d.offset, begin, end);
      for (int64_t i = begin; i < end; i++) x[i - begin] = x[i - begin] < probability(i);
    });
  };
  if (given.is_number()) return decide(float{}, Compute::f32, [p = static_cast<float>(given.to_double())](int64_t) { return p; });
  const Tensor& p = given.is_tensor() ? given.tensor() : c.tensor(0);
  const Tensor probabilities = dense(p, p.dtype() == DType::f64 ? DType::f64 : DType::f32, r[0].sizes());
  auto check = [&]<class T>(const T* x) {
    for (int64_t i = 0, n = probabilities.numel().number(); i < n; i++)
      INGOT_REQUIRE(x[i] >= 0 && x[i] <= 1, "bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but found ",
                    static_cast<double>(x[i]));
    decide(T{}, std::is_same_v<T, float> ? Compute::f32 : Compute::f64, [x](int64_t i) { return x[i]; });
  };
  if (probabilities.dtype() == DType::f64) check(probabilities.data<double>());
  else check(probabilities.data<float>());
}
void bernoulli_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Value& p = named(c, "p");
  INGOT_REQUIRE(!p.is_none() || self.is_floating_point(), "Expected probabilities tensor to have floating type, got ",
                scalar_type_name(self.dtype()));
  INGOT_REQUIRE(!is_complex(self.dtype()), "\"bernoulli\" not implemented for '", scalar_type_name(self.dtype()), "'");
  if (p.is_number())
    INGOT_REQUIRE(p.to_double() >= 0 && p.to_double() <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  if (p.is_tensor()) {
    INGOT_REQUIRE(p.tensor().is_floating_point(), "expected probabilities tensor to have floating type, got ",
                  scalar_type_name(p.tensor().dtype()));
    const Shape b = broadcast_shapes(self.sizes(), p.tensor().sizes(), "bernoulli");
    INGOT_REQUIRE(b == self.sizes(), "bernoulli: p of shape ", p.tensor().sizes(), " does not broadcast to self of shape ",
                  self.sizes());
  }
  o.add(self.sizes(), self.dtype());
}

// ---- the stream itself, for who has to draw the same numbers again
// (higher_order::run_with_rng_state)

void stream_meta(const Call&, Outputs& o) { o.add(Shape{static_cast<int64_t>(sizeof(Draw))}, DType::u8); }
void stream_kernel(const Call&, std::span<const Tensor> r) {
  const Draw d = default_generator()->state();
  std::memcpy(r[0].data_ptr(), &d, sizeof(d));
}
Value set_stream(const Call& c) {
  const Tensor& state = c.tensor(0);
  INGOT_REQUIRE(state.dtype() == DType::u8 && state.is_contiguous() && state.numel() == static_cast<int64_t>(sizeof(Draw)),
                "the state of a random stream is ", sizeof(Draw), " bytes in a row, found ", state.dtype(), state.sizes());
  if (state->is_fake()) return {};
  Draw d;
  std::memcpy(&d, state.data_ptr(), sizeof(d));
  default_generator()->set_state(d);
  return {};
}

// ---- gradients: random numbers do not depend on what they replace

void zero_vjp(Vjp& v) {
  for (int i = 0; i < static_cast<int>(v.needs.size()); i++)
    if (v.need(i)) v.set(i, aten<"new_zeros">(v.grad(), v.sizes(i), v.geom(i).dtype));
}

using MetaRule = void (*)(const Call&, Outputs&);
using KernelRule = void (*)(const Call&, std::span<const Tensor>);
constexpr OpDef factory(std::string_view schema, MetaRule meta, KernelRule kernel) {
  return {.schema = schema, .form = Form::random, .meta = meta, .kernel = kernel, .grad = {.none = true}};
}
constexpr OpDef replaces(std::string_view schema, MetaRule meta, KernelRule kernel, uint8_t backward_index = 0) {
  return {.schema = schema,
          .form = Form::random,
          .meta = meta,
          .kernel = kernel,
          .vjp = zero_vjp,
          .grad = {.node_number = backward_index}};
}
// PyTorch gives these in-place forms a gradient (zeros) and the functional ones none.
constexpr OpDef replaces_in_place(std::string_view schema, MetaRule meta, KernelRule kernel, uint8_t backward_index = 0) {
  OpDef d = replaces(schema, meta, kernel, backward_index);
  d.grad.variants = GradVariants::inplace;
  return d;
}
// Unlike its sisters, randint_like counts as a function of its argument, one without a derivative.
constexpr OpDef randint_like(std::string_view schema) {
  return {.schema = schema, .form = Form::random, .meta = shaped_meta, .kernel = randint_kernel};
}
constexpr OpDef of_tensors(std::string_view schema, uint8_t backward_index) {
  return {.schema = schema,
          .form = Form::random,
          .body = normal_of_tensors,
          .vjp = zero_vjp,
          .grad = {.node_number = backward_index},
          .batch = batch_random_of_values};
}

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define INT_OPTIONS "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define LIKE_OPTIONS OPTIONS ", MemoryFormat? memory_format=None"

constexpr OpDef kRandomOps[] = {
    factory("aten::rand(SymInt[] size, *, " OPTIONS ") -> Tensor", inexact_meta, uniform_kernel),
    factory("aten::rand.generator(SymInt[] size, *, Generator? generator, " OPTIONS ") -> Tensor", inexact_meta, uniform_kernel),
    factory("aten::rand_like(Tensor self, *, " LIKE_OPTIONS ") -> Tensor", inexact_meta, uniform_kernel),
    factory("aten::rand_like.generator(Tensor self, *, Generator? generator, " LIKE_OPTIONS ") -> Tensor", inexact_meta,
            uniform_kernel),
    replaces("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor", uniform_meta,
             uniform_kernel),

    factory("aten::randn(SymInt[] size, *, " OPTIONS ") -> Tensor", inexact_meta, normal_kernel),
    factory("aten::randn.generator(SymInt[] size, *, Generator? generator, " OPTIONS ") -> Tensor", inexact_meta, normal_kernel),
    factory("aten::randn_like(Tensor self, *, " LIKE_OPTIONS ") -> Tensor", inexact_meta, normal_kernel),
    factory("aten::randn_like.generator(Tensor self, *, Generator? generator, " LIKE_OPTIONS ") -> Tensor", inexact_meta,
            normal_kernel),
    factory("aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, " OPTIONS ") -> Tensor",
            normal_meta, normal_kernel),
    replaces_in_place("aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
                      normal_meta, normal_kernel),
    of_tensors("aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor", 0),
    of_tensors("aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", 1),
    of_tensors("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", 2),

    factory("aten::randint(SymInt high, SymInt[] size, *, " INT_OPTIONS ") -> Tensor", shaped_meta, randint_kernel),
    factory("aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, " INT_OPTIONS ") -> Tensor",
            shaped_meta, randint_kernel),
    factory("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, " INT_OPTIONS ") -> Tensor", shaped_meta,
            randint_kernel),
    factory("aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, " INT_OPTIONS
            ") -> Tensor",
            shaped_meta, randint_kernel),
    randint_like("aten::randint_like(Tensor self, SymInt high, *, " LIKE_OPTIONS ") -> Tensor"),
    randint_like("aten::randint_like.generator(Tensor self, SymInt high, *, Generator? generator, " LIKE_OPTIONS ") -> Tensor"),
    with_batch(randint_like("aten::randint_like.Tensor(Tensor self, Tensor high, *, " LIKE_OPTIONS ") -> Tensor"),
               batch_random_of_values),
    randint_like("aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " LIKE_OPTIONS ") -> Tensor"),
    randint_like(
        "aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, " LIKE_OPTIONS
        ") -> Tensor"),
    replaces("aten::random(Tensor self, *, Generator? generator=None) -> Tensor", shaped_meta, random_kernel),
    replaces("aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", shaped_meta,
             random_kernel),
    replaces("aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", shaped_meta, random_kernel),
    factory("aten::randperm(SymInt n, *, " INT_OPTIONS ") -> Tensor", randperm_meta, randperm_kernel),
    factory("aten::randperm.generator(SymInt n, *, Generator? generator, " INT_OPTIONS ") -> Tensor", randperm_meta,
            randperm_kernel),

    replaces(
        "aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
        [](const Call& c, Outputs& o) {
          INGOT_REQUIRE(c[1].to_double() > 0, "exponential_ expects lambda > 0.0, but found lambda=", c[1]);
          floating_meta(c, o);
        },
        exponential_kernel),
    replaces(
        "aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor",
        [](const Call& c, Outputs& o) {
          INGOT_REQUIRE(c[2].to_double() > 0, "cauchy_ expects sigma > 0.0, but found sigma=", c[2]);
          floating_meta(c, o);
        },
        cauchy_kernel),
    replaces(
        "aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
        [](const Call& c, Outputs& o) {
          INGOT_REQUIRE(c[1].to_double() > 0 && c[1].to_double() < 1, "geometric_ expects p to be in (0, 1), but got p=", c[1]);
          shaped_meta(c, o);
          const DType t = o.geoms.at(0).dtype;
          INGOT_REQUIRE(is_floating(t) || is_integral(t), "\"geometric\" not implemented for '", scalar_type_name(t), "'");
        },
        geometric_kernel),
    replaces(
        "aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor",
        [](const Call& c, Outputs& o) {
          INGOT_REQUIRE(c[2].to_double() > 0, "log_normal_ expects std > 0.0, but found std=", c[2]);
          floating_meta(c, o);
        },
        log_normal_kernel),
    with_batch(replaces("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", bernoulli_meta, bernoulli_kernel),
               batch_random_of_values),
    with_batch(replaces("aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", bernoulli_meta,
                        bernoulli_kernel, 1),
               batch_random_of_values),
    replaces_in_place("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", bernoulli_meta,
                      bernoulli_kernel, 2),

    // Ours: PyTorch has functions for these.
    factory("prims::_rng_state() -> Tensor", stream_meta, stream_kernel),
    {.schema = "prims::_set_rng_state(Tensor state) -> ()", .form = Form::random, .body = set_stream},
};

}  // namespace

INGOT_FAMILY(random, kRandomOps)

}  // namespace ingot
