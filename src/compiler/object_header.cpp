#include "compiler/object_header.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "compiler/model_interface.hpp"
#include "io/file.hpp"

namespace ingot {
namespace {

constexpr std::string_view kOwn = "ingot_";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string prefixed(std::string_view name, const std::string& prefix) {
  return prefix + "_" + std::string(name.starts_with(kOwn) ? name.substr(kOwn.size()) : name);
}

// What stands in a comment must not end it.
std::string comment_text(std::string s) {
  for (std::size_t at = s.find("*/"); at != s.npos; at = s.find("*/", at)) s.replace(at, 2, "* /");
  return s;
}

std::string type_of(const loop::Buffer& b) {
  std::string out = text(short_name_of(b.dtype), "[");
  for (std::size_t d = 0; d < b.sizes.size(); d++) out += text(d ? ", " : "", to_text(b.sizes[d]));
  return out + "]";
}

// "x: f32[s0, 64]", each on a line.
std::string values_text(const loop::Program& p, const std::vector<int>& buffers, const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t k = 0; k < buffers.size(); k++)
    out += text(" *   ", k, "  ", names[k], ": ", type_of(p.buffers[at(buffers[k])]), "\n");
  return out.empty() ? " *   none\n" : out;
}

std::string entry_comment(const Model& model, std::size_t place) {
  const Model::Entry& e = model.entries[place];
  const loop::Program& p = model.levels[0].codes[place].run;
  std::vector<std::string> inputs;
  for (const Model::Input& i : e.inputs) inputs.push_back(i.name);
  std::string out = text("/* One run of ", e.name, ".\n * inputs\n", values_text(p, p.inputs, inputs), " * outputs\n",
                         values_text(p, p.outputs, e.outputs));
  for (const Expr& s : p.symbols) {
    const bool is_open = s->hi >= int64_t{1} << 62;
    out += text(" * ", s->name, ": from ", s->lo, is_open ? " on" : text(" to ", s->hi), "\n");
  }
  return comment_text(out) + " */\n";
}

// The names of the functions that run an entry: the first one has the short one.
std::vector<std::string> run_names(const Model& model, const std::string& prefix, std::set<std::string> taken) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < model.entries.size(); k++) {
    std::string name = prefix + "_run";
    if (k > 0) {
      name += "_";
      for (const char c : model.entries[k].name) name += is_word(c) ? c : '_';
    }
    std::string unique = name;
    for (int n = 1; !taken.insert(unique).second; n++) unique = text(name, "_", n);
    names.push_back(unique);
  }
  return names;
}

// Begins with what is_own_header looks for.
constexpr std::string_view kPreamble =
    R"(/* The model '@NAME@', compiled by Ingot into an object file: link it with -lm -pthread. Made with that
 * file, and of no use with another.
 *
 *   AOTInductorModelContainerHandle model;
 *   ingot_tensor_info input = {data, INGOT_FLOAT32, rank, sizes, NULL}, output;
 *   AtenTensorHandle result;
 *   if (@P@_open(&model, 1) || @P@_run(model, &input, &result) || @P@_tensor_describe(result, &output))
 *     return puts(@P@_last_error());
 *
 * The functions of ingot/model.h and ingot/aoti.h, which are described below, begin with @P@_ here:
 * those of other models that are linked into the program have names of their own. */
)";

bool is_own_header(std::string_view file) {
  const std::string_view comment = file.substr(0, file.find("*/"));
  return comment.starts_with("/* The model '") && comment.find("', compiled by Ingot into an object file") != comment.npos;
}

constexpr std::string_view kHelpers =
    R"(
/* `runs`: how many may be under way at the same time. Failures are not printed: @P@_last_error()
 * has the text. */
static inline AOTIRuntimeError @P@_open(AOTInductorModelContainerHandle* model, size_t runs) {
  @P@_print_errors(false);
  return @P@_AOTInductorModelContainerCreateWithDevice(model, runs, "cpu", NULL);
}
static inline AOTIRuntimeError @P@_close(AOTInductorModelContainerHandle model) {
  return @P@_AOTInductorModelContainerDelete(model);
}

/* The inputs are read, or written, where they lie (null strides: dense and row-major), and stay the
 * caller's. Each output becomes the caller's: @P@_tensor_describe says where it lies,
 * @P@_tensor_delete releases it. */
