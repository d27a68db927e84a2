#include "support/sample.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/shape_env.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"
#include "ops/sparse/sparse_tensor.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot::testing {
namespace {

// A small deterministic stream: samples must be the same on every machine.
class Stream {
 public:
  explicit Stream(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  int64_t integer(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(next() % static_cast<uint64_t>(std::max<int64_t>(1, hi - lo)));
  }

 private:
  uint64_t state_;
};

class Parser {
 public:
  Parser(const Sample& s, Make make, int setting)
      : text_(s.text), make_(make), setting_(setting), stream_(std::hash<int>{}(s.line) + 17) {}

  SampleCall call() {
    const std::size_t open = text_.find('(');
    INGOT_REQUIRE(open != std::string::npos, "a sample is op(arguments)");
    SampleCall c;
    c.op = &op(text_.substr(0, open));
    at_ = open + 1;
    std::vector<bool> given(c.op->schema.args.size());
    c.args.resize(c.op->schema.args.size());
    std::size_t position = 0;
    skip();
    while (peek() != ')') {
      std::size_t i = position;
      if (const std::size_t eq = keyword(); eq != 0) {
        const std::string name = text_.substr(at_, eq - at_);
        const int k = c.op->schema.index_of(name);
        INGOT_REQUIRE(k >= 0, c.op->name, " has no argument '", name, "'");
        i = static_cast<std::size_t>(k);
        at_ = eq + 1;
      } else {
        position++;
      }
      INGOT_REQUIRE(i < c.args.size(), "too many arguments for ", to_text(c.op->schema));
      c.args[i] = value();
      given[i] = true;
      skip();
      if (peek() == ',') at_++;
      skip();
    }
    for (std::size_t i = 0; i < given.size(); i++) {
      if (given[i]) continue;
      INGOT_REQUIRE(c.op->schema.args[i].has_default, "missing argument '", c.op->schema.args[i].name, "' of ",
                    to_text(c.op->schema));
      c.args[i] = c.op->schema.args[i].default_value;
    }
    return c;
  }

  std::map<std::string, int64_t, std::less<>> dims() {
    call();
    return numbers_;
  }

 private:
  const std::string& text_;
  Make make_;
  int setting_;
  Stream stream_;
  std::size_t at_ = 0;
  std::map<std::string, Int> names_;
  std::map<std::string, int64_t, std::less<>> numbers_;

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip() {
    while (peek() == ' ') at_++;
  }
  bool eat(std::string_view t) {
    if (text_.compare(at_, t.size(), t) != 0) return false;
    at_ += t.size();
    return true;
  }
  void expect(char c) {
    skip();
    INGOT_REQUIRE(peek() == c, "expected '", std::string(1, c), "' at column ", at_, " of ", text_);
    at_++;
  }
  // Position of '=' if a keyword argument starts here, else 0.
  std::size_t keyword() const {
    std::size_t i = at_;
    while (i < text_.size() && (std::isalnum(text_[i]) || text_[i] == '_')) i++;
    return i > at_ && i < text_.size() && text_[i] == '=' ? i : 0;
  }
  std::string word() {
    const std::size_t b = at_;
    while (std::isalnum(peek()) || peek() == '_') at_++;
    return text_.substr(b, at_ - b);
  }

  // integer := term (('+'|'-') term)*;  term := factor (('*'|'//') factor)*
  Int integer() {
    Int v = term();
    for (skip(); peek() == '+' || peek() == '-'; skip()) {
      const char c = text_[at_++];
      const Int r = term();
      v = c == '+' ? v + r : v - r;
    }
    return v;
  }
  Int term() {
    Int v = factor();
    for (skip(); peek() == '*' || text_.compare(at_, 2, "//") == 0; skip()) {
      if (eat("//")) v = floor_div(v, factor());
      else at_++, v = v * factor();
    }
    return v;
  }
  Int factor() {
    skip();
    if (eat("-")) return -factor();
    if (std::isdigit(peek())) {
      int64_t v = 0;
      auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
      at_ = static_cast<std::size_t>(r.ptr - text_.data());
      return v;
    }
    const std::string name = word();
    INGOT_REQUIRE(!name.empty(), "expected an integer at column ", at_, " of ", text_);
    skip();
    if (peek() == '=') {  // A=2|4
      at_++;
      const int64_t first = factor().value();
      int64_t second = first;
      if (eat("|")) second = factor().value();
      const int64_t v = setting_ == 0 ? first : second;
      numbers_[name] = v;
      Int i = v;
      if (make_ == Make::symbolic) {
        auto* env = dynamic_cast<ShapeEnv*>(current_guard_env());
        INGOT_ENSURE(env, "no ShapeEnv");
        i = env->symbol(name, v);
      }
      names_[name] = i;
      return i;
    }
    INGOT_REQUIRE(names_.contains(name), "unknown size '", name, "' in ", text_);
    return names_[name];
  }

