// A program compiled for a machine that this process is not on, and run there by a command: an
// emulator, or a shell on another machine, with a program like tests/e2e/model_runner.c.
#pragma once
#include <memory>

#include "compiler/pipeline.hpp"
#include "host/package.hpp"

namespace ingot {

class ExternalProgram {
 public:
  // `command LIBRARY FOLDER` runs the library on the files of the folder. For input K there are
  // inK, the raw elements of its memory, and inK.shape with `dtype rank`, sizes and strides (dtypes
  // as ingot/model.h numbers them); `draw` has the seed and offset of the random stream. It leaves
  // outK and outK.shape (row-major), inK as it is after the run, `draw`, and for each buffer
  // constantK, constantK.shape and constantK.name.
  ExternalProgram(Program& program, const CompileOptions& options, std::string command);

  // As CompiledProgram::run.
  Values run(Program& program, Args inputs) const;

 private:
  TemporaryFolder folder_;
  std::string command_;
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write_input(std::size_t k, const Tensor& t) const;
  Tensor read_tensor(const std::string& name) const;
};

}  // namespace ingot
