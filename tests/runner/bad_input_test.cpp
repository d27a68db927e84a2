// Bad input of every kind ends in a clear error: no crash, no wrong result, no partial file. One
// table an area; a row says what is done and which words its error must have. A row without words
// must work, exactly.
#include "bad_input_fixture.hpp"
#include "io/zip.hpp"
#include "io/zip_writer.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using Kind = Model::Weights::Kind;

// ---- tensors of a run

struct CallRow {
  const char* name;
  void (*spoil)(MlpRun&);
  Words words;
};

const std::vector<CallRow>& call_rows() {
  static int64_t many[65] = {};
  static const std::vector<CallRow> rows = {
      // clang-format off
      {"another float type", [](MlpRun& c) { c.x.t.dtype.bits = 64; }, {"input 0 (x)", "dtype", "expected float32", "found float64"}},
      {"integers", [](MlpRun& c) { c.x.t.dtype = {kDLInt, 32, 1}; }, {"input 0 (x)", "dtype", "expected float32", "found int32"}},
      {"several lanes", [](MlpRun& c) { c.x.t.dtype.lanes = 4; }, {"input 0 (x)", "no element type", "4 lanes"}},
      {"an unknown element type", [](MlpRun& c) { c.x.t.dtype = {99, 3, 1}; }, {"input 0 (x)", "no element type", "code 99", "3 bits"}},
      {"one dim less", [](MlpRun& c) { c.x.t.ndim = 1; }, {"input 0 (x)", "number of dims: expected 2, found 1"}},
      {"no dims", [](MlpRun& c) { c.x.t.ndim = 0; }, {"input 0 (x)", "number of dims: expected 2, found 0"}},
      {"one dim more", [](MlpRun& c) { c.x.sizes.push_back(1), c.x.t.shape = c.x.sizes.data(), c.x.t.ndim = 3; }, {"input 0 (x)", "number of dims: expected 2, found 3"}},
      {"a negative rank", [](MlpRun& c) { c.x.t.ndim = -1; }, {"input 0 (x)", "rank: expected 0 to 64, found -1"}},
      {"too many dims", [](MlpRun& c) { c.x.t.ndim = 65, c.x.t.shape = many; }, {"input 0 (x)", "rank: expected 0 to 64, found 65"}},
      {"a fixed size", [](MlpRun& c) { c.x.sizes[1] = 65; }, {"input 0 (x)", "size of dim 1: expected 64, found 65"}},
      {"below the range", [](MlpRun& c) { c.x.sizes[0] = 1; }, {"input 0 (x)", "dim 0", "expected 2 to 4096, found 1"}},
      {"above the range", [](MlpRun& c) { c.x.sizes[0] = 4097; }, {"input 0 (x)", "dim 0", "expected 2 to 4096, found 4097"}},
      {"no rows", [](MlpRun& c) { c.x.sizes[0] = 0; }, {"input 0 (x)", "dim 0", "expected 2 to 4096, found 0"}},
      {"a negative size", [](MlpRun& c) { c.x.sizes[0] = -8; }, {"input 0 (x)", "the size -8 is negative"}},
      {"more than can be counted", [](MlpRun& c) { c.x.sizes[0] = int64_t{1} << 60; }, {"input 0 (x)", "bytes that can be counted", "[1152921504606846976, 64]"}},
      {"strides beyond all bytes", [](MlpRun& c) { c.x.walk(int64_t{1} << 60, 1); }, {"input 0 (x)", "bytes that can be counted", "strides [1152921504606846976, 1]"}},
      {"another device", [](MlpRun& c) { c.x.t.device.device_type = kDLCUDA; }, {"input 0 (x)", "expected a tensor in the CPU's memory", "found device type 2"}},
      {"a null tensor", [](MlpRun& c) { c.in[0] = nullptr; }, {"input 0 (x)", "expected a tensor, found null"}},
      {"null data", [](MlpRun& c) { c.x.t.data = nullptr; }, {"input 0 (x)", "its data is null"}},
      {"a null shape", [](MlpRun& c) { c.x.t.shape = nullptr; }, {"input 0 (x)", "its shape is null"}},
      {"an odd address", [](MlpRun& c) { c.x.t.data = static_cast<char*>(c.x.t.data) + 1; }, {"input 0 (x)", "not aligned", "a multiple of 4 bytes, found 1 bytes more"}},
      {"an odd offset", [](MlpRun& c) { c.x.t.byte_offset = 2; }, {"input 0 (x)", "not aligned", "a multiple of 4 bytes, found 2 bytes more"}},
      {"negative strides", [](MlpRun& c) { c.x.walk(-64, 1); }, {"input 0 (x)", "strides", "expected none below 0, found [-64, 1]", "copy"}},
      {"no inputs", [](MlpRun& c) { c.input_count = 0; }, {"expected 1 inputs, found 0"}},
      {"an input too many", [](MlpRun& c) { c.input_count = 2; }, {"expected 1 inputs, found 2"}},
      {"a null array of inputs", [](MlpRun& c) { c.inputs = nullptr; }, {"the array of inputs is null"}},
      {"no outputs", [](MlpRun& c) { c.output_count = 0; }, {"expected room for 1 outputs, found 0"}},
      {"an output too many", [](MlpRun& c) { c.output_count = 2; }, {"expected room for 1 outputs, found 2"}},
      {"a null array of outputs", [](MlpRun& c) { c.outputs = nullptr; }, {"the array of outputs is null"}},
      {"a null output", [](MlpRun& c) { c.out[0] = nullptr; }, {"output 0", "expected a tensor, found null"}},
      {"an output of doubles", [](MlpRun& c) { c.y.t.dtype.bits = 64; }, {"output 0", "element type: expected float32, found float64"}},
      {"an output of an unknown type", [](MlpRun& c) { c.y.t.dtype.code = 99; }, {"output 0", "element type: expected float32, found code 99"}},
      {"an output too small", [](MlpRun& c) { c.y.sizes[1] = 9; }, {"output 0", "sizes: expected [8, 10], found [8, 9]"}},
      {"an output of one dim", [](MlpRun& c) { c.y.t.ndim = 1; }, {"output 0", "sizes: expected [8, 10], found [8]"}},
      {"an output of negative rank", [](MlpRun& c) { c.y.t.ndim = -1; }, {"output 0", "rank: expected 0 to 64, found -1"}},
      {"an output without data", [](MlpRun& c) { c.y.t.data = nullptr; }, {"output 0", "its data is null"}},
      {"an output without a shape", [](MlpRun& c) { c.y.t.shape = nullptr; }, {"output 0", "its shape is null"}},
      {"an output on another device", [](MlpRun& c) { c.y.t.device.device_type = kDLCUDA; }, {"output 0", "expected a tensor in the CPU's memory", "found device type 2"}},
      {"an output over itself", [](MlpRun& c) { c.y.walk(0, 1); }, {"output 0", "strides", "a place for each element, found [0, 1]"}},
      {"columns first", [](MlpRun& c) { c.x.lay_out(1, 8); }, {}},
      {"rows with gaps", [](MlpRun& c) { c.x.lay_out(65, 1); }, {}},
      {"an offset of whole elements", [](MlpRun& c) { c.x.t.byte_offset = 40, c.x.t.data = static_cast<char*>(c.x.t.data) - 40; }, {}},
      {"one row for all", [](MlpRun& c) { c.x.walk(0, 1), c.expected = c.expected[0].expand({8, 10}); }, {}},
      {"an output by columns", [](MlpRun& c) { c.y.walk(1, 8); }, {}},
      {"an output from the end", [](MlpRun& c) { c.y.t.data = static_cast<float*>(c.y.t.data) + 70, c.y.walk(-10, 1); }, {}},
      {"an output at an odd address", [](MlpRun& c) { c.y.t.byte_offset = 3; }, {}},
      // clang-format on
  };
  return rows;
}

