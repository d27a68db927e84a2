// torch.fft and the short-time transforms, as programs of _fft_c2c, _fft_r2c and _fft_c2r.
#include <algorithm>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ops/common/autocast_policy.hpp"
#include "ops/common/composite.hpp"
#include "ops/family.hpp"
#include "ops/common/gradient_terms.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

enum Norm : int64_t { none = 0, by_root_n = 1, by_n = 2 };

Norm norm_of(const Value& v, bool forward) {
  if (v.is_none() || v.string() == "backward") return forward ? none : by_n;
  if (v.string() == "forward") return forward ? by_n : none;
  INGOT_REQUIRE(v.string() == "ortho", "Invalid normalization mode: \"", v.string(), "\"");
  return by_root_n;
}

// Integers become the default float type; `complex` makes the result complex.
Tensor promoted(const Tensor& t, bool complex) {
  DType d = is_floating(t.dtype()) || is_complex(t.dtype()) ? t.dtype() : thread_state().default_dtype;
  INGOT_REQUIRE(!is_reduced_floating(d), "Unsupported dtype ", scalar_type_name(d));
  if (complex && !is_complex(d)) d = complex_of(d);
  return d == t.dtype() ? t : t.to(d);
}
// Cuts or pads with zeros so that dim k of `dims` has sizes[k].
Tensor resized(Tensor x, const std::vector<int>& dims, const Shape& sizes) {
  const int rank = static_cast<int>(x.dim());
  Shape pad = Shape::filled(static_cast<std::size_t>(rank) * 2, 0);
  bool pads = false;
  for (std::size_t k = 0; k < dims.size(); k++) {
    const Int have = x.size(dims[k]);
    if (have > sizes[k]) x = x.slice(dims[k], 0, sizes[k]);
    else if (have < sizes[k]) {
      pad[static_cast<std::size_t>(rank - 1 - dims[k]) * 2 + 1] = sizes[k] - have;
      pads = true;
    }
  }
  return pads ? aten<"constant_pad_nd">(x, pad) : x;
}
int one_dim(const Tensor& x, const Value& dim) {
  INGOT_REQUIRE_INDEX(x.dim() > 0, "Dimension specified as ", dim.to_int(), " but tensor has no dimensions");
  return wrap_dim(dim.to_int64(), static_cast<int>(x.dim()));
}
void check_points(Int n) { INGOT_REQUIRE(n >= 1, "Invalid number of data points (", n, ") specified"); }

Tensor c2c(const Tensor& x, const Shape& dims, Norm norm, bool forward) {
  return aten<"_fft_c2c">(x, dims, static_cast<int64_t>(norm), forward);
}
Tensor r2c(const Tensor& x, const Shape& dims, Norm norm, bool onesided) {
  return aten<"_fft_r2c">(x, dims, static_cast<int64_t>(norm), onesided);
}
Tensor c2r(const Tensor& x, const Shape& dims, Norm norm, Int n) {
  return aten<"_fft_c2r">(x, dims, static_cast<int64_t>(norm), n);
}

// ---- one dim: self, n, dim, norm

Value complex_1d(const Call& c, bool forward) {
  Tensor x = promoted(c.tensor(0), false);
  const int d = one_dim(x, c[2]);
  const Int n = c[1].int_or(x.size(d));
  check_points(n);
  if (!c[1].is_none()) x = resized(x, {d}, {n});
  const Norm norm = norm_of(c[3], forward);
  if (x.is_complex()) return c2c(x, {d}, norm, forward);
  const Tensor r = r2c(x, {d}, norm, false);
  return forward ? r : conjugate(r);  // of real input the inverse is the conjugate
}
Value real_1d(const Call& c, bool forward) {
  INGOT_REQUIRE(!c.tensor(0).is_complex(), c.op.schema.name.substr(4), " expects a real input tensor, but got ",
                scalar_type_name(c.tensor(0).dtype()));
  Tensor x = promoted(c.tensor(0), false);
  const int d = one_dim(x, c[2]);
  const Int n = c[1].int_or(x.size(d));
  check_points(n);
  if (!c[1].is_none()) x = resized(x, {d}, {n});
  const Tensor r = r2c(x, {d}, norm_of(c[3], forward), true);
  return forward ? r : conjugate(r);
}
Value hermitian_1d(const Call& c, bool forward) {
  Tensor x = promoted(c.tensor(0), true);
  const int d = one_dim(x, c[2]);
  const Int n = c[1].int_or((x.size(d) - 1) * 2);
  check_points(n);
  if (!c[1].is_none()) x = resized(x, {d}, {floor_div(n, 2) + 1});
  return c2r(forward ? conjugate(x) : x, {d}, norm_of(c[3], forward), n);
}

