// NumPy's zips of arrays.
#include "base/error.hpp"
#include "ingot/npy.hpp"
#include "io/dense.hpp"
#include "io/npy_header.hpp"
#include "io/zip.hpp"
#include "io/zip_writer.hpp"

namespace ingot {

namespace {

constexpr std::string_view kSuffix = ".npy";

Tensor read_array(const OwnedBytes& array, const std::string& what) {
  const std::size_t begin = npy_header_size(array.view(), what);
  INGOT_REQUIRE(begin <= array.size, what, ": its header should have ", begin, " bytes, and all of it has ", array.size);
  const NpyHeader h = parse_npy_header(array.view().substr(0, begin), what);
  const std::size_t rest = array.size - begin;
  INGOT_REQUIRE(rest == static_cast<std::size_t>(h.nbytes), what, ": the shape ", Shape(h.sizes), " of ", h.dtype, " needs ",
                h.nbytes, " bytes, and ", rest, " follow the header");
  return npy_tensor(h, storage_over(array.owner, array.data + begin, h.nbytes, alignment_of(h.dtype)), what);
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> load_npz(const std::string& path) {
  const ZipReader zip = ZipReader::open(path, text("bad npz file ", path));
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (const std::string& name : zip.names()) {
    INGOT_REQUIRE(name.ends_with(kSuffix), zip.what(), ": entry ", shown_name(name),
                  " should be an array, with a name that ends in .npy");
    arrays.emplace_back(name.substr(0, name.size() - kSuffix.size()), read_array(zip.read(name), zip.what(name)));
  }
  return arrays;
}

void save_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors, bool compress) {
  const std::string what = text("cannot write npz file ", path);
  const auto sorted = sorted_by_name(tensors, what);
  ZipWriter file(path);
  for (const auto* t : sorted) {
    const std::string where = text(what, ": array ", shown_name(t->first));
    INGOT_REQUIRE(!t->first.empty(), where, ": the name is empty");
    require_bytes(t->second, where);
    const std::string header = npy_header_of(t->second, where);
    const Tensor dense = row_major(t->second);
    const auto nbytes = static_cast<std::size_t>(dense.numel().value() * dense.itemsize());
    const std::string_view parts[] = {header, {static_cast<const char*>(dense.data_ptr()), nbytes}};
    file.add(t->first + std::string(kSuffix), parts, compress);
  }
  file.finish();
}

}  // namespace ingot