TEST_F(BadInput, TensorsOfARun) {
  ingot_session* s = open(mlp());
  for (const CallRow& row : call_rows()) {
    MlpRun c(mlp_input(), mlp_output());
    row.spoil(c);
    const ingot_status status = ingot_session_run_into(s, c.inputs, c.input_count, c.outputs, c.output_count);
    EXPECT_EQ(status, row.words.empty() ? INGOT_OK : INGOT_INVALID) << row.name;
    expect_words(row.name, status == INGOT_OK ? "" : ingot_error(), row.words);
    if (status == INGOT_OK) expect_close(c.y.read(), c.expected);
    else EXPECT_EQ(c.y.memory, std::vector<float>(c.y.memory.size())) << row.name << ": a run that failed wrote its output";
    expect_works(s, row.name);
  }
}

TEST_F(BadInput, SizesThatDoNotFitTogether) {
  Program program = load_pt2(golden("dynamic_shapes/model.pt2"));
  compile(program, path("shapes.so"));
  ingot_session* s = open(path("shapes.so"));  // x is [s, 4] and y [2*s, 4], with s from 2 to 100
  struct {
    int64_t x, y;
    Words words;
  } rows[] = {{3, 6, {}},
              {3, 7, {"input 1 (y)", "size of dim 0: expected 6 (2*", "found 7"}},
              {4, 6, {"input 1 (y)", "expected 8", "found 6"}},
              {101, 202, {"input 0 (x)", "expected 2 to 100, found 101"}}};
  for (const auto& row : rows) {
    const Place x(zeros({row.x, 4})), y(zeros({row.y, 4}));
    const DLTensor* in[] = {&x.t, &y.t};
    DLManagedTensorVersioned* out[4] = {};
    const ingot_status status = ingot_session_run(s, in, 2, out, 4);
    expect_words(text(row.x, " and ", row.y).c_str(), status == INGOT_OK ? "" : ingot_error(), row.words);
    for (DLManagedTensorVersioned* o : out)
      if (o) o->deleter(o);
  }
}

