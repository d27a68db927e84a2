// Ops that somebody defines outside the tree (register_ops): what their definitions lack is said to
// whoever wrote them, as a user error that names what to add.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "op/op.hpp"

namespace ingot::testing {
namespace {

void same_meta(const Call& c, Outputs& o) { o.add(c.tensor(0).sizes(), c.tensor(0).dtype()); }
void no_kernel(const Call&, std::span<const Tensor>) {}
void no_gradient(Vjp&) {}

constinit const OpDef kOutside[] = {
    {.schema = "outside::without_meta(Tensor x) -> Tensor", .kernel = no_kernel, .vjp = no_gradient},
    {.schema = "outside::without_kernel(Tensor x) -> Tensor", .meta = same_meta, .vjp = no_gradient},
    {.schema = "outside::without_rules(Tensor x) -> Tensor", .vjp = no_gradient},
    {.schema = "outside::of_two(Tensor x) -> (Tensor, Tensor)", .meta = same_meta, .kernel = no_kernel, .vjp = no_gradient},
};

class OutsideOps : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_ops(kOutside); }

  static std::string message_of(const char* name) {
    try {
      call(op(name), {ones({2})});
    } catch (const UserError& e) {
      return e.what();
    }
    return "was accepted";
  }
  static void expect_parts(const char* name, std::initializer_list<const char*> parts) {
    const std::string message = message_of(name);
    for (const char* part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << name << " lacks '" << part << "': " << message;
    EXPECT_EQ(message.find("defect of Ingot"), std::string::npos) << message;
  }
};

TEST_F(OutsideOps, WithoutAShapeRule) {
  expect_parts("outside::without_meta", {"outside::without_meta", "has a kernel, but no shape rule", "Add OpDef::meta"});
}
TEST_F(OutsideOps, WithoutAKernel) {
  expect_parts("outside::without_kernel", {"outside::without_kernel", "has a shape rule", "Add OpDef::kernel"});
}
TEST_F(OutsideOps, WithoutAnything) {
  expect_parts("outside::without_rules", {"outside::without_rules", "OpDef::meta and OpDef::kernel", "OpDef::body"});
}
TEST_F(OutsideOps, WithFewerResultsThanTheSchema) {
  expect_parts("outside::of_two", {"outside::of_two", "schema has 2 results", "gave 1"});
}

}  // namespace
}  // namespace ingot::testing
