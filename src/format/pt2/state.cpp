#include "format/pt2/state.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "io/json.hpp"
#include "format/pt2/pickle.hpp"
#include "format/pt2/enums.hpp"
#include "io/dense.hpp"

namespace ingot {

namespace {

using State = std::map<std::string, StateEntry>;

void add(State& state, std::string name, StateEntry e, const std::string& where) {
  INGOT_REQUIRE(!state.contains(name), where, ": ", shown_name(name), " is there twice, or both a weight and a constant");
  state.emplace(std::move(name), std::move(e));
}

int64_t plain_number(const Json& sym_int) {
  const auto [tag, value] = sym_int.tagged();
  if (tag != "as_int") sym_int.fail("expected a plain integer (as_int)");
  const int64_t n = value.integer();
  if (n < 0) value.fail(text("expected a number that is not negative, found ", n));
  return n;
}

struct View {
  Geometry geometry;
  int64_t nbytes = 0;  // of the payload, up to the last element
};

View view_of(const Json& meta) {
  View v;
  v.geometry.dtype = dtype_of(meta.field("dtype"));
  layout_of(meta.field("layout"));
  const std::vector<int64_t> sizes = meta.field("sizes").map(plain_number), strides = meta.field("strides").map(plain_number);
  if (sizes.size() != strides.size()) meta.fail(text(sizes.size(), " sizes and ", strides.size(), " strides"));
  if (sizes.size() > kMaxFileDims) meta.fail(text(sizes.size(), " dims, at most ", kMaxFileDims, " are allowed"));
  const int64_t offset = plain_number(meta.field("storage_offset"));
  const auto nbytes = strided_bytes(sizes, strides, offset, v.geometry.dtype);
  if (!nbytes) meta.fail("the tensor has more bytes than a file can have");
  v.nbytes = *nbytes;
  v.geometry.offset = offset;
  v.geometry.sizes = Shape(sizes);
  v.geometry.strides = Shape(strides);
  return v;
}

// One folder of payloads, data/weights/ or data/constants/.
class PayloadReader {
 public:
  PayloadReader(const ZipReader& zip, std::string folder) : zip_(zip), folder_(std::move(folder)) {}

  StateEntry read(std::string_view name, const Json& where) {
    const Json payload = where.of("PayloadMeta");
    StateEntry e;
    const std::string file = payload.field("path_name").string();
    if (file.empty() || file.find('/') != file.npos) payload.fail("path_name should be the name of a file, without '/'");
    e.entry = folder_ + file;
    const auto meta = payload.optional("tensor_meta");
    if (!meta) return e;  // a custom object: an error only where it is used
    e.is_parameter = payload.field("is_param").boolean();
    e.requires_grad = meta->field("requires_grad").boolean();
    const View v = view_of(*meta);
    e.sizes = v.geometry.sizes;
    e.dtype = v.geometry.dtype;
    e.strides = v.geometry.strides;
    e.offset = v.geometry.offset;
    if (!zip_.contains(e.entry)) return e;
    const auto pickled = payload.optional("use_pickle");
    e.tensor = pickled && pickled->boolean() ? pickled_tensor(name, e, payload) : plain_tensor(name, e, v, payload);
    return e;
  }

 private:
  struct Payload {
    Ref<Storage> storage;
    bool has_bools = false;  // its bytes were made true bools
  };
  const ZipReader& zip_;
  std::string folder_;
  std::map<std::string, Payload> payloads_;
  std::map<std::string, Tensor> pickled_;  // by entry

  Tensor plain_tensor(std::string_view name, const StateEntry& e, const View& v, const Json& where) {
    Payload& p = payloads_[e.entry];
    if (!p.storage) p.storage = zip_.read_storage(e.entry);
    const int64_t have = p.storage->nbytes().value();
    if (have == 0 && v.nbytes > 0) return {};  // the exporter had no data
    if (have < v.nbytes) where.fail(text("payload ", e.entry, " of ", name, " has ", have, " bytes, ", v.nbytes, " needed"));
    if (e.dtype == DType::b8 && !p.has_bools) normalize_bools(*p.storage);
    p.has_bools |= e.dtype == DType::b8;
    return Tensor(make_ref<TensorImpl>(p.storage, v.geometry));
  }