// ---- several dims: self, s, dim, norm

struct Target {
  std::vector<int> dims;
  Shape sizes;
  Shape list() const {
    Shape s;
    for (int d : dims) s.push_back(d);
    return s;
  }
};
Target target_of(const Call& c, const Tensor& x) {
  const int rank = static_cast<int>(x.dim());
  Target t;
  const bool has_dims = !c[2].is_none(), has_sizes = !c[1].is_none();
  if (has_dims)
    for (Int d : c[2].ints()) {
      t.dims.push_back(wrap_dim(d.value(), rank));
      INGOT_REQUIRE(std::count(t.dims.begin(), t.dims.end(), t.dims.back()) == 1, "FFT dims must be unique");
    }
  if (has_sizes) {
    const Shape& s = c[1].ints();
    INGOT_REQUIRE(!has_dims || s.size() == t.dims.size(), "When given, dim and shape arguments must have the same length");
    INGOT_REQUIRE(s.dim() <= rank, "Got shape with ", s.dim(), " values but input tensor only has ", rank, " dimensions.");
    if (!has_dims)
      for (int i = rank - s.dim(); i < rank; i++) t.dims.push_back(i);
    for (std::size_t k = 0; k < s.size(); k++) t.sizes.push_back(s[k] == -1 ? x.size(t.dims[k]) : s[k]);
  } else {
    if (!has_dims)
      for (int i = 0; i < rank; i++) t.dims.push_back(i);
    for (int d : t.dims) t.sizes.push_back(x.size(d));
  }
  for (Int n : t.sizes) check_points(n);
  return t;
}
void need_dims(const Call& c, const Target& t) {
  INGOT_REQUIRE(!t.dims.empty(), c.op.schema.name.substr(4), " must transform at least one axis");
}
// For a real result: the size of its last dim, and t changed to the half spectrum's.
Int halve_last(const Call& c, const Tensor& x, Target& t) {
  need_dims(c, t);
  const Int n = c[1].is_none() || c[1].ints().back() == -1 ? (x.size(t.dims.back()) - 1) * 2 : t.sizes.back();
  check_points(n);
  t.sizes.back() = floor_div(n, 2) + 1;
  return n;
}