// A library that writes an input was compiled for inputs that lie apart.
TEST_F(BadInput, InputsThatOverlapWhatTheRunWrites) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).add_(1);
    return TensorList{in[0] * in[1], in[2] + 0};
  };
  ModelContainerRunner runner(aot_compile(f, {zeros({2, 3}), zeros({2, 3}), zeros({2, 3})}, path("writes.so")));
  const auto numbers = [](const Shape& sizes) { return arange(sizes.product()).to(float32).view(sizes); };
  const Words refused = {
      "input 0 (", "expected memory apart from all other inputs, since the run writes it, found that it overlaps input 1 ("};
  struct Row {
    const char* name;
    std::function<TensorList()> make;
    Words words;
  };
  const auto parts = [&](const Shape& whole, const std::function<TensorList(const Tensor&)>& take) {
    return [=] { return take(numbers(whole)); };
  };
  const std::vector<Row> rows = {
      {"apart", [&] { return TensorList{numbers({2, 3}), numbers({2, 3}), numbers({2, 3})}; }, {}},
      {"what is not written twice",
       [&] {
         const Tensor y = numbers({2, 3});
         return TensorList{numbers({2, 3}), y, y};
       },
       {}},
      {"one twice",
       [&] {
         const Tensor x = numbers({2, 3});
         return TensorList{x, x, numbers({2, 3})};
       },
       refused},
      {"the third",
       [&] {
         const Tensor x = numbers({2, 3});
         return TensorList{x, numbers({2, 3}), x};
       },
       {"overlaps input 2 ("}},
      {"one after the other",
       parts({4, 3}, [](const Tensor& t) { return TensorList{t.slice(0, 0, 2), t.slice(0, 2, 4), zeros({2, 3})}; }),
       {}},
      {"a row in common",
       parts({3, 3}, [](const Tensor& t) { return TensorList{t.slice(0, 0, 2), t.slice(0, 1, 3), zeros({2, 3})}; }), refused},
      {"columns side by side",
       parts({2, 6}, [](const Tensor& t) { return TensorList{t.slice(1, 0, 3), t.slice(1, 3, 6), zeros({2, 3})}; }),
       {}},
      {"every other column",
       parts({2, 6}, [](const Tensor& t) { return TensorList{t.slice(1, 0, 6, 2), t.slice(1, 1, 6, 2), zeros({2, 3})}; }),
       {}},
      {"a column in common",
       parts({2, 5}, [](const Tensor& t) { return TensorList{t.slice(1, 0, 3), t.slice(1, 2, 5), zeros({2, 3})}; }), refused},
      {"the other way round",
       parts({2, 5}, [](const Tensor& t) { return TensorList{t.slice(1, 2, 5), t.slice(1, 0, 3), zeros({2, 3})}; }), refused},
      {"crossing",
       parts({3, 3}, [](const Tensor& t) { return TensorList{t.slice(0, 0, 2), t.slice(1, 0, 2).t(), zeros({2, 3})}; }), refused},
      {"all of it one element",
       [&] { return TensorList{zeros({1, 1}).expand({2, 3}), numbers({2, 3}), numbers({2, 3})}; },
       {"input 0 (", "more than one element of the written-to tensor refers to a single memory location"}},
      {"another that is one element",
       [&] { return TensorList{numbers({2, 3}), ones({1, 1}).expand({2, 3}), numbers({2, 3})}; },
       {}},
  };
  for (const Row& row : rows) {
    const TensorList given = row.make(), same = row.make();
    const Tensor before = given[0].clone();
    TensorList found;
    const std::string message = error_of([&] { found = runner.run(given); });
    expect_words(row.name, message == "no error" ? "" : message, row.words);
    if (!row.words.empty()) {
      EXPECT_EQ(given[0].to_vector<double>(), before.to_vector<double>())
          << row.name << ": a run that is refused wrote its input";
      continue;
    }
    ASSERT_EQ(message, "no error") << row.name;
    const TensorList want = f(same);
    for (std::size_t k = 0; k < want.size(); k++) expect_close(found[k], want[k]);
    for (std::size_t k = 0; k < given.size(); k++) expect_close(given[k], same[k]);
  }
}

