#include "format/pt2/samples.hpp"

#include "base/error.hpp"
#include "format/pt2/archive.hpp"

namespace ingot {

SampleInputsResult read_sample_inputs(const std::string& path, const std::string& model) {
  const Pt2Archive a = open_pt2_archive(path);
  const bool old = a.layout == Pt2Archive::Layout::old_program;
  const std::string entry =
      old ? "serialized_example_inputs.pt" : text(a.top, "data/sample_inputs/", choose_model(a, model), ".pt");
  if (!a.zip.contains(entry) || a.zip.size(entry) == 0) return {};
  try {
    PythonValue pair = read_torch_save(ZipReader::over(a.zip.read(entry), a.zip.what(entry)));
    using Kind = PythonValue::Kind;
    const bool known =
        pair.is(Kind::tuple) && pair.items.size() == 2 && pair.items[0].is(Kind::tuple) && pair.items[1].is(Kind::dict);
    INGOT_REQUIRE(known, a.zip.what(entry), ": expected a pair of arguments and keyword arguments");
    return {SampleInputs{std::move(pair.items[0]), std::move(pair.items[1])}, {}};
  } catch (const UserError& e) {
    return {std::nullopt, text("the sample inputs cannot be read: ", e.what())};
  }
}

}  // namespace ingot