Value complex_nd(const Call& c, bool forward) {
  const Tensor x = promoted(c.tensor(0), true);
  const Target t = target_of(c, x);
  return c2c(resized(x, t.dims, t.sizes), t.list(), norm_of(c[3], forward), forward);
}
void check_real(const Call& c) {
  INGOT_REQUIRE(!c.tensor(0).is_complex(), c.op.schema.name.substr(4), " expects a real-valued input tensor, but got ",
                scalar_type_name(c.tensor(0).dtype()));
}
Value rfftn(const Call& c) {
  check_real(c);
  const Tensor x = promoted(c.tensor(0), false);
  const Target t = target_of(c, x);
  need_dims(c, t);
  return r2c(resized(x, t.dims, t.sizes), t.list(), norm_of(c[3], true), true);
}
Value irfftn(const Call& c) {
  const Tensor x = promoted(c.tensor(0), true);
  Target t = target_of(c, x);
  const Int n = halve_last(c, x, t);
  return c2r(resized(x, t.dims, t.sizes), t.list(), norm_of(c[3], false), n);
}
Value hfftn(const Call& c) {
  Tensor x = promoted(c.tensor(0), true);
  Target t = target_of(c, x);
  const Int n = halve_last(c, x, t);
  x = resized(x, t.dims, t.sizes);
  const Norm norm = norm_of(c[3], true);
  Shape others = t.list();
  others.pop_back();
  if (!others.empty()) x = c2c(x, others, norm, true);
  return c2r(conjugate(x), {t.dims.back()}, norm, n);
}
Value ihfftn(const Call& c) {
  check_real(c);
  const Tensor x = promoted(c.tensor(0), false);
  const Target t = target_of(c, x);
  need_dims(c, t);
  const Norm norm = norm_of(c[3], false);
  const Tensor r = conjugate(r2c(resized(x, t.dims, t.sizes), {t.dims.back()}, norm, true));
  Shape others = t.list();
  others.pop_back();
  return others.empty() ? r : c2c(r, others, norm, false);
}

// ---- frequencies and shifts

// n, d, dtype, layout, device, pin_memory. `half`: the non-negative ones of a real transform.
template <bool Half>
Value frequencies(const Call& c) {
  const Int n = c[0].to_int();
  INGOT_REQUIRE(n > 0, c.op.schema.name, ": expected a positive number of samples, found ", n);
  const DType t = c[2].dtype_or(thread_state().default_dtype);
  INGOT_REQUIRE(is_floating(t) || is_complex(t), c.op.schema.name, " requires a floating point or complex dtype");
  const Value device = c[4];
  const double step = 1.0 / (static_cast<double>(n.value()) * c[1].to_double());
  if constexpr (Half) return aten<"mul.Scalar">(aten<"arange">(floor_div(n, 2) + 1, t, Value(), device), step);
  const Tensor up = aten<"arange">(floor_div(n + 1, 2), t, Value(), device);
  const Tensor down = aten<"arange.start">(-floor_div(n, 2), 0, t, Value(), device);
  return aten<"mul.Scalar">(cat({up, down}), step);
}
template <bool Inverse>
Value shifted(const Call& c) {
  const Tensor& x = c.tensor(0);
  Shape dims, shifts;
  if (c[1].is_none())
    for (int i = 0; i < x.dim(); i++) dims.push_back(i);
  else
    for (Int d : c[1].ints()) dims.push_back(wrap_dim(d.value(), static_cast<int>(x.dim())));
  for (Int d : dims) shifts.push_back(floor_div(x.size(d.value()) + (Inverse ? 1 : 0), 2));
  return aten<"roll">(x, shifts, dims);
}

// ---- short-time transforms

