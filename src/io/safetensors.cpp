#include "io/safetensors.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "io/dense.hpp"
#include "io/file.hpp"
#include "io/json_writer.hpp"

namespace ingot {

namespace {

namespace dom = simdjson::dom;

constexpr uint64_t kLongestHeader = 100'000'000;  // the reference implementation's limit
constexpr std::string_view kMetadata = "__metadata__";

struct NamedDType {
  std::string_view name;
  DType dtype;
};
constexpr NamedDType kDTypeNames[] = {
    {"BOOL", DType::b8},        {"U8", DType::u8},   {"I8", DType::i8},   {"F8_E4M3", DType::f8e4m3fn},
    {"F8_E5M2", DType::f8e5m2}, {"I16", DType::i16}, {"U16", DType::u16}, {"F16", DType::f16},
    {"BF16", DType::bf16},      {"I32", DType::i32}, {"U32", DType::u32}, {"F32", DType::f32},
    {"F64", DType::f64},        {"I64", DType::i64}, {"U64", DType::u64}, {"C64", DType::c64}};

// Where a tensor is said to lie: bytes [begin, end) behind the header.
struct Entry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  uint64_t begin = 0, end = 0;
  Ref<Storage> storage;  // made by the first get, so that all tensors of the name share bytes and version
};

std::string_view kind_in_header(const dom::element& e) {
  switch (e.type()) {
    case dom::element_type::ARRAY: return "a list";
    case dom::element_type::OBJECT: return "an object";
    case dom::element_type::INT64: return int64_t(e) < 0 ? "a negative number" : "a number";
    case dom::element_type::UINT64: return "a number";
    case dom::element_type::DOUBLE: return "a real number";
    case dom::element_type::STRING: return "a string";
    case dom::element_type::BOOL: return "a bool";
    case dom::element_type::NULL_VALUE: return "null";
  }
  return "something else";
}

class HeaderReader {
 public:
  explicit HeaderReader(const MappedFile& file) : file_(file) {}

  std::vector<Entry> entries;  // sorted by name
  std::map<std::string, std::string> metadata;
  uint64_t data_begin = 0;  // in the file

  void read() {
    const std::string_view header = header_text();
    dom::parser parser;
    dom::object object;
    const simdjson::padded_string padded(header);
    const auto error = parser.parse(padded).get(object);
    if (error != simdjson::SUCCESS) fail("the header is not a JSON object: ", std::string_view(simdjson::error_message(error)));
    bool has_metadata = false;
    for (const auto& [key, value] : object) {
      if (key == kMetadata) {
        if (std::exchange(has_metadata, true)) fail("the header has two entries ", shown_name(kMetadata));
        read_metadata(value);
      } else {
        read_entry(key, value);
      }
    }
    check_layout();
  }

 private:
  const MappedFile& file_;

  template <class... T>
  [[noreturn]] void fail(const T&... parts) const {
    throw_user_error(text("bad safetensors file ", file_.path(), ": ", parts...));
  }
  template <class... T>
  [[noreturn]] void fail_in(const Entry& e, const T&... parts) const {
    fail("tensor ", shown_name(e.name), ": ", parts...);
  }

  std::string_view header_text() {
    const std::string_view bytes = file_.bytes();
    uint64_t length = 0;
    if (bytes.size() < sizeof length) fail("expected at least 8 bytes, found ", bytes.size());
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > bytes.size() - sizeof length)
      fail("the header should have ", length, " bytes, and only ", bytes.size() - sizeof length, " follow its length");
    if (length > kLongestHeader) fail("the header has ", length, " bytes, and at most ", kLongestHeader, " are allowed");
    data_begin = sizeof length + length;
    const std::string_view header = bytes.substr(sizeof length, length);
    if (!header.starts_with('{')) fail("the header should start with '{'");
    return header;
  }

  void read_metadata(const dom::element& value) {
    dom::object object;
    if (value.get(object) != simdjson::SUCCESS)
      fail("the metadata should be an object of strings, found ", kind_in_header(value));
    for (const auto& [key, element] : object) {
      std::string_view content;
      if (element.get(content) != simdjson::SUCCESS)
        fail("the metadata ", shown_name(key), " should be a string, found ", kind_in_header(element));
      if (!metadata.emplace(key, content).second) fail("the metadata has two entries ", shown_name(key));
    }
  }