  static bool is_dtype_name(std::string_view w) {
    for (int i = 0; i < kDTypes; i++)
      if (short_name_of(static_cast<DType>(i)) == w) return true;
    return false;
  }

  Value value() {
    skip();
    const char c = peek();
    if (c == '[') return list();
    if (c == '"') {
      const std::size_t end = text_.find('"', at_ + 1);
      std::string s = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return Value(std::move(s));
    }
    if (std::isalpha(c) || c == '_') {
      const std::size_t start = at_;
      const std::string w = word();
      if (w == "None") return {};
      if (w == "True") return true;
      if (w == "False") return false;
      if (w == "nan") return std::nan("");
      if (w == "inf") return INFINITY;
      if (w == "cpu") return Device{};
      if (w == "cuda") return Device{DeviceType::cuda, 0};
      if (w == "channels_last") return MemoryFormat::channels_last;
      if (w == "channels_last_3d") return MemoryFormat::channels_last_3d;
      if (w == "contiguous_format") return MemoryFormat::contiguous;
      if (w == "preserve_format") return MemoryFormat::preserve;
      if (w == "strided") return Layout::strided;
      if (is_dtype_name(w)) {
        if (peek() == '[') return tensor(dtype_from_name(w));
        return dtype_from_name(w);
      }
      at_ = start;
      return integer();
    }
    return number();
  }

  Value number() {
    const std::size_t b = at_;
    std::size_t e = at_ + (peek() == '-');
    if (text_.compare(e, 3, "inf") == 0) {
      at_ = e + 3;
      return e > b ? -INFINITY : INFINITY;
    }
    bool real = false;
    while (e < text_.size() &&
           (std::isdigit(text_[e]) || text_[e] == '.' || text_[e] == 'e' || (text_[e] == '-' && text_[e - 1] == 'e'))) {
      real |= text_[e] == '.' || text_[e] == 'e';
      e++;
    }
    if (real || (e < text_.size() && text_[e] == 'j')) {
      const double v = std::stod(text_.substr(b, e - b));
      at_ = e;
      if (eat("j")) return std::complex<double>(0, v);
      return v;
    }
    return integer();
  }

  Value list() {
    expect('[');
    Values v;
    for (skip(); peek() != ']'; skip()) {
      v.push_back(value());
      skip();
      if (peek() == ',') at_++;
    }
    expect(']');
    bool tensors = !v.empty(), ints = true, bools = !v.empty(), numbers = true, any_tensor = false;
    for (const Value& x : v) {
      tensors &= x.is_tensor() || x.is_none();
      any_tensor |= x.is_tensor();
      ints &= x.is_int();
      bools &= x.is_bool();
      numbers &= x.is_float() || x.is_int();
    }
    if (tensors && (any_tensor || v[0].is_none())) {
      TensorList l;
      for (const Value& x : v) l.push_back(x.tensor_or_none());
      return l;
    }
    if (bools) {
      std::vector<bool> l;
      for (const Value& x : v) l.push_back(x.to_bool());
      return l;
    }
    if (ints) {
      Shape s;
      for (const Value& x : v) s.push_back(x.to_int());
      return s;
    }
    if (numbers) {
      std::vector<double> l;
      for (const Value& x : v) l.push_back(x.to_double());
      return l;
    }
    return v;
  }

  Value tensor(DType dtype) {
    Shape sizes;
    expect('[');
    for (skip(); peek() != ']'; skip()) {
      sizes.push_back(integer());
      skip();
      if (peek() == ',') at_++;
    }
    expect(']');
    std::set<std::string> mods;
    int64_t lo = -5, hi = 6;
    while (eat(":")) {
      const std::string m = word();
      if (m == "range") {
        expect('(');
        lo = integer().value();
        expect(',');
        hi = integer().value();
        expect(')');
      }
      mods.insert(m);
    }
    return build(dtype, sizes, mods, lo, hi);
  }

  Tensor build(DType dtype, const Shape& sizes, const std::set<std::string>& mods, int64_t lo, int64_t hi) {
    const bool fake = make_ != Make::real;
    const int n = sizes.dim();
    Shape base_sizes = sizes;
    if (mods.contains("t") && n >= 2) std::swap(base_sizes[n - 1], base_sizes[n - 2]);
    if (mods.contains("s") && n >= 1) base_sizes[n - 1] = base_sizes[n - 1] * 2;
    if (mods.contains("x") && n >= 1) base_sizes[0] = 1;
    Geometry base = Geometry::contiguous(base_sizes, dtype);
    if (mods.contains("cl"))
      base.strides = strides_for(base_sizes, n == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d);
    Geometry g = base;
    if (mods.contains("t") && n >= 2) {
      std::swap(g.sizes[n - 1], g.sizes[n - 2]);
      std::swap(g.strides[n - 1], g.strides[n - 2]);
    }
    if (mods.contains("s") && n >= 1) {
      g.sizes[n - 1] = sizes[n - 1];
      g.strides[n - 1] = g.strides[n - 1] * 2;
    }
    if (mods.contains("x") && n >= 1) {
      g.sizes[0] = sizes[0];
      g.strides[0] = 0;
    }
    Tensor t = make_tensor(base, {}, fake);
    if (!fake) fill(t, mods, lo, hi);
    if (mods.contains("sparse")) return make_sparse(aten<"arange">(sizes[0], DType::i64).unsqueeze(0), t, sizes, true);
    return make_alias(t, g);
  }

