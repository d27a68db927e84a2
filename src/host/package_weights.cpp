#include "host/package_weights.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "format/pt2/archive.hpp"
#include "io/dense.hpp"
#include "io/file.hpp"
#include "io/zip.hpp"

namespace ingot {
namespace {

constexpr std::size_t kAlignment = 64;

// {"original name": ["file", [sizes], [strides], offset], …}, and nothing else. JSON is otherwise
// read by a library that programs which only run models do not have.
class WeightsList {
 public:
  struct Entry {
    std::string fqn, file;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
  };

  WeightsList(std::string_view json, std::string what) : json_(json), what_(std::move(what)) {}

  std::vector<Entry> read() {
    std::vector<Entry> entries;
    expect('{');
    if (!take('}')) {
      do entries.push_back(entry());
      while (take(','));
      expect('}');
    }
    skip_spaces();
    if (at_ != json_.size()) fail("the end of the file");
    return entries;
  }

 private:
  std::string_view json_;
  std::string what_;
  std::size_t at_ = 0;

  [[noreturn]] void fail(std::string_view expected) const {
    throw_user_error(text(what_, ": expected ", expected, " at byte ", at_,
                          "; the file has the form {\"name\": [\"file\", [sizes], [strides], offset], …}"));
  }
  void skip_spaces() { at_ = std::min(json_.find_first_not_of(" \t\r\n", at_), json_.size()); }
  bool take(char c) {
    skip_spaces();
    const bool is_there = at_ < json_.size() && json_[at_] == c;
    at_ += is_there;
    return is_there;
  }
  void expect(char c) {
    if (!take(c)) fail(text("'", std::string_view(&c, 1), "'"));
  }

