// A folder for the libraries of a test, and the functions that are compiled into them.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/compiled_program.hpp"
#include "format/pt2/load.hpp"
#include "ingot/ingot.hpp"
#include "io/safetensors.hpp"
#include "host/package.hpp"
#include "support/error_text.hpp"
#include "tensor/impl.hpp"

namespace ingot {

class RunnerTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  static std::string golden(const std::string& name) { return std::string(INGOT_GOLDEN_DIR) + "/models/" + name; }

  // The golden mlp as a library: two linear layers with four parameters.
  std::string mlp(const std::string& name = "mlp.so", const CompileOptions& options = {}) const {
    Program program = load_pt2(golden("mlp/model.pt2"));
    compile(program, path(name), options);
    return path(name);
  }
  static Tensor mlp_input() { return SafeTensors::open(golden("mlp/case0.safetensors")).get("in.0"); }
  static Tensor mlp_output() { return SafeTensors::open(golden("mlp/case0.safetensors")).get("out.0"); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name), std::ios::binary) << text; }

 private:
  TemporaryFolder folder_;
};

inline void expect_close(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(to_text(found.sizes()), to_text(expected.sizes()));
  const std::vector<double> f = found.to_vector<double>(), e = expected.to_vector<double>();
  for (std::size_t i = 0; i < e.size(); i++) ASSERT_NEAR(f[i], e[i], 1e-5) << "element " << i;
}
inline void expect_in(const std::string& part, const std::string& whole) {
  EXPECT_NE(whole.find(part), std::string::npos) << whole;
}

}  // namespace ingot
