// Runs the program in a folder of its own.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "support/test_folder.hpp"

namespace ingot {

namespace fs = std::filesystem;

struct Ran {
  int status = -1;
  std::string out, err;
};

inline std::string contents(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

class Cli : public ::testing::Test {
 protected:
  Ran ingot(const std::string& args) const {
    const fs::path out = folder_ / "out", err = folder_ / "err";
    const int status = std::system((INGOT_PROGRAM " " + args + " >" + out.string() + " 2>" + err.string()).c_str());
    return {WEXITSTATUS(status), contents(out), contents(err)};
  }
  static std::string golden(const std::string& path) { return std::string(INGOT_GOLDEN_DIR) + "/" + path; }
  const testing::TestFolder test_folder_;
  const fs::path folder_ = test_folder_.path();
};

}  // namespace ingot