  Entry entry() {
    Entry e;
    e.fqn = string();
    expect(':');
    expect('[');
    e.file = string();
    expect(',');
    e.sizes = numbers();
    expect(',');
    e.strides = numbers();
    expect(',');
    e.offset = number();
    expect(']');
    return e;
  }
  int64_t number() {
    skip_spaces();
    int64_t n = 0;
    const auto [end, error] = std::from_chars(json_.data() + at_, json_.data() + json_.size(), n);
    if (error != std::errc()) fail("a whole number");
    at_ = static_cast<std::size_t>(end - json_.data());
    return n;
  }
  std::vector<int64_t> numbers() {
    std::vector<int64_t> all;
    expect('[');
    if (take(']')) return all;
    do all.push_back(number());
    while (take(','));
    expect(']');
    return all;
  }
  std::string string() {
    expect('"');
    std::string s;
    for (; at_ < json_.size() && json_[at_] != '"'; at_++) {
      if (json_[at_] == '\\') escaped(s);
      else s += json_[at_];
    }
    if (at_ == json_.size()) fail("the end of a string");
    at_++;
    return s;
  }
  // At a backslash; leaves at the last character of what it begins.
  void escaped(std::string& s) {
    constexpr std::string_view kWritten = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    at_++;
    const char c = at_ < json_.size() ? json_[at_] : '\0';
    if (const std::size_t k = kWritten.find(c); k != kWritten.npos) {
      s += kMeant[k];
      return;
    }
    if (c != 'u') fail("a character that may come after a backslash");
    uint32_t code = unit();
    if (code >= 0xd800 && code < 0xdc00) {  // the first of two
      at_++;
      if (json_.substr(at_, 2) != "\\u") fail("the second half of a character");
      at_++;
      const uint32_t low = unit();
      if (low < 0xdc00 || low > 0xdfff) fail("the second half of a character");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    add_utf8(s, code);
  }
  // Four hexadecimal digits after the u; leaves at the last of them.
  uint32_t unit() {
    uint32_t v = 0;
    const char* first = json_.data() + at_ + 1;
    const char* last = first + std::min<std::size_t>(4, json_.size() - at_ - 1);
    const auto [end, error] = std::from_chars(first, last, v, 16);
    if (error != std::errc() || end != first + 4) fail("four hexadecimal digits");
    at_ += 4;
    return v;
  }
  static void add_utf8(std::string& s, uint32_t code) {
    const auto tail = [&](int shift) { s += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) s += static_cast<char>(code);
    else if (code < 0x800) s += static_cast<char>(0xc0 | (code >> 6)), tail(0);
    else if (code < 0x10000) s += static_cast<char>(0xe0 | (code >> 12)), tail(6), tail(0);
    else s += static_cast<char>(0xf0 | (code >> 18)), tail(12), tail(6), tail(0);
  }
};

// The bytes of the file, or the storage of the tensor that torch.save wrote into it. Whatever its
// pickle says of the tensor, there is one storage in such a file, and it is whole.
Ref<Storage> read_weight(const OwnedBytes& bytes, const std::string& path) {
  // A copy: the package may be written anew, over itself, while its model runs.
  const Ref<MappedFile> file = MappedFile::open(AnonymousFile(bytes.view(), path).path());
  if (!file->bytes().starts_with("PK\3\4"))
    return storage_over(file, file->data(), static_cast<int64_t>(file->size()), kAlignment);
  const ZipReader zip = ZipReader::over({file->data(), file->size(), file}, path);
  std::vector<std::string> storages;
  for (const std::string& name : zip.names()) {
    if (name.find("/data/") != name.npos) storages.push_back(name);
    if (name.ends_with("/byteorder"))
      INGOT_REQUIRE(zip.read_text(name, 64) == "little", path,
                    ": its numbers are not little-endian, as they are on this machine");
  }
  INGOT_REQUIRE(storages.size() == 1, path, ": expected a tensor in the file of torch.save, found ", storages.size(),
                " storages");
  return zip.read_storage(storages[0]);
}

}  // namespace

void PackageWeights::give(const UnpackedModel& model, ModelContainer& container, const MakeHandle& handle, CallSite from) {
  if (!model.weights_blob.empty()) container.update_from_blob(model.weights_blob, from);
  if (!model.weights_config) return;
  const std::vector<ListedWeight> weights = listed(model, container.constants(from));
  if (weights.empty()) return;
  Handles given(container.library(), weights.size());
  std::vector<AOTInductorConstantMapEntry> pairs;
  for (const ListedWeight& w : weights) {
    given.add(handle(w));
    pairs.push_back({w.name.c_str(), given[given.size() - 1]});
  }
  container.update(pairs, ModelContainer::Give::in_place, false, false, from);
}

// Those that are among the constants.
std::vector<ListedWeight> PackageWeights::listed(const UnpackedModel& model,
                                                 const std::vector<ModelContainer::Constant>& constants) {
  std::vector<ListedWeight> weights;
  const std::string list = model.archive->zip.what("weights_config.json");
  for (WeightsList::Entry& e : WeightsList(*model.weights_config, list).read()) {
    const auto constant = std::ranges::find_if(constants, [&](const auto& c) { return !c.is_folded && c.fqn == e.fqn; });
    if (constant == constants.end()) continue;
    const std::string what = text(list, ": '", e.fqn, "': ");
    const auto dtype = dtype_of_code(constant->dtype);
    INGOT_REQUIRE(dtype, what, "the model's dtype is none of Ingot's");
    INGOT_REQUIRE(e.file.find('/') == e.file.npos && !e.file.empty(), what,
                  "expected the name of a file in data/weights, found '", e.file, "'");
    Ref<Storage>& storage = storages_[e.file];
    if (!storage) {
      INGOT_REQUIRE(model.has_weight(e.file), what, "the package has no file data/weights/", e.file);
      storage = read_weight(model.weight(e.file), model.archive->zip.what(e.file));
    }
    const auto needed = e.sizes.size() == e.strides.size() ? strided_bytes(e.sizes, e.strides, e.offset, *dtype) : std::nullopt;
    INGOT_REQUIRE(needed && *needed <= storage->nbytes().value(), what, "the tensor does not lie within ", e.file);
    weights.push_back({constant->name, *dtype, storage, std::move(e.sizes), std::move(e.strides), e.offset});
  }
  return weights;
}

}  // namespace ingot