// The window a frame is multiplied with, centred in n_fft; undefined for none.
Tensor frame_window(const Value& window, int64_t win_length, int64_t n_fft, DType dtype, Device device) {
  Tensor w = window.tensor_or_none();
  if (win_length == n_fft) return w;
  if (!w.defined()) w = aten<"ones">(Shape{win_length}, dtype, Value(), device);
  const int64_t left = (n_fft - win_length) / 2;
  return aten<"constant_pad_nd">(w, Shape{left, n_fft - win_length - left});
}
struct Frames {
  int64_t n_fft, hop, win_length;
  Frames(const Call& c, const Value& window)
      : n_fft(c[1].to_int64()), hop(c[2].is_none() ? n_fft / 4 : c[2].to_int64()),
        win_length(c[3].is_none() ? n_fft : c[3].to_int64()) {
    const std::string& op = c.op.schema.name;
    INGOT_REQUIRE(n_fft > 0, op, ": expected n_fft > 0, but got n_fft=", n_fft);
    INGOT_REQUIRE(hop > 0, op, ": expected hop_length > 0, but got hop_length=", hop);
    INGOT_REQUIRE(win_length > 0 && win_length <= n_fft, op,
                  ": expected 0 < win_length <= n_fft, but got win_length=", win_length);
    INGOT_REQUIRE(!window.is_tensor() || (window.tensor().dim() == 1 && window.tensor().size(0) == win_length), op,
                  ": expected a 1D window tensor of size equal to win_length=", win_length);
  }
};
Value stft(const Call& c, bool center, const std::string& mode, int at) {  // normalized, onesided, return_complex stand at `at`
  const Tensor& self = c.tensor(0);
  const Frames f(c, c[4]);
  INGOT_REQUIRE(is_differentiable(self.dtype()) && (self.dim() == 1 || self.dim() == 2),
                "stft: expected a 1D or 2D tensor of floating types, found ", self.sizes(), " of ", self.dtype());
  Tensor x = self.dim() == 1 ? self.unsqueeze(0) : self;
  if (center) {
    const Tensor padded = aten<"pad">(x.unsqueeze(0), Shape{f.n_fft / 2, f.n_fft / 2}, mode);
    x = padded.squeeze(0);
  }
  INGOT_REQUIRE(x.size(1) >= f.n_fft, "stft: expected 0 < n_fft <= ", x.size(1), ", but got n_fft=", f.n_fft);
  const Int frames = floor_div(x.size(1) - f.n_fft, f.hop) + 1;
  Tensor y = x.as_strided({x.size(0), frames, f.n_fft}, {x.stride(0), x.stride(1) * f.hop, x.stride(1)});
  const Tensor w = frame_window(c[4], f.win_length, f.n_fft, self.dtype(), self.device());
  if (w.defined()) y = y * w;
  const bool complex = y.is_complex(), onesided = c[at + 1].bool_or(!complex);
  INGOT_REQUIRE(!complex || !onesided, "Cannot have onesided output if window or input is complex");
  const Norm norm = c[at].to_bool() ? by_root_n : none;
  y = (complex ? c2c(y, {2}, norm, true) : r2c(y, {2}, norm, onesided)).transpose(1, 2);
  if (self.dim() == 1) y = y.squeeze(0);
  const bool return_complex = c[at + 2].bool_or(complex);
  return return_complex ? y : aten<"view_as_real">(y);
}
// self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex
Value istft(const Call& c) {
  const Frames f(c, c[4]);
  Tensor x = c.tensor(0);
  INGOT_REQUIRE(x.is_complex() && (x.dim() == 2 || x.dim() == 3),
                "istft requires a complex-valued input tensor of 2 or 3 dims, found ", x.sizes(), " of ", x.dtype());
  const bool batched = x.dim() == 3, center = c[5].to_bool(), return_complex = c[9].to_bool();
  if (!batched) x = x.unsqueeze(0);
  const bool onesided = c[7].bool_or(!(x.size(1) == f.n_fft));
  INGOT_REQUIRE(x.size(1) == (onesided ? f.n_fft / 2 + 1 : f.n_fft),
                "istft: expected the frequency dimension (3rd to the last) of the input tensor "
                "to match n_fft / 2 + 1 when onesided=True or n_fft otherwise, but got ",
                x.size(1));
  INGOT_REQUIRE(!return_complex || !onesided, "Cannot have onesided output if window or input is complex");
  const Int frames = x.size(2), full = (frames - 1) * f.hop + f.n_fft;
  Tensor w = frame_window(c[4], f.win_length, f.n_fft, real_of(x.dtype()), x.device());
  if (!w.defined()) w = aten<"ones">(Shape{f.n_fft}, real_of(x.dtype()), Value(), x.device());
  x = x.transpose(1, 2);
  const Norm norm = c[6].to_bool() ? by_root_n : by_n;
  Tensor y;
  if (return_complex) y = c2c(x, {2}, norm, false);
  else y = c2r(onesided ? x : x.slice(-1, 0, f.n_fft / 2 + 1), {2}, norm, f.n_fft);
  auto overlap_add = [&](const Tensor& t) { return aten<"unfold_backward">(t, Shape{t.size(0), full}, 1, f.n_fft, f.hop); };
  const Int start = center ? f.n_fft / 2 : 0;
  const Int end = !c[8].is_none() ? start + c[8].to_int() : center ? full - f.n_fft / 2 : full;
  const Tensor sum = overlap_add(y * w.view({1, 1, f.n_fft})).slice(1, start, end);
  const Tensor envelope = overlap_add((w * w).expand({1, frames, f.n_fft})).slice(1, start, end);
  Tensor r = sum / envelope;
  if (end > full) r = aten<"constant_pad_nd">(r, Shape{0, end - full});
  return batched ? r : r.squeeze(0);
}