  void read_entry(std::string_view name, const dom::element& value) {
    Entry& e = entries.emplace_back();
    e.name = name;
    dom::object object;
    if (value.get(object) != simdjson::SUCCESS) fail_in(e, "its entry should be an object, found ", kind_in_header(value));
    bool has_dtype = false, has_shape = false, has_offsets = false;
    for (const auto& [key, element] : object) {
      bool* const has = key == "dtype"          ? &has_dtype
                        : key == "shape"        ? &has_shape
                        : key == "data_offsets" ? &has_offsets
                                                : nullptr;
      if (has == nullptr) fail_in(e, "its entry has the unknown field ", shown_name(key));
      if (std::exchange(*has, true)) fail_in(e, "its entry has two fields ", shown_name(key));
      if (has == &has_dtype) read_dtype(e, element);
      else if (has == &has_shape) read_shape(e, element);
      else read_offsets(e, element);
    }
    if (!has_dtype || !has_shape || !has_offsets)
      fail_in(e, "its entry has no field '", !has_dtype ? "dtype" : !has_shape ? "shape" : "data_offsets", "'");
    const auto bytes = dense_bytes(e.sizes, e.dtype);
    if (!bytes) fail_in(e, "the shape ", Shape(e.sizes), " of ", e.dtype, " has more bytes than a file can have");
    if (e.begin > e.end) fail_in(e, "its bytes end at ", e.end, ", before they begin at ", e.begin);
    if (e.end - e.begin != static_cast<uint64_t>(*bytes))
      fail_in(e, "the shape ", Shape(e.sizes), " of ", e.dtype, " needs ", *bytes, " bytes, and the offsets ", e.begin, " to ",
              e.end, " give it ", e.end - e.begin);
  }

  void read_dtype(Entry& e, const dom::element& value) const {
    std::string_view name;
    if (value.get(name) != simdjson::SUCCESS) fail_in(e, "its dtype should be a string, found ", kind_in_header(value));
    for (const NamedDType& d : kDTypeNames) {
      if (d.name != name) continue;
      e.dtype = d.dtype;
      return;
    }
    fail_in(e, "its dtype ", shown_name(name),
            " is unknown; expected one of BOOL, U8 to U64, I8 to I64, F8_E4M3, "
            "F8_E5M2, F16, BF16, F32, F64, C64");
  }

  void read_shape(Entry& e, const dom::element& value) const {
    dom::array list;
    if (value.get(list) != simdjson::SUCCESS) fail_in(e, "its shape should be a list, found ", kind_in_header(value));
    for (const dom::element size : list) {
      uint64_t n = 0;
      if (size.get(n) != simdjson::SUCCESS) fail_in(e, "a size in its shape should be a count, found ", kind_in_header(size));
      if (n >= uint64_t{1} << 62) fail_in(e, "the size ", n, " in its shape is too large");
      if (e.sizes.size() == kMaxFileDims) fail_in(e, "its shape has more than ", kMaxFileDims, " dimensions");
      e.sizes.push_back(static_cast<int64_t>(n));
    }
  }

  void read_offsets(Entry& e, const dom::element& value) const {
    dom::array list;
    if (value.get(list) != simdjson::SUCCESS) fail_in(e, "its data_offsets should be a list, found ", kind_in_header(value));
    std::vector<uint64_t> offsets;
    for (const dom::element offset : list) {
      if (offsets.size() == 2) fail_in(e, "its data_offsets should be two numbers, found more");
      uint64_t n = 0;
      if (offset.get(n) != simdjson::SUCCESS) fail_in(e, "its data_offsets should be counts, found ", kind_in_header(offset));
      offsets.push_back(n);
    }
    if (offsets.size() != 2) fail_in(e, "its data_offsets should be two numbers, found ", offsets.size());
    const uint64_t available = file_.size() - data_begin;
    if (offsets[0] > available || offsets[1] > available)
      fail_in(e, "its offsets ", offsets[0], " to ", offsets[1], " lie outside the ", available, " bytes behind the header");
    e.begin = offsets[0];
    e.end = offsets[1];
  }

  // Each byte behind the header belongs to exactly one tensor, as the format demands.
  void check_layout() {
    std::vector<const Entry*> order;
    for (const Entry& e : entries) order.push_back(&e);
    std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
      return std::tie(a->begin, a->end, a->name) < std::tie(b->begin, b->end, b->name);
    });
    uint64_t covered = 0;
    for (const Entry* e : order) {
      if (e->begin < covered) fail_in(*e, "it starts at byte ", e->begin, ", inside the tensor that ends at ", covered);
      if (e->begin > covered)
        fail_in(*e, "it starts at byte ", e->begin, " when it should at ", covered, ": the bytes between belong to no tensor");
      covered = e->end;
    }
    const uint64_t available = file_.size() - data_begin;
    if (covered != available) fail("the tensors have ", covered, " bytes, and the file has ", available, " behind its header");
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < entries.size(); i++)
      if (entries[i].name == entries[i - 1].name) fail("two tensors are named ", shown_name(entries[i].name));
  }
};

std::string_view dtype_name(DType t) {
  for (const NamedDType& d : kDTypeNames)
    if (d.dtype == t) return d.name;
  return {};
}

}  // namespace

struct SafeTensors::State {
  Ref<MappedFile> file;
  std::map<std::string, std::string> metadata;
  uint64_t data_begin = 0;
  std::mutex mutex;  // guards the storages of the entries
  std::vector<Entry> entries;

  Entry* find(std::string_view name) {
    const auto it =
        std::lower_bound(entries.begin(), entries.end(), name, [](const Entry& e, std::string_view n) { return e.name < n; });
    return it != entries.end() && it->name == name ? &*it : nullptr;
  }
};