// ---- constants

// An update of one weight of the mlp, right in everything until a row spoils it.
struct Update {
  Place weight{zeros({10, 128})};
  ingot_named_tensor given = {"b.weight", &weight.t};
  const ingot_named_tensor* tensors = &given;
  bool full = false;
};

struct UpdateRow {
  const char* name;
  void (*spoil)(Update&);
  Words words;
};

const std::vector<UpdateRow>& update_rows() {
  static const std::vector<UpdateRow> rows = {
      // clang-format off
      {"an unknown name", [](Update& u) { u.given.name = "c.weight"; }, {"no constant 'c.weight'", "ingot_session_constant"}},
      {"the name in the library", [](Update& u) { u.given.name = "b_weight"; }, {"no constant 'b_weight'"}},
      {"a folded constant", [](Update& u) { u.given.name = "folded.relu.packed"; }, {"'folded.relu.packed'", "computed from others and cannot be given"}},
      {"a null name", [](Update& u) { u.given.name = nullptr; }, {"the name of a constant is null"}},
      {"a null tensor", [](Update& u) { u.given.tensor = nullptr; }, {"constant 'b.weight'", "expected a tensor, found null"}},
      {"null data", [](Update& u) { u.weight.t.data = nullptr; }, {"constant 'b.weight'", "its data is null"}},
      {"a null array", [](Update& u) { u.tensors = nullptr; }, {"the array of tensors is null"}},
      {"another element type", [](Update& u) { u.weight.t.dtype.bits = 64; }, {"constant 'b_weight'", "dtype: expected float32, found float64"}},
      {"another size", [](Update& u) { u.weight.sizes[1] = 127; }, {"constant 'b_weight'", "sizes: expected [10, 128], found [10, 127]"}},
      {"one dim", [](Update& u) { u.weight.t.ndim = 1; }, {"constant 'b_weight'", "sizes: expected [10, 128], found [10]"}},
      {"another device", [](Update& u) { u.weight.t.device.device_type = kDLCUDA; }, {"constant 'b.weight'", "expected a tensor in the CPU's memory"}},
      {"an odd address", [](Update& u) { u.weight.t.byte_offset = 1; }, {"constant 'b.weight'", "not aligned", "a multiple of 4 bytes, found 1 bytes more"}},
      {"one of four in a full update", [](Update& u) { u.full = true; }, {"Cannot find constants", "a_weight"}},
      // clang-format on
  };
  return rows;
}

TEST_F(BadInput, Updates) {
  ingot_session* s = open(mlp());
  for (const UpdateRow& row : update_rows()) {
    for (const bool inactive : {false, true}) {
      Update u;
      row.spoil(u);
      EXPECT_EQ(ingot_session_update(s, u.tensors, 1, inactive, u.full), INGOT_INVALID) << row.name;
      expect_words(row.name, ingot_error(), row.words);
    }
    expect_works(s, row.name);
  }
}

// ---- files that are loaded