constexpr OpDef factory(std::string_view schema, Value (*body)(const Call&)) {
  OpDef d{.schema = schema, .form = Form::factory, .body = body};
  d.grad.none = true;
  return d;
}

#define ONE_DIM "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"
#define TWO_DIMS "(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor"
#define MANY_DIMS "(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"
#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"

constexpr OpDef kFftCompositeOps[] = {
    in_float32(composite("aten::fft_fft" ONE_DIM, [](const Call& c) { return complex_1d(c, true); })),
    in_float32(composite("aten::fft_ifft" ONE_DIM, [](const Call& c) { return complex_1d(c, false); })),
    in_float32(composite("aten::fft_rfft" ONE_DIM, [](const Call& c) { return real_1d(c, true); })),
    in_float32(composite("aten::fft_ihfft" ONE_DIM, [](const Call& c) { return real_1d(c, false); })),
    in_float32(composite("aten::fft_irfft" ONE_DIM, [](const Call& c) { return hermitian_1d(c, false); })),
    in_float32(composite("aten::fft_hfft" ONE_DIM, [](const Call& c) { return hermitian_1d(c, true); })),
    in_float32(composite("aten::fft_fft2" TWO_DIMS, [](const Call& c) { return complex_nd(c, true); })),
    in_float32(composite("aten::fft_ifft2" TWO_DIMS, [](const Call& c) { return complex_nd(c, false); })),
    in_float32(composite("aten::fft_rfft2" TWO_DIMS, rfftn)),
    in_float32(composite("aten::fft_irfft2" TWO_DIMS, irfftn)),
    composite("aten::fft_hfft2" TWO_DIMS, hfftn),
    composite("aten::fft_ihfft2" TWO_DIMS, ihfftn),
    in_float32(composite("aten::fft_fftn" MANY_DIMS, [](const Call& c) { return complex_nd(c, true); })),
    in_float32(composite("aten::fft_ifftn" MANY_DIMS, [](const Call& c) { return complex_nd(c, false); })),
    in_float32(composite("aten::fft_rfftn" MANY_DIMS, rfftn)),
    in_float32(composite("aten::fft_irfftn" MANY_DIMS, irfftn)),
    composite("aten::fft_hfftn" MANY_DIMS, hfftn),
    composite("aten::fft_ihfftn" MANY_DIMS, ihfftn),
    factory("aten::fft_fftfreq(int n, float d=1., *, " OPTIONS, frequencies<false>),
    factory("aten::fft_rfftfreq(int n, float d=1., *, " OPTIONS, frequencies<true>),
    composite("aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", shifted<false>),
    composite("aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", shifted<true>),
    in_float32(composite(
        "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? "
        "onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
        [](const Call& c) { return stft(c, false, "reflect", 5); })),
    in_float32(composite(
        "aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str "
        "pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
        [](const Call& c) { return stft(c, c[5].to_bool(), c[6].string(), 7); })),
    composite(
        "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool "
        "normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
        istft),
};

}  // namespace

INGOT_FAMILY(fft_composite, kFftCompositeOps)

}  // namespace ingot
