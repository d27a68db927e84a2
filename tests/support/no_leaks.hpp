// A test that fails when it leaves tensors or storage behind.
#pragma once
#include <gtest/gtest.h>

#include "tensor/impl.hpp"

namespace ingot {

class NoLeaks : public ::testing::Test {
 protected:
  void SetUp() override {
    tensors_ = TensorImpl::live();
    bytes_ = Storage::live_bytes();
  }
  void TearDown() override {
    EXPECT_EQ(TensorImpl::live(), tensors_) << "tensors left alive";
    EXPECT_EQ(Storage::live_bytes(), bytes_) << "bytes left alive";
  }

 private:
  int64_t tensors_ = 0, bytes_ = 0;
};

}  // namespace ingot