  void fill(const Tensor& t, const std::set<std::string>& mods, int64_t lo, int64_t hi) {
    const int64_t n = t.numel().value();
    const bool complex = t.is_complex();
    std::vector<double> v(static_cast<std::size_t>(complex ? 2 * n : n));
    std::vector<int64_t> order(v.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; i--)
      std::swap(order[i - 1], order[static_cast<std::size_t>(stream_.integer(0, static_cast<int64_t>(i)))]);
    for (std::size_t i = 0; i < v.size(); i++) {
      if (mods.contains("perm")) v[i] = static_cast<double>(order[i]);
      else if (mods.contains("gap"))
        v[i] = (static_cast<double>(order[i]) - 0.4 * static_cast<double>(v.size())) * (is_floating(t.dtype()) ? 0.37 : 1.0);
      else if (mods.contains("range")) v[i] = static_cast<double>(stream_.integer(lo, hi));
      else if (t.dtype() == DType::b8) v[i] = static_cast<double>(stream_.next() & 1);
      else if (is_integral(t.dtype())) v[i] = static_cast<double>(stream_.integer(is_signed_integral(t.dtype()) ? lo : 0, hi));
      else if (mods.contains("pos")) v[i] = 0.5 + stream_.uniform();
      else if (mods.contains("unit")) v[i] = (stream_.uniform() - 0.5) * 1.8;
      else if (mods.contains("prob")) v[i] = 0.1 + 0.8 * stream_.uniform();
      else {
        // Normal, kept away from 0 where many functions have a kink.
        const double r = std::sqrt(-2 * std::log(stream_.uniform() + 1e-12)) * std::cos(6.283185307179586 * stream_.uniform());
        v[i] = r + (r < 0 ? -0.1 : 0.1);
      }
    }
    // The base is dense whatever its dim order: element i of memory gets value i.
    if (complex) store_row(Compute::c128, v.data(), n, t.dtype(), t.data_ptr(), 1);
    else store_row(Compute::f64, v.data(), n, t.dtype(), t.data_ptr(), 1);
  }
};

}  // namespace

SampleCall make_call(const Sample& s, Make make, int setting) { return Parser(s, make, setting).call(); }
std::map<std::string, int64_t, std::less<>> dims_of(const Sample& s, int setting) {
  return Parser(s, Make::fake, setting).dims();
}

Values results_of(const Value& r) {
  if (r.is_tensors()) return Values(r.tensors().begin(), r.tensors().end());
  if (r.is_values()) return r.values();
  return {r};
}

bool is_double(const Tensor& t) { return t.defined() && (t.dtype() == DType::f64 || t.dtype() == DType::c128); }
bool is_defined(const Tensor& t) { return t.defined(); }

TensorList tensors_of(const Values& args, TensorTest passes) {
  TensorList l;
  for_each_tensor(Args(args), [&](const Tensor& t) {
    if (passes(t)) l.push_back(t);
  });
  return l;
}
Values with_tensors(const Values& args, TensorTest passes, const TensorList& replacement) {
  std::size_t k = 0;
  return map_tensors(Args(args), [&](const Tensor& t) { return passes(t) ? replacement[k++] : t; });
}

std::vector<std::string> sample_files(const std::string& folder) {
  std::vector<std::string> v;
  for (const auto& e : std::filesystem::directory_iterator(folder))
    if (e.path().extension() == ".txt") v.push_back(e.path().string());
  std::sort(v.begin(), v.end());
  return v;
}

std::vector<Sample> read_samples(const std::string& path) {
  std::ifstream in(path);
  INGOT_REQUIRE(in.good(), "cannot read ", path);
  std::vector<Sample> v;
  std::string line;
  for (int n = 1; std::getline(in, line); n++) {
    Sample s;
    s.file = std::filesystem::path(path).filename().string();
    s.line = n;
    const std::size_t hash = line.find('#');
    s.text = line.substr(0, hash);
    while (!s.text.empty() && std::isspace(static_cast<unsigned char>(s.text.back()))) s.text.pop_back();
    if (s.text.empty()) continue;
    s.op_name = s.text.substr(0, s.text.find('('));
    if (hash != std::string::npos) {
      std::istringstream flags(line.substr(hash + 1));
      for (std::string f; flags >> f;) s.flags.insert(f);
    }
    v.push_back(std::move(s));
  }
  return v;
}

}  // namespace ingot::testing