struct FileRow {
  const char* name;
  std::string (*make)(const BadInput&);  // the path of what is opened and run
  Words words;
};

// The mlp with its weights beside it, in a file with these bytes.
std::string with_weights(const BadInput& t, std::string (*change)(std::string)) {
  const std::string so = t.mlp("ext.so", {.weights = Kind::external}), weights = so + ".safetensors";
  t.put("ext.so.safetensors", change(bytes_of(weights)));
  return so;
}
// The library of the mlp with these bytes.
std::string changed(const BadInput& t, const std::function<void(std::string&)>& change) {
  std::string bytes = bytes_of(t.path("mlp.so"));
  change(bytes);
  return t.put("changed.so", bytes);
}
std::string cut(const BadInput& t, std::size_t length) {
  return changed(t, [&](std::string& b) { b.resize(length); });
}
std::string package(const BadInput& t, const std::string& library) {
  write_package(t.path("p.pt2"),
                {{"one", library, R"({"AOTI_DEVICE_KEY": "cpu"})", ""}, {"two", library, R"({"AOTI_DEVICE_KEY": "cpu"})", ""}});
  return t.path("p.pt2");
}
constexpr bool kIsX86 = std::string_view(INGOT_ARCH) == "x86_64";
constexpr const char* kOtherArch = kIsX86 ? "aarch64" : "x86_64";
// A processor, and what code for it needs that few machines have.
constexpr const char *kRareCpu = kIsX86 ? "bdver4" : "ampere1b", *kRareFeature = kIsX86 ? "xop" : "cssc";

