#include "ingot/npy.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "io/dense.hpp"
#include "io/file.hpp"
#include "io/npy_header.hpp"

namespace ingot {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestNpyHeader = std::size_t{1} << 20;  // a hundred times what NumPy takes by itself

struct NpyDType {
  std::string_view name;
  DType dtype;
};  // without the byte order
constexpr NpyDType kNpyDTypes[] = {{"b1", DType::b8},  {"u1", DType::u8},   {"i1", DType::i8},  {"u2", DType::u16},
                                   {"i2", DType::i16}, {"f2", DType::f16},  {"u4", DType::u32}, {"i4", DType::i32},
                                   {"f4", DType::f32}, {"u8", DType::u64},  {"i8", DType::i64}, {"f8", DType::f64},
                                   {"c8", DType::c64}, {"c16", DType::c128}};

// Reads the Python dict of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class DictReader {
 public:
  DictReader(std::string_view dict, std::string_view what) : dict_(dict), what_(what) {}

  NpyHeader read() {
    NpyHeader h;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted("a key in quotes or '}'");
      bool* const has = key == "descr" ? &has_descr : key == "fortran_order" ? &has_order : key == "shape" ? &has_shape : nullptr;
      if (has == nullptr) fail("the header has the unknown key ", shown_name(key));
      if (std::exchange(*has, true)) fail("the header has two keys ", shown_name(key));
      expect(':');
      if (has == &has_descr) h.dtype = descr();
      else if (has == &has_order) h.fortran_order = boolean();
      else h.sizes = shape();
      if (!accept(',') && peek() != '}') fail_expected("',' or '}'");
    }
    skip_spaces();
    if (at_ != dict_.size()) fail_expected("the end of the header");
    if (!has_descr || !has_order || !has_shape)
      fail("the header has no key '", !has_descr ? "descr" : !has_order ? "fortran_order" : "shape", "'");
    const auto bytes = dense_bytes(h.sizes, h.dtype);
    if (!bytes) fail("the shape ", Shape(h.sizes), " of ", h.dtype, " has more bytes than a file can have");
    h.nbytes = *bytes;
    return h;
  }

 private:
  std::string_view dict_, what_;
  std::size_t at_ = 0;

  template <class... T>
  [[noreturn]] void fail(const T&... parts) const {
    throw_user_error(text(what_, ": ", parts...));
  }
  [[noreturn]] void fail_expected(std::string_view expected) const {
    fail("expected ", expected, " at byte ", at_, " of the header's text, found ",
         at_ < dict_.size() ? shown_name(dict_.substr(at_, 16)) : "its end");
  }

  void skip_spaces() { at_ = std::min(dict_.find_first_not_of(" \n\t\r", at_), dict_.size()); }
  char peek() {
    skip_spaces();
    return at_ < dict_.size() ? dict_[at_] : '\0';
  }
  bool accept(char c) {
    if (at_ >= dict_.size() || peek() != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail_expected(text("'", std::string_view(&c, 1), "'"));
  }

  std::string_view quoted(std::string_view expected) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail_expected(expected);
    const std::size_t end = dict_.find(quote, at_ + 1);
    if (end == dict_.npos) fail_expected("a string that ends");
    const std::string_view s = dict_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return s;
  }

  bool boolean() {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (dict_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail_expected("True or False");
  }

  DType descr() {
    if (peek() == '[') fail("structured arrays are not supported: the descr is a list of fields");
    const std::string_view descr = quoted("a dtype in quotes");
    std::string_view name = descr;
    char order = '|';
    if (!name.empty() && std::string_view("<>=|").find(name[0]) != std::string_view::npos) {
      order = name[0];
      name.remove_prefix(1);
    }
    for (const NpyDType& d : kNpyDTypes) {
      if (d.name != name) continue;
      if (order == '>' && size_of(d.dtype) > 1)
        fail("the dtype ", shown_name(descr),
             " is big-endian, and only little-endian arrays are read; in NumPy, save "
             "a.astype('<",
             name, "')");
      return d.dtype;
    }
    if (name.starts_with('O')) fail("the dtype ", shown_name(descr), " is a pickled object, which is never read");
    fail("the dtype ", shown_name(descr), " is unknown; expected one such as '<f4', '<i8' or '|b1'");
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      if (sizes.size() == kMaxFileDims) fail("the shape has more than ", kMaxFileDims, " dimensions");
      sizes.push_back(count());
      if (!accept(',') && peek() != ')') fail_expected("',' or ')'");
    }
    return sizes;
  }

  int64_t count() {
    peek();
    const std::size_t start = at_;
    int64_t n = 0;
    for (; at_ < dict_.size() && dict_[at_] >= '0' && dict_[at_] <= '9'; at_++) {
      n = n * 10 + (dict_[at_] - '0');
      if (n >= int64_t{1} << 58) fail("a size of the shape is too large");
    }
    if (at_ == start) fail_expected("a size");
    (void)accept('L');  // what Python 2 wrote
    return n;
  }
};

}  // namespace