SafeTensors SafeTensors::open(const std::string& path) {
  auto state = std::make_shared<State>();
  state->file = MappedFile::open(path);
  HeaderReader reader(*state->file);
  reader.read();
  state->metadata = std::move(reader.metadata);
  state->entries = std::move(reader.entries);
  state->data_begin = reader.data_begin;
  return SafeTensors(std::move(state));
}

std::vector<std::string> SafeTensors::names() const {
  std::vector<std::string> names;
  for (const Entry& e : state_->entries) names.push_back(e.name);
  return names;
}

bool SafeTensors::contains(std::string_view name) const { return state_->find(name) != nullptr; }

const std::map<std::string, std::string>& SafeTensors::metadata() const { return state_->metadata; }

Tensor SafeTensors::get(std::string_view name) const {
  Entry* const e = state_->find(name);
  const std::string& path = state_->file->path();
  INGOT_REQUIRE(e != nullptr, "safetensors file ", path, " has no tensor ", shown_name(name), "; it has ", state_->entries.size(),
                " others");
  const std::lock_guard lock(state_->mutex);
  if (!e->storage) {
    const auto nbytes = static_cast<int64_t>(e->end - e->begin);
    char* const data = state_->file->data() + state_->data_begin + e->begin;
    Ref<Storage> storage = storage_over(state_->file, data, nbytes, alignment_of(e->dtype));
    if (e->dtype == DType::b8)
      require_bools(storage->data(), nbytes, text("bad safetensors file ", path, ": tensor ", shown_name(name)));
    e->storage = std::move(storage);
  }
  return Tensor(make_ref<TensorImpl>(e->storage, Geometry::contiguous(Shape(e->sizes), e->dtype)));
}

SafeTensorsLayout write_safetensors(PendingFile& file, const std::vector<std::pair<std::string, Tensor>>& tensors,
                                    const std::map<std::string, std::string>& metadata) {
  const std::string what = text("cannot write safetensors file ", file.target());
  struct Item {
    std::string name;
    Tensor tensor;
    uint64_t begin = 0, nbytes = 0;
  };
  std::vector<Item> items;  // by name
  for (const auto* t : sorted_by_name(tensors, what)) {
    const std::string where = text(what, ": tensor ", shown_name(t->first));
    INGOT_REQUIRE(t->first != kMetadata, where, " has the name that is kept for metadata");
    require_bytes(t->second, where);
    INGOT_REQUIRE(!dtype_name(t->second.dtype()).empty(), where, ": the format has no dtype for ", t->second.dtype(),
                  "; use npy, or save the real and imaginary parts");
    items.push_back({t->first, t->second, 0, static_cast<uint64_t>(t->second.numel().value() * t->second.itemsize())});
  }
  // Large elements first, so that each tensor is aligned without holes, which the format forbids.
  std::vector<Item*> layout;
  for (Item& i : items) layout.push_back(&i);
  std::stable_sort(layout.begin(), layout.end(),
                   [](const Item* a, const Item* b) { return a->tensor.itemsize() > b->tensor.itemsize(); });
  uint64_t end = 0;
  for (Item* i : layout) {
    i->begin = end;
    end += i->nbytes;
  }

  std::string header = "{";
  const auto separate = [&] {
    if (header.size() > 1) header += ",";
  };
  if (!metadata.empty()) {
    header.append("\"").append(kMetadata).append("\":{");
    bool first = true;
    for (const auto& [key, content] : metadata) {
      if (!std::exchange(first, false)) header += ",";
      header += json_name(key, what);
      header += ":";
      header += json_name(content, what);
    }
    header += "}";
  }
  for (const Item& i : items) {
    separate();
    header += json_name(i.name, what);
    std::string shape;
    for (const Int s : i.tensor.sizes()) shape.append(shape.empty() ? "" : ",").append(to_text(s));
    header += text(":{\"dtype\":\"", dtype_name(i.tensor.dtype()), "\",\"shape\":[", shape, "],\"data_offsets\":[", i.begin, ",",
                   i.begin + i.nbytes, "]}");
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  INGOT_REQUIRE(header.size() <= kLongestHeader, what, ": its header would have ", header.size(), " bytes, more than the ",
                kLongestHeader, " the format allows");

  const uint64_t length = header.size();
  SafeTensorsLayout saved;
  saved.head = std::string(reinterpret_cast<const char*>(&length), sizeof length) + header;
  saved.bytes = saved.head.size() + end;
  file.write(saved.head);
  for (const Item* i : layout) {
    file.write(row_major(i->tensor).data_ptr(), i->nbytes);
    saved.positions.emplace(i->name, saved.head.size() + i->begin);
  }
  return saved;
}

SafeTensorsLayout save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                                   const std::map<std::string, std::string>& metadata) {
  PendingFile file(path);
  SafeTensorsLayout saved = write_safetensors(file, tensors, metadata);
  file.commit();
  return saved;
}

}  // namespace ingot