const std::vector<FileRow>& file_rows() {
  static const Words kCutOff = {"Failed to load model", "changed.so", "damaged or cut off", "found the end of the file at",
                                "again"};
  static const std::vector<FileRow> rows = {
      {"nothing", [](const BadInput& t) { return t.path("none.so"); }, {"Failed to load model", "none.so", "No such file"}},
      {"a folder",
       [](const BadInput& t) { return fs::create_directory(t.path("folder.so")), t.path("folder.so"); },
       {"Failed to load model", "folder.so", "found a directory"}},
      {"an empty file",
       [](const BadInput& t) { return t.put("empty.so", ""); },
       {"Failed to load model", "empty.so", "file too short"}},
      {"a text",
       [](const BadInput& t) { return t.put("text.so", std::string(5000, 'x')); },
       {"Failed to load model", "text.so", "invalid ELF header"}},
      {"no model",
       [](const BadInput&) { return std::string("/usr/lib/" INGOT_ARCH "-linux-gnu/libm.so.6"); },
       {"Failed to load model", "libm.so.6", "no model library"}},
      {"half a header", [](const BadInput& t) { return cut(t, 32); }, {"Failed to load model", "file too short"}},
      {"a header alone", [](const BadInput& t) { return cut(t, 64); }, kCutOff},
      {"some segments", [](const BadInput& t) { return cut(t, 200); }, kCutOff},
      {"segments without bytes", [](const BadInput& t) { return cut(t, 600); }, kCutOff},
      {"a page", [](const BadInput& t) { return cut(t, 4096); }, kCutOff},
      {"a half", [](const BadInput& t) { return cut(t, fs::file_size(t.path("mlp.so")) / 2); }, kCutOff},
      {"all but a page", [](const BadInput& t) { return cut(t, fs::file_size(t.path("mlp.so")) - 4096); }, kCutOff},
      {"all but a byte", [](const BadInput& t) { return cut(t, fs::file_size(t.path("mlp.so")) - 1); }, kCutOff},
      {"noise for segments",
       [](const BadInput& t) { return changed(t, [](std::string& b) { b.replace(64, 448, 448, '\xff'); }); }, kCutOff},
      {"zeros for segments",
       [](const BadInput& t) { return changed(t, [](std::string& b) { b.replace(64, 448, 448, 0); }); },
       {"Failed to load model", "no loadable segments"}},
      {"32 bits",
       [](const BadInput& t) { return changed(t, [](std::string& b) { b[4] = 1; }); },
       {"Failed to load model", "wrong ELF class"}},
      {"pages of zeros",
       [](const BadInput& t) { return changed(t, [](std::string& b) { b.replace(4096, b.size() - 8192, b.size() - 8192, 0); }); },
       {"Failed to load model", "damaged", "dynamic section"}},
      {"the other architecture",
       [](const BadInput& t) { return t.mlp("other.so", {.targets = {parse_target(kOtherArch)}}); },
       {"Failed to load model", "other.so", text("it is for ", kOtherArch), "this machine is " INGOT_ARCH,
        "compile the program for this machine"}},
      {"code for another processor",
       [](const BadInput& t) { return t.mlp("rare.so", {.targets = {parse_target(INGOT_ARCH, kRareCpu)}}); },
       {"no code for this processor", kRareCpu, kRareFeature, "this machine has", "--cpu"}},
      {"no weights",
       [](const BadInput& t) { return t.mlp("none.so", {.weights = Kind::none}); },
       {"constant 'a_weight' has no value", "compiled without weights", "update"}},
      {"no weights file",
       [](const BadInput& t) {
         return fs::remove(with_weights(t, [](std::string b) { return b; }) + ".safetensors"), t.path("ext.so");
       },
       {"'a_weight' has no value", "no weights file", "ext.so.safetensors"}},
      {"half a weights file",
       [](const BadInput& t) { return with_weights(t, [](std::string b) { return first(0.5, b); }); },
       {"ext.so.safetensors", "not the one this library was compiled with", "size: expected", "found"}},
      {"an empty weights file",
       [](const BadInput& t) { return with_weights(t, [](std::string) { return std::string(); }); },
       {"ext.so.safetensors", "size: expected", "found 0"}},
      {"weights of another model",
       [](const BadInput& t) { return with_weights(t, [](std::string b) { return b.replace(b.find("a.bias"), 1, "c"); }); },
       {"ext.so.safetensors", "not the one this library was compiled with", "hash", "Compile the program again"}},
      {"a damaged weights file",
       [](const BadInput& t) { return with_weights(t, [](std::string b) { return b.replace(0, 8, 8, '\x7f'); }); },
       {"ext.so.safetensors", "damaged", "its header says"}},
      {"no package", [](const BadInput& t) { return t.path("none.pt2"); }, {"none.pt2", "No such file"}},
      {"half a package",
       [](const BadInput& t) { return t.put("half.pt2", first(0.5, bytes_of(package(t, t.path("mlp.so"))))); },
       {"half.pt2", "zip"}},
      {"a package without such a model",
       [](const BadInput& t) { return package(t, t.path("mlp.so")); },
       {"p.pt2", "has several models", "--model", "one, two"}},
      {"a program",
       [](const BadInput&) { return BadInput::golden("mlp/model.pt2"); },
       {"model.pt2", "no compiled model", "ingot compile"}},
      {"half a library in a package",
       [](const BadInput& t) {
         write_package(t.path("q.pt2"), {{"model", cut(t, 70000), R"({"AOTI_DEVICE_KEY": "cpu"})", ""}});
         return t.path("q.pt2");
       },
       {"Failed to load model", "damaged or cut off"}},
  };
  return rows;
}

TEST_F(BadInput, Files) {
  mlp();
  for (const FileRow& row : file_rows()) {
    if (row.words[0] == "no code for this processor" && has_feature(native_target(), kRareFeature)) {
      std::printf("left out: %s: this machine has %s\n", row.name, kRareFeature);
      continue;
    }
    const std::string file = row.make(*this);
    ingot_session* s = nullptr;
    MlpRun c(mlp_input(), mlp_output());
    ingot_status status = ingot_session_open(file.c_str(), nullptr, &s);
    if (status == INGOT_OK) status = ingot_session_run_into(s, c.inputs, 1, c.outputs, 1);
    EXPECT_EQ(status, INGOT_INVALID) << row.name;
    expect_words(row.name, ingot_error(), row.words);
    ingot_session_close(s);
  }
}

// ---- compiles

struct CompileRow {
  const char* name;
  std::string (*error)(const BadInput&, const std::string& output);  // in a folder of the row's own
  Words words;
};

