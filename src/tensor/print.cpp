#include "tensor/print.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/device_elements.hpp"
#include "tensor/impl.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

// A number as Python's format() writes it: like printf, but a NaN has no sign.
std::string formatted(double v, int precision, char kind) {
  if (std::isnan(v)) return "nan";
  const char format[] = {'%', '.', '*', kind, 0};
  std::string s(static_cast<std::size_t>(std::snprintf(nullptr, 0, format, precision, v)), ' ');
  std::snprintf(s.data(), s.size() + 1, format, precision, v);
  return s;
}

std::string padded(std::string s, std::size_t width) { return s.size() < width ? std::string(width - s.size(), ' ') + s : s; }

// What the elements of a tensor look like, one text each, and how wide a column of them is.
struct Cells {
  std::vector<std::string> texts;
  std::size_t width = 1;
};

// One notation is chosen for all numbers: integers with a bare point, fixed digits, or scientific
// when they are far apart, big or small. Zeros and non-finite numbers have no say in it, nor in the
// width.
Cells real_cells(const std::vector<double>& values, int precision) {
  double least = INFINITY, most = 0;
  bool whole = true;
  for (double v : values) {
    if (v == 0 || !std::isfinite(v)) continue;
    least = std::min(least, std::abs(v));
    most = std::max(most, std::abs(v));
    whole &= v == std::ceil(v);
  }
  const bool scientific = most > 0 && (most / least > 1000 || most > 1e8 || least < 1e-4);
  auto number = [&](double v) {
    if (scientific) return formatted(v, precision, 'e');
    if (!whole) return formatted(v, precision, 'f');
    return formatted(v, 0, 'f') + (std::isfinite(v) ? "." : "");
  };
  Cells c;
  for (double v : values) {
    c.texts.push_back(number(v));
    if (v != 0 && std::isfinite(v)) c.width = std::max(c.width, c.texts.back().size());
  }
  for (std::string& s : c.texts) s = padded(std::move(s), c.width);
  return c;
}

Cells complex_cells(const std::vector<std::complex<double>>& values, int precision) {
  std::vector<double> re, im;
  for (const auto& v : values) {
    re.push_back(v.real());
    im.push_back(v.imag());
  }
  Cells c = real_cells(re, precision);
  const Cells imaginary = real_cells(im, precision);
  for (std::size_t i = 0; i < values.size(); i++) {
    const std::string s = imaginary.texts[i].substr(imaginary.texts[i].find_first_not_of(' '));
    c.texts[i] += (s[0] == '-' ? "" : "+") + s + "j";
  }
  c.width += imaginary.width + 1;
  return c;
}

Cells plain_cells(std::vector<std::string> texts) {
  Cells c{std::move(texts), 1};
  for (const std::string& s : c.texts) c.width = std::max(c.width, s.size());
  for (std::string& s : c.texts) s = padded(std::move(s), c.width);
  return c;
}

class Printer {
 public:
  Printer(const Tensor& t, const PrintOptions& o)
      : tensor_(t), options_(o), sizes_(t.sizes().values()), strides_(t.strides().values()),
        summarise_(t.numel().value() > o.threshold) {}

  std::string elements(int64_t indent) {
    std::vector<const char*> at;
    gather(0, static_cast<const char*>(tensor_.data_ptr()), at);
    cells_ = cells_of(at);
    next_ = 0;
    return block(0, indent);
  }

 private:
  const Tensor& tensor_;
  const PrintOptions& options_;
  const std::vector<int64_t> sizes_, strides_;
  const bool summarise_;
  Cells cells_;
  std::size_t next_ = 0;  // cells are laid out in the order they were gathered

  bool cut(std::size_t dim) const { return summarise_ && sizes_[dim] > 2 * options_.edge_items; }
  // Calls f(index) for each index of the dim that is shown, `gap` where the middle is left out.
  template <class F, class G>
  void each_shown(std::size_t dim, const F& f, const G& gap) const {
    const int64_t n = sizes_[dim], edge = options_.edge_items;
    for (int64_t i = 0; i < n; i++) {
      if (cut(dim) && i == edge) {
        gap();
        i = n - edge;
      }
      if (i < n) f(i);
    }
  }

  void gather(std::size_t dim, const char* p, std::vector<const char*>& at) const {
    if (dim == sizes_.size()) return at.push_back(p);
    each_shown(dim, [&](int64_t i) { gather(dim + 1, p + i * strides_[dim] * tensor_.itemsize(), at); }, [] {});
  }