std::size_t npy_header_size(std::string_view start, std::string_view what) {
  INGOT_REQUIRE(start.size() >= 10 && start.starts_with(kMagic), what, ": it does not start as an npy file does, with ",
                "'\\x93NUMPY', a version and a length");
  const int major = static_cast<unsigned char>(start[6]), minor = static_cast<unsigned char>(start[7]);
  // 1: length of two bytes; 2: of four; 3: as 2, with UTF-8 in field names, which only structured
  // arrays have.
  INGOT_REQUIRE(major >= 1 && major <= 3 && minor == 0, what, ": its version is ", major, ".", minor,
                " when it should be 1.0, 2.0 or 3.0");
  const std::size_t prefix = major == 1 ? 10 : 12;
  INGOT_REQUIRE(start.size() >= prefix, what, ": it ends inside its header");
  uint32_t length = 0;
  std::memcpy(&length, start.data() + 8, prefix - 8);
  INGOT_REQUIRE(length <= kLongestNpyHeader, what, ": its header has ", length, " bytes, and at most ", kLongestNpyHeader,
                " are allowed");
  return prefix + length;
}

NpyHeader parse_npy_header(std::string_view header, std::string_view what) {
  return DictReader(header.substr(header[6] == 1 ? 10 : 12), what).read();
}

std::string npy_header_of(const Tensor& t, std::string_view what) {
  std::string_view name;
  for (const NpyDType& d : kNpyDTypes)
    if (d.dtype == t.dtype()) name = d.name;
  INGOT_REQUIRE(!name.empty(), what, ": NumPy has no type for ", t.dtype(), "; save it as safetensors");
  std::string shape;
  for (const Int s : t.sizes()) shape += text(shape.empty() ? "" : " ", s, ",");
  if (t.dim() > 1) shape.pop_back();  // (3,) needs its comma, (3, 4) has it between
  std::string dict =
      text("{'descr': '", size_of(t.dtype()) == 1 ? "|" : "<", name, "', 'fortran_order': False, 'shape': (", shape, "), }");
  // Version 2 exists for lengths that two bytes cannot hold; no tensor comes near, for its rank is
  // a few dozen at most.
  constexpr std::size_t kPrefix = 10, kAlignment = 64;
  dict.resize((kPrefix + dict.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kPrefix - 1, ' ');
  dict += '\n';
  INGOT_REQUIRE(dict.size() <= 0xffff, what, ": a tensor of ", t.dim(), " dimensions has too long a header");
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(dict.size() & 0xff);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

Tensor npy_tensor(const NpyHeader& h, Ref<Storage> storage, std::string_view what) {
  if (h.dtype == DType::b8) require_bools(storage->data(), h.nbytes, what);
  Geometry g = Geometry::contiguous(Shape(h.sizes), h.dtype);
  if (h.fortran_order) {
    Int stride = 1;
    for (std::size_t i = 0; i < h.sizes.size(); i++) {
      g.strides[i] = stride;
      stride = stride * Int(std::max<int64_t>(h.sizes[i], 1));
    }
  }
  return Tensor(make_ref<TensorImpl>(std::move(storage), std::move(g)));
}

Tensor load_npy(const std::string& path) {
  const std::string what = text("bad npy file ", path);
  const Ref<MappedFile> file = MappedFile::open(path);
  const std::size_t begin = npy_header_size(file->bytes(), what);
  INGOT_REQUIRE(begin <= file->size(), what, ": its header should have ", begin, " bytes, and the file has ", file->size());
  const NpyHeader h = parse_npy_header(file->bytes().substr(0, begin), what);
  const std::size_t rest = file->size() - begin;
  INGOT_REQUIRE(rest == static_cast<std::size_t>(h.nbytes), what, ": the shape ", Shape(h.sizes), " of ", h.dtype, " needs ",
                h.nbytes, " bytes, and ", rest, " follow the header");
  return npy_tensor(h, storage_over(file, file->data() + begin, h.nbytes, alignment_of(h.dtype)), what);
}

void save_npy(const std::string& path, const Tensor& t) {
  const std::string what = text("cannot write npy file ", path);
  require_bytes(t, what);
  const std::string header = npy_header_of(t, what);
  const Tensor dense = row_major(t);
  PendingFile file(path);
  file.write(header);
  file.write(dense.data_ptr(), static_cast<std::size_t>(dense.numel().value() * dense.itemsize()));
  file.commit();
}

}  // namespace ingot