static inline AOTIRuntimeError @P@_run_entry(AOTInductorModelContainerHandle model, size_t entry,
                                             const ingot_tensor_info* inputs, size_t input_count,
                                             AtenTensorHandle* outputs, size_t output_count) {
  AtenTensorHandle handles[@MOST@];
  size_t k;
  /* More than any entry has: the container says how many it wants. */
  if (input_count > @MOST@)
    return @P@_container_run_entry(model, entry, NULL, input_count, outputs, output_count, NULL);
  for (k = 0; k < input_count; k++) {
    const ingot_tensor_info* t = &inputs[k];
    if (@P@_tensor_from_memory(t->data, t->dtype, t->rank, t->sizes, t->strides, &handles[k])) {
      while (k > 0) @P@_tensor_delete(handles[--k]);
      return AOTI_RUNTIME_FAILURE;
    }
  }
  return @P@_container_run_entry(model, entry, handles, input_count, outputs, output_count, NULL);
}
)";

std::string filled(std::string_view form, const std::map<std::string, std::string>& values) {
  std::string out;
  for (std::size_t at = 0; at < form.size();) {
    const std::size_t sign = form.find('@', at), end = form.find('@', sign + 1);
    out += form.substr(at, sign - at);
    if (sign == form.npos) break;
    out += values.at(std::string(form.substr(sign + 1, end - sign - 1)));
    at = end + 1;
  }
  return out;
}

}  // namespace

void require_prefix(const std::string& prefix) {
  const bool is_name =
      !prefix.empty() && std::ranges::all_of(prefix, is_word) && !std::isdigit(static_cast<unsigned char>(prefix[0]));
  INGOT_REQUIRE(is_name, "'", prefix,
                "' cannot begin the names of C functions: expected letters, digits and '_', no digit first");
  INGOT_REQUIRE(prefix != "ingot", "'ingot' begins the names of Ingot's own C functions; choose another prefix");
}

void require_header_place(const std::string& header, const std::string& object) {
  std::error_code none;
  const bool is_object = header == object || std::filesystem::equivalent(header, object, none);
  INGOT_REQUIRE(!is_object, object, " is what the header of the object file is called, too; name the object otherwise, as ",
                std::filesystem::path(object).replace_extension(".o").string());
  INGOT_REQUIRE(!std::filesystem::exists(header, none) || is_own_header(MappedFile::open(header)->bytes()), "cannot write ",
                header, ", the header of ", object,
                ": expected none or one that Ingot wrote, found another file; give the object another name");
}

std::map<std::string, std::string> prefixed_names(const std::string& prefix) {
  std::map<std::string, std::string> names;
  for (const InterfaceFunction& f : model_functions()) names.emplace(f.name, prefixed(f.name, prefix));
  return names;
}

std::string object_header(const Model& model, const std::string& prefix) {
  std::size_t most = 1;
  for (const Model::Entry& e : model.entries) most = std::max(most, e.inputs.size());
  const std::string guard = text("INGOT_OBJECT_", prefix, "_H");
  const std::map<std::string, std::string> values = {
      {"P", prefix}, {"NAME", comment_text(model.name)}, {"MOST", std::to_string(most)}};
  std::string out = filled(kPreamble, values);
  out += text("#ifndef ", guard, "\n#define ", guard, "\n\n", model_headers(), "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  std::set<std::string> taken = {prefix + "_open", prefix + "_close", prefix + "_run_entry"};
  for (const InterfaceFunction& f : model_functions()) {
    const auto before = static_cast<std::size_t>(f.name.data() - f.declaration.data());
    out += text(f.declaration.substr(0, before), *taken.insert(prefixed(f.name, prefix)).first,
                f.declaration.substr(before + f.name.size()), "\n");
  }
  out += filled(kHelpers, values);
  const std::vector<std::string> names = run_names(model, prefix, taken);
  for (std::size_t k = 0; k < names.size(); k++) {
    const std::size_t inputs = model.entries[k].inputs.size(), outputs = model.entries[k].outputs.size();
    out +=
        text("\n", entry_comment(model, k), "static inline AOTIRuntimeError ", names[k],
             "(AOTInductorModelContainerHandle model, const ingot_tensor_info* inputs, AtenTensorHandle* outputs) {\n  return ",
             prefix, "_run_entry(model, ", k, ", inputs, ", inputs, ", outputs, ", outputs, ");\n}\n");
  }
  return out + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

}  // namespace ingot