  template <class T>
  std::vector<T> load(const std::vector<const char*>& at, Compute as) const {
    std::vector<T> values(at.size());
    for (std::size_t i = 0; i < at.size(); i++) load_row(tensor_.dtype(), at[i], 1, 1, as, &values[i]);
    return values;
  }

  Cells cells_of(const std::vector<const char*>& at) const {
    const DType t = tensor_.dtype();
    if (is_complex(t)) return complex_cells(load<std::complex<double>>(at, Compute::c128), options_.precision);
    if (is_floating(t)) return real_cells(load<double>(at, Compute::f64), options_.precision);
    std::vector<std::string> texts;
    for (int64_t v : load<int64_t>(at, Compute::i64)) {
      if (t == DType::b8) texts.emplace_back(v ? "True" : "False");
      else texts.push_back(t == DType::u64 ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(v));
    }
    return plain_cells(std::move(texts));
  }

  std::string row(int64_t indent) {
    const int64_t per_line = std::max<int64_t>(1, (options_.line_width - indent) / static_cast<int64_t>(cells_.width + 2));
    std::string s = "[";
    int64_t n = 0;
    auto put = [&](const std::string& cell) {
      if (n > 0) s += n % per_line == 0 ? ",\n" + std::string(static_cast<std::size_t>(indent + 1), ' ') : ", ";
      s += cell;
      n++;
    };
    each_shown(sizes_.size() - 1, [&](int64_t) { put(cells_.texts[next_++]); }, [&] { put(" ..."); });
    return s + "]";
  }

  std::string block(std::size_t dim, int64_t indent) {
    if (sizes_.empty()) return cells_.texts[0];
    if (dim + 1 == sizes_.size()) return row(indent);
    // As many line breaks as there are dims below: matrices of a batch stand apart by an empty
    // line.
    const std::string between =
        "," + std::string(sizes_.size() - dim - 1, '\n') + std::string(static_cast<std::size_t>(indent + 1), ' ');
    std::string s = "[";
    bool first = true;
    auto put = [&](const std::string& part) {
      if (!first) s += between;
      s += part;
      first = false;
    };
    each_shown(dim, [&](int64_t) { put(block(dim + 1, indent + 1)); }, [&] { put("..."); });
    return s + "]";
  }
};

// A shape as Python writes the tuple.
std::string tuple_text(const Shape& s) {
  std::string t = "(";
  for (std::size_t i = 0; i < s.size(); i++) t += (i ? ", " : "") + to_text(s[i]);
  return t + (s.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string tensor_text(const Tensor& t, DType default_dtype, std::span<const std::string> given, const PrintOptions& options) {
  INGOT_REQUIRE(t.defined(), "an undefined tensor has no text: nothing was assigned to it");
  const bool fake = t->is_fake(), empty = !fake && t.numel().value() == 0;
  const std::string prefix = fake ? "FakeTensor(" : "tensor(";
  std::vector<std::string> suffixes;
  if (t.device().type != DeviceType::cpu) suffixes.push_back(text("device='", t.device(), "'"));
  const DType dtype = t.dtype();
  bool dtype_shows = dtype == default_dtype;  // whether a reader can tell the dtype without being told
  if (fake || empty) {
    if (fake || t.dim() != 1) suffixes.push_back("size=" + tuple_text(t.sizes()));
  } else {
    dtype_shows |= dtype == complex_of(default_dtype) || dtype == DType::i64 || dtype == DType::b8;
  }
  if (!dtype_shows) suffixes.push_back(text("dtype=", dtype));
  suffixes.insert(suffixes.end(), given.begin(), given.end());

  const auto indent = static_cast<int64_t>(prefix.size());
  std::string s = prefix;
  s += fake ? "..." : empty ? "[]" : Printer(elements_on_cpu(t), options).elements(indent);
  // PyTorch counts the last line two longer than it is when there is only one (rfind gives -1), one
  // longer otherwise.
  const std::size_t last_break = s.rfind('\n');
  int64_t line = static_cast<int64_t>(s.size()) - (last_break == std::string::npos ? -1 : static_cast<int64_t>(last_break)) + 1;
  for (const std::string& suffix : suffixes) {
    const auto n = static_cast<int64_t>(suffix.size());
    const bool wrap = line + n + 2 > options.line_width;
    s += (wrap ? ",\n" + std::string(static_cast<std::size_t>(indent), ' ') : std::string(", ")) + suffix;
    line = wrap ? indent + n : line + n + 2;
  }
  return s + ")";
}

}  // namespace ingot
