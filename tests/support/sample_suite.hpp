// One test suite a sample file: every check over every sample of the file.
#pragma once
#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "support/sample.hpp"

namespace ingot::testing {

using SampleCheck = void (*)(const Sample&);

class SampleTest : public ::testing::Test {
 public:
  SampleTest(std::string path, SampleCheck check) : path_(std::move(path)), check_(check) {}
  void TestBody() override {
    const int64_t before = TensorImpl::live();
    for (const Sample& s : read_samples(path_)) {
      try {
        check_(s);
      } catch (const std::exception& e) {
        ADD_FAILURE() << s.where() << ": " << e.what();
      }
    }
    EXPECT_EQ(TensorImpl::live(), before) << "tensors are left alive: a reference cycle";
  }

 private:
  std::string path_;
  SampleCheck check_;
};

// Registers the suites `prefix`_<family>, one for each file of the folder. Returns true, for a
// constant that runs it.
inline bool register_sample_suites(const std::string& prefix, const std::string& folder,
                                   const std::vector<std::pair<const char*, SampleCheck>>& checks) {
  for (const std::string& path : sample_files(folder)) {
    std::string family = path.substr(path.rfind('/') + 1);
    family.resize(family.size() - 4);
    for (const auto& [name, check] : checks)
      ::testing::RegisterTest((prefix + "_" + family).c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
                              [path, check = check]() -> ::testing::Test* { return new SampleTest(path, check); });
  }
  return true;
}

}  // namespace ingot::testing