  // A tensor of a class of its own, which may turn out to be a plain one.
  Tensor pickled_tensor(std::string_view name, const StateEntry& e, const Json& where) {
    Tensor& t = pickled_[e.entry];
    if (!t.defined()) t = read_pickled_tensor(name, e, where);
    if (t.dtype() != e.dtype || !t.sizes().same(e.sizes))
      where.fail(text("weight ", name, " should be ", e.dtype, " of size ", e.sizes, ", and its pickle has ", t.dtype(),
                      " of size ", t.sizes()));
    return Tensor(make_ref<TensorImpl>(t->storage, t->geom));
  }
  Tensor read_pickled_tensor(std::string_view name, const StateEntry& e, const Json& where) const {
    const ZipReader file = ZipReader::over(zip_.read(e.entry), zip_.what(e.entry));
    const std::string foreign = foreign_class(file);
    if (!foreign.empty())
      where.fail(text("weight ", name, " is stored as a pickled ", shown_name(foreign), "; only plain tensors are supported"));
    const PythonValue v = read_torch_save(file);
    if (!v.is(PythonValue::Kind::tensor)) where.fail(text("weight ", name, " is stored as a pickled object that is no tensor"));
    return v.tensor;
  }
};

void read_config(const ZipReader& zip, const std::string& config, const std::string& folder, State& state) {
  const JsonDocument document(zip.read_text(config), text(zip.what(), ": ", config));
  PayloadReader reader(zip, folder);
  for (const auto& [name, payload] : document.root().field("config").fields())
    add(state, std::string(name), reader.read(name, payload), payload.path());
}

// A dict from names to tensors, as torch.save wrote it; an empty entry is an empty dict.
void read_pickled(const ZipReader& zip, const std::string& entry, State& state) {
  if (zip.size(entry) == 0) return;
  const std::string what = zip.what(entry);
  const PythonValue dict = read_torch_save(ZipReader::over(zip.read(entry), what));
  INGOT_REQUIRE(dict.is(PythonValue::Kind::dict), what, ": expected a dict of tensors");
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PythonValue &key = dict.items[i], &value = dict.items[i + 1];
    INGOT_REQUIRE(key.is(PythonValue::Kind::string), what, ": a key of its dict is no string");
    INGOT_REQUIRE(value.is(PythonValue::Kind::tensor), what, ": ", shown_name(key.string), " is no tensor");
    StateEntry e;
    e.tensor = value.tensor;
    e.entry = entry;
    e.sizes = value.tensor.sizes();
    e.dtype = value.tensor.dtype();
    e.is_parameter = value.is_parameter;
    e.requires_grad = value.requires_grad;
    add(state, key.string, std::move(e), what);
  }
}

void read_old_state(const Pt2Archive& a, State& state) {
  for (const std::string name : {"serialized_state_dict", "serialized_constants"}) {
    const std::string pt = name + ".pt", json = name + ".json";  // the same bytes under another name
    if (!a.zip.contains(pt) && !a.zip.contains(json)) a.fail(pt, " not found in PT2 archive");
    read_pickled(a.zip, a.zip.contains(pt) ? pt : json, state);
  }
}

}  // namespace

std::map<std::string, StateEntry> read_all_state(const Pt2Archive& a, const std::string& model) {
  State state;
  if (a.layout == Pt2Archive::Layout::old_program) {
    read_old_state(a, state);
    return state;
  }
  for (const std::string kind : {"weights", "constants"}) {
    const std::string folder = text(a.top, "data/", kind, "/");
    const std::string config = text(folder, model, "_", kind, "_config.json"), pickled = text(folder, model, ".pt");
    if (a.zip.contains(pickled)) {
      read_pickled(a.zip, pickled, state);
    } else {
      if (!a.zip.contains(config)) a.fail(config, " not found in PT2 archive");
      read_config(a.zip, config, folder, state);
    }
  }
  return state;
}

}  // namespace ingot
