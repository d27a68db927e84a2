#include "runtime/session.hpp"

#include "base/error.hpp"
#include "import/pt2_archive.hpp"
#include "base/dlpack_type.hpp"

namespace ingot {
namespace {

// Handles that go away together, unless they were given away.
class Handles {
 public:
  explicit Handles(const ModelLibrary& library) : library_(library) {}
  ~Handles() {
    for (AtenTensorHandle h : list) library_.ingot_tensor_delete(h);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  std::vector<AtenTensorHandle> list;

 private:
  const ModelLibrary& library_;
};

std::string model_of(const std::string& path, const char* wanted) {
  if (wanted) return wanted;
  const Pt2Archive archive = open_pt2_archive(path);
  INGOT_REQUIRE(!archive.compiled.empty(), path,
                " holds an exported program and no compiled model; compile it first: ingot compile ", path);
  return archive.compiled.size() == 1 ? archive.compiled[0] : "model";
}

}  // namespace

Session::Session(const std::string& path, const ingot_options& options) {
  INGOT_REQUIRE(options.models >= 0 && options.threads >= 0, "models and threads must not be negative");
  if (path.ends_with(".pt2")) package_.emplace(unpack_model(path, model_of(path, options.model)));
  library_ = ModelLibrary::load(package_ ? package_->library : path, true);
  library_->require_own("ingot.h");
  require(library_->AOTInductorModelContainerCreateWithDevice(&container_,
                                                              static_cast<std::size_t>(options.models ? options.models : 1),
                                                              options.device ? options.device : "cpu", nullptr));
  try {
    if (options.threads) require(library_->ingot_container_set_threads(container_, options.threads));
    read_constants();
  } catch (...) {
    library_->AOTInductorModelContainerDelete(container_);
    throw;
  }
}

Session::~Session() { library_->AOTInductorModelContainerDelete(container_); }

void Session::require(AOTIRuntimeError error) const {
  INGOT_REQUIRE(error == AOTI_RUNTIME_SUCCESS, library_->ingot_last_error());
}

void Session::read_constants() {
  std::size_t count = 0;
  require(library_->AOTInductorModelContainerGetNumConstants(container_, &count));
  for (std::size_t k = 0; k < count; k++) {
    const char *name = "", *fqn = "";
    int32_t dtype = 0, kind = 0;
    auto c = std::make_unique<Constant>();
    require(library_->AOTInductorModelContainerGetConstantName(container_, k, &name));
    require(library_->AOTInductorModelContainerGetConstantOriginalFQN(container_, k, &fqn));
    require(library_->AOTInductorModelContainerGetConstantDtype(container_, k, &dtype));
    require(library_->AOTInductorModelContainerGetConstantType(container_, k, &kind));
    require(library_->AOTInductorModelContainerGetConstantFromFolded(container_, k, &c->info.is_folded));
    require(library_->AOTInductorModelContainerGetConstantDataSize(container_, k, &c->info.bytes));
    c->name = name;
    c->fqn = fqn;
    c->info.name = c->fqn.c_str();
    c->info.dtype = dlpack_type(dtype_of_code(dtype).value_or(DType::f32));
    c->info.is_parameter = kind == 1;
    constants_.push_back(std::move(c));
  }
}

const Session::Constant& Session::constant_called(const std::string& fqn) const {
  for (const auto& c : constants_)
    if (c->fqn == fqn) return *c;
  throw_user_error(text("the model has no constant '", fqn, "'; ingot_session_constant says which it has"));
}

std::vector<AtenTensorHandle> Session::run(std::span<const DLTensor* const> inputs) {
  const std::size_t wanted = library_->ingot_model_input_count();
  INGOT_REQUIRE(inputs.size() == wanted, "expected ", wanted, " inputs, found ", inputs.size());
  Handles given(*library_);
  for (std::size_t k = 0; k < inputs.size(); k++) {
    ingot_value_info info{};
    require(library_->ingot_model_input(k, &info));
    given.list.push_back(handle_over(*library_, inputs[k], text("input ", k, " (", info.name, ")")));
  }
  std::vector<AtenTensorHandle> stolen = std::move(given.list), outputs(library_->ingot_model_output_count());
  given.list.clear();  // the run has them, whether it goes well or not
  require(library_->AOTInductorModelContainerRun(container_, stolen.data(), stolen.size(), outputs.data(), outputs.size(),
                                                 nullptr, nullptr));
  return outputs;
}

void Session::update(std::span<const ingot_named_tensor> tensors, bool inactive, bool full) {
  Handles given(*library_);
  std::vector<AOTInductorConstantMapEntry> pairs;
  for (const ingot_named_tensor& t : tensors) {
    INGOT_REQUIRE(t.name != nullptr, "the name of a constant is null");
    const Constant& constant = constant_called(t.name);
    INGOT_REQUIRE(!constant.info.is_folded, "constant '", t.name, "' is computed from others and cannot be given");
    given.list.push_back(handle_over(*library_, t.tensor, text("constant '", t.name, "'")));
    pairs.push_back({constant.name.c_str(), given.list.back()});
  }
  require(library_->ingot_container_update(container_, pairs.data(), pairs.size(), inactive, full));
}

AtenTensorHandle Session::find_constant(const std::string& fqn, bool inactive) const {
  AtenTensorHandle handle = nullptr;
  require(library_->ingot_container_constant(container_, constant_called(fqn).name.c_str(), inactive, &handle));
  return handle;
}

}  // namespace ingot