void compile_mlp(const std::string& output, const CompileOptions& options = {},
                 const std::string& file = BadInput::golden("mlp/model.pt2")) {
  Program p = load_pt2(file);
  compile(p, output, options);
}
std::string compile_error(const std::string& output, const CompileOptions& options = {}) {
  return error_of([&] { compile_mlp(output, options); });
}
std::string compile_error_of(const std::string& program, const std::string& output) {
  return error_of([&] { compile_mlp(output, {}, program); });
}
std::string program_bytes() { return bytes_of(BadInput::golden("mlp/model.pt2")); }
// The program, without the entries that have this in their names.
std::string program_without(const BadInput& t, const std::string& part) {
  const ZipReader zip = ZipReader::open(BadInput::golden("mlp/model.pt2"), "mlp");
  ZipWriter less(t.path("less.pt2"));
  for (const std::string& name : zip.names())
    if (name.find(part) == name.npos) less.add(name, zip.read(name).view());
  less.finish();
  return t.path("less.pt2");
}

const std::vector<CompileRow>& compile_rows() {
  static const CompileOptions external = {.weights = Kind::external};
  static const std::vector<CompileRow> rows = {
      {"a folder that is not there",
       [](const BadInput&, const std::string& o) { return compile_error(o + "/none/x.so"); },
       {"x.so", "No such file or directory"}},
      {"the same with weights beside",
       [](const BadInput&, const std::string& o) { return compile_error(o + "/none/x.so", external); },
       {"x.so", "No such file or directory"}},
      {"below a file",
       [](const BadInput& t, const std::string&) { return compile_error(t.put("file", "") + "/x.so"); },
       {"x.so", "Not a directory"}},
      {"over a folder",
       [](const BadInput&, const std::string& o) { return fs::create_directory(o), compile_error(o); },
       {"x.so", "found a directory"}},
      {"over a folder, with weights beside",
       [](const BadInput&, const std::string& o) { return fs::create_directory(o), compile_error(o, external); },
       {"x.so", "found a directory"}},
      {"weights over a folder",
       [](const BadInput&, const std::string& o) { return fs::create_directory(o + ".safetensors"), compile_error(o, external); },
       {"x.so.safetensors", "expected a regular file there, found a directory"}},
      {"a folder that is only read",
       [](const BadInput&, const std::string& o) {
         fs::permissions(fs::path(o).parent_path(), fs::perms::owner_read | fs::perms::owner_exec);
         const std::string why = in_child([&] { forgo_privileges(), compile_mlp(o); });
         fs::permissions(fs::path(o).parent_path(), fs::perms::owner_all);
         return why;
       },
       {"x.so", "Permission denied"}},
      {"no room",
       [](const BadInput& t, const std::string& o) {
         return in_child([&] { limit_files(fs::file_size(t.path("mlp.so")) - 1, SIG_IGN), compile_mlp(o); });
       },
       {"x.so", "File too large"}},
      {"no room for weights",
       [](const BadInput& t, const std::string& o) {
         return in_child(
             [&] { limit_files(fs::file_size(t.path("ext.so.safetensors")) - 1, SIG_IGN), compile_mlp(o, external); });
       },
       {"x.so.safetensors", "File too large"}},
      {"no program",
       [](const BadInput& t, const std::string& o) { return compile_error_of(t.path("none.pt2"), o); },
       {"none.pt2", "No such file or directory"}},
      {"a text",
       [](const BadInput& t, const std::string& o) { return compile_error_of(t.put("text.pt2", "not a zip"), o); },
       {"text.pt2", "zip"}},
      {"half a program",
       [](const BadInput& t, const std::string& o) {
         return compile_error_of(t.put("half.pt2", first(0.5, program_bytes())), o);
       },
       {"half.pt2", "zip"}},
      {"nearly a program",
       [](const BadInput& t, const std::string& o) {
         return compile_error_of(t.put("most.pt2", first(0.999, program_bytes())), o);
       },
       {"most.pt2", "zip"}},
      {"a bit that flipped",
       [](const BadInput& t, const std::string& o) {
         std::string bytes = program_bytes();
         bytes[bytes.find("graph_module") + 3] ^= 1;
         return compile_error_of(t.put("flipped.pt2", bytes), o);
       },
       {"flipped.pt2", "model.json", "CRC", "damaged"}},
      {"no weights in the program",
       [](const BadInput& t, const std::string& o) { return compile_error_of(program_without(t, "/weight_"), o); },
       {"weight a.weight", "was not supplied"}},
      {"no graph in the program",
       [](const BadInput& t, const std::string& o) { return compile_error_of(program_without(t, "model.json"), o); },
       {"less.pt2", "neither a program (models/NAME.json)"}},
      {"an unknown target",
       [](const BadInput&, const std::string& o) {
         return error_of([&] { compile_mlp(o, {.targets = {parse_target("vax")}}); });
       },
       {"unknown target 'vax'", "expected native, x86_64-linux-gnu or aarch64-linux-gnu"}},
      {"an unknown processor",
       [](const BadInput&, const std::string& o) {
         return error_of([&] { compile_mlp(o, {.targets = {parse_target(INGOT_ARCH, "z80")}}); });
       },
       {"unknown processor 'z80'", INGOT_ARCH, "for example"}},
      {"this processor, elsewhere",
       [](const BadInput&, const std::string& o) {
         return error_of([&] { compile_mlp(o, {.targets = {parse_target(kOtherArch, "native")}}); });
       },
       {"cpu 'native'", kOtherArch, "name a processor"}},
      {"no target", [](const BadInput&, const std::string& o) { return compile_error(o, {.targets = {}}); }, {"no target"}},
      {"two architectures",
       [](const BadInput&, const std::string& o) {
         return compile_error(o, {.targets = {native_target(), parse_target(kOtherArch)}});
       },
       {"one architecture", INGOT_ARCH, kOtherArch}},
  };
  return rows;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (!e.is_directory()) files.push_back(e.path().filename().string());
  return files;
}

