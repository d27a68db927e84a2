#include "compiler/external_program.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "compiler/program_calls.hpp"
#include "ingot/autograd.hpp"
#include "io/dense.hpp"
#include "io/file.hpp"
#include "tensor/random.hpp"

namespace ingot {
namespace {

// Bytes from the first element of a tensor to its last.
std::size_t span_bytes(const Tensor& t) {
  const auto bytes = strided_bytes(t.sizes().values(), t.strides().values(), 0, t.dtype());
  INGOT_ENSURE(bytes, "a tensor of ", t.sizes(), " with strides ", t.strides());
  return static_cast<std::size_t>(*bytes);
}

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

}  // namespace

ExternalProgram::ExternalProgram(Program& program, const CompileOptions& options, std::string command)
    : command_(std::move(command)) {
  compile(program, path("model.so"), options);
}

void ExternalProgram::write_input(std::size_t k, const Tensor& t) const {
  std::string shape = text(aoti_code(t.dtype()), " ", t.dim());
  for (const Int n : t.sizes()) shape += text(" ", n);
  for (const Int n : t.strides()) shape += text(" ", n);
  write_temporary_file(path(text("in", k, ".shape")), shape);
  const std::size_t bytes = span_bytes(t);
  write_temporary_file(path(text("in", k)), {bytes > 0 ? static_cast<const char*>(t.data_ptr()) : nullptr, bytes});
}

Tensor ExternalProgram::read_tensor(const std::string& name) const {
  std::ifstream about(path(name + ".shape"));
  int code = -1;
  std::size_t rank = 0;
  about >> code >> rank;
  std::vector<int64_t> sizes(rank);
  for (int64_t& n : sizes) about >> n;
  const auto dtype = dtype_of_code(code);
  INGOT_REQUIRE(about && dtype, "the command ", command_, " left no ", name, ".shape with dtype, rank and sizes");
  const Tensor t = make_tensor(Geometry::contiguous(Shape(sizes), *dtype));
  const Ref<MappedFile> file = MappedFile::open(path(name));
  const std::size_t bytes = span_bytes(t);
  INGOT_REQUIRE(file->size() == bytes, name, ": expected ", bytes, " bytes, found ", file->size());
  if (bytes > 0) std::memcpy(t.data_ptr(), file->data(), bytes);
  return t;
}

Values ExternalProgram::run(Program& program, Args inputs) const {
  const GradModeGuard no_grad(false);
  const TensorList given = library_inputs(program, inputs);
  for (std::size_t k = 0; k < given.size(); k++) write_input(k, given[k]);
  const Draw before = default_generator()->state();
  std::ofstream(path("draw")) << before.seed << ' ' << before.offset;
  const int status = std::system(text(command_, " ", path("model.so"), " ", folder_.path(), " 2>", path("stderr")).c_str());
  const bool is_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  INGOT_REQUIRE(is_well, WIFEXITED(status) ? text("status ", WEXITSTATUS(status)) : text("signal ", WTERMSIG(status)), ": ",
                first_line(path("stderr")));

  TensorList outputs;
  while (std::filesystem::exists(path(text("out", outputs.size())))) outputs.push_back(read_tensor(text("out", outputs.size())));
  for (std::size_t k = 0; k < given.size(); k++) {
    const Ref<MappedFile> file = MappedFile::open(path(text("in", k)));
    if (file->size() > 0 && file->size() == span_bytes(given[k])) std::memcpy(given[k].data_ptr(), file->data(), file->size());
  }
  std::unordered_map<std::string, Tensor> constants;
  for (std::size_t k = 0; std::filesystem::exists(path(text("constant", k, ".name"))); k++)
    constants.emplace(first_line(path(text("constant", k, ".name"))), read_tensor(text("constant", k)));
  take_back_state(program, constants);
  Draw after = before;
  std::ifstream(path("draw")) >> after.seed >> after.offset;
  default_generator()->set_state(after);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))  // the next run begins without this one's files
    if (entry.path().filename() != "model.so") std::filesystem::remove(entry.path());
  return caller_results(program, outputs);
}

}  // namespace ingot
