#include "import/pt2_state.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "import/pt2_enums.hpp"
#include "io/dense.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

namespace {

int64_t plain_number(const Json& sym_int) {
  const auto [tag, value] = sym_int.tagged();
  if (tag != "as_int") sym_int.fail("expected a plain integer (as_int)");
  const int64_t n = value.integer();
  if (n < 0) value.fail(text("expected a number that is not negative, found ", n));
  return n;
}

Geometry geometry_of(const Json& meta) {
  Geometry g;
  g.dtype = dtype_of(meta.field("dtype"));
  layout_of(meta.field("layout"));
  std::vector<int64_t> sizes = meta.field("sizes").map(plain_number);
  const std::vector<int64_t> strides = meta.field("strides").map(plain_number);
  if (sizes.size() != strides.size())
    meta.fail(text(sizes.size(), " sizes and ", strides.size(), " strides"));
  if (sizes.size() > kMaxFileDims) meta.fail(text(sizes.size(), " dims, at most ", kMaxFileDims, " are allowed"));
  g.offset = plain_number(meta.field("storage_offset"));
  // Bytes up to the last element. Sizes from a file may overflow anything.
  int64_t last = g.offset.value();
  bool fits = dense_bytes(sizes, g.dtype).has_value(), empty = false;
  for (std::size_t d = 0; d < sizes.size(); d++) {
    int64_t step = 0;
    empty |= sizes[d] == 0;
    fits = fits && !__builtin_mul_overflow(std::max<int64_t>(sizes[d] - 1, 0), strides[d], &step) &&
           !__builtin_add_overflow(last, step, &last);
  }
  constexpr int64_t kMostElements = int64_t{1} << 56;
  if (!fits || (!empty && last >= kMostElements)) meta.fail("the tensor has more bytes than a file can have");
  g.sizes = Shape(sizes);
  g.strides = Shape(strides);
  return g;
}

class StateReader {
 public:
  StateReader(const ZipReader& zip, const std::string& folder) : zip_(zip), folder_(folder) {}

  StateEntry read(std::string_view name, const Json& payload) {
    StateEntry e;
    const std::string file = payload.field("path_name").string();
    if (file.empty() || file.find('/') != file.npos) payload.fail("path_name should be the name of a file, without '/'");
    e.entry = folder_ + file;
    const auto meta = payload.optional("tensor_meta");
    if (!meta) return e;  // a custom object: an error only where it is used
    e.is_parameter = payload.field("is_param").boolean();
    const Json grad = meta->field("requires_grad");
    e.requires_grad = grad.boolean();
    const Geometry g = geometry_of(*meta);
    e.sizes = g.sizes;
    e.dtype = g.dtype;
    const auto pickled = payload.optional("use_pickle");
    if (pickled && pickled->boolean())
      payload.fail(text("weight ", name, " is stored pickled; only plain tensors are supported"));
    if (!zip_.contains(e.entry)) return e;
    const Ref<Storage> storage = storage_of(e.entry);
    const int64_t have = storage->nbytes().value(), need = required_bytes(g).value();
    if (have == 0 && need > 0) return e;  // the exporter had no data
    if (have < need)
      payload.fail(text("payload ", e.entry, " of ", name, " has ", have, " bytes, ", need, " needed"));
    if (g.dtype == DType::b8) normalize_bools(*storage);
    e.tensor = Tensor(Ref<TensorImpl>(new TensorImpl(storage, g)));
    return e;
  }

 private:
  const ZipReader& zip_;
  const std::string& folder_;
  std::map<std::string, Ref<Storage>> storages_;

  Ref<Storage> storage_of(const std::string& entry) {
    Ref<Storage>& s = storages_[entry];
    if (!s) s = zip_.read_bytes(entry);
    return s;
  }
  // In a file every byte but zero is true; in C++ only one is.
  static void normalize_bools(const Storage& s) {
    auto* bytes = static_cast<unsigned char*>(s.data());
    for (int64_t i = 0; i < s.nbytes().value(); i++) bytes[i] = bytes[i] != 0;
  }
};

}  // namespace

void read_state(const ZipReader& zip, const std::string& config, const std::string& folder,
                std::map<std::string, StateEntry>& state) {
  const JsonDocument document(zip.read_text(config), text(zip.what(), ": ", config));
  StateReader reader(zip, folder);
  for (const auto& [name, payload] : document.root().field("config").fields()) {
    const bool fresh = state.emplace(name, reader.read(name, payload)).second;
    if (!fresh) payload.fail(text(name, " is both a weight and a constant"));
  }
}

}  // namespace ingot