TEST_F(BadInput, Compiles) {
  mlp();
  mlp("ext.so", {.weights = Kind::external});
  for (const CompileRow& row : compile_rows()) {
    const std::string folder = path("row");
    fs::create_directory(folder);
    expect_words(row.name, row.error(*this, folder + "/x.so"), row.words);
    EXPECT_EQ(files_in(folder), std::vector<std::string>()) << row.name;
    fs::remove_all(folder);
  }
}

// What a library and its weights were before a compile that failed, they are afterwards.
TEST_F(BadInput, AFailedCompileKeepsWhatWasThere) {
  const std::string so = mlp("ext.so", {.weights = Kind::external}), library = bytes_of(so),
                    weights = bytes_of(so + ".safetensors");
  const std::string why = in_child([&] {
    Program other = load_pt2(golden("mlp/model.pt2"));
    Tensor(other.state.at("a.bias").tensor).fill_(7);
    limit_files(library.size() - 1, SIG_IGN);
    compile(other, so, {.weights = Kind::external});
  });
  expect_words("no room", why, {"ext.so", "File too large"});
  EXPECT_TRUE(bytes_of(so) == library && bytes_of(so + ".safetensors") == weights);
}

TEST_F(BadInput, KilledCompiles) {
  const std::string so = path("killed/x.so");
  const std::uintmax_t weights = fs::file_size(mlp("whole.so", {.weights = Kind::external}) + ".safetensors");
  struct {
    const char* at;  // a stage that just ended
    Kind weights;
    int signal = SIGKILL;
  } rows[] = {{"trace", Kind::embedded}, {"codegen", Kind::embedded},
              {"table", Kind::embedded}, {"codegen", Kind::external},
              {"table", Kind::external}, {"in the middle of the weights", Kind::external, SIGXFSZ}};
  for (const auto& row : rows) {
    fs::create_directory(path("killed"));
    CompileOptions options{.weights = row.weights};
    options.after = [&](const StageDone& done) {
      if (done.name == row.at) raise(SIGKILL);
    };
    const std::string why = in_child([&] {
      if (row.signal == SIGXFSZ) limit_files(weights - 1, SIG_DFL);
      compile_mlp(so, options);
    });
    EXPECT_EQ(why, text("killed by signal ", row.signal)) << row.at;
    for (const std::string& file : files_in(path("killed")))
      EXPECT_TRUE(file.ends_with(".tmp")) << file << " after being killed: " << row.at;
    compile_mlp(so, {.weights = row.weights});
    expect_works(open(so), row.at);
    fs::remove_all(path("killed"));
  }
}

TEST(BadInputTables, HaveFiftyRowsAndMore) {
  EXPECT_GE(call_rows().size() + update_rows().size() + file_rows().size() + compile_rows().size(), 50u);
}

}  // namespace
}  // namespace ingot
