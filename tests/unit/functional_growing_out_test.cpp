// out= of a tensor that has another size than the result gives it that size. A tensor that is a
// view, or has views, must not grow (R056): these would look at what it was. PyTorch's
// functionalization refuses such views when they are used, ours refuses the call.
#include <gtest/gtest.h>

#include "aot/aot.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

class GrowingOut : public NoLeaks {
 protected:
  using Inputs = std::function<TensorList()>;
  static constexpr const char* kGrows =
      "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass";
  static constexpr const char* kAsStrided = "as_strided() is non-compositional";
  static constexpr const char* kInput = "Found an input that out= or resize_() made larger than its storage";
  static constexpr const char* kPart = "as_strided() refers to a storage of which the functional program has a part";

  static std::vector<std::vector<double>> run(const TensorFunction& f, const Inputs& make) {
    const TensorList in = make();
    std::vector<std::vector<double>> seen;
    for (const TensorList& l : {f(in), in})
      for (const Tensor& t : l) seen.push_back(t.to_vector<double>());
    return seen;
  }
  static TensorFunction compiled(const TensorFunction& f) {
    return [f](const TensorList& in) { return aot::aot_function(f, {})(in); };
  }
  static void expect_refused(const TensorFunction& f, const Inputs& make, const std::string& words) {
    const std::string error = error_of([&] { f(make()); });
    EXPECT_NE(error.find(words), std::string::npos) << error;
  }
  // Functionalized and compiled the function does what it does, or is refused in these words.
  static void expect(const TensorFunction& f, const Inputs& make, const std::string& refused = "") {
    for (const TensorFunction& other : {functionalize(f), compiled(f)}) {
      if (refused.empty()) EXPECT_EQ(run(other, make), run(f, make));
      else expect_refused(other, make, refused);
    }
  }
};

Tensor count(const Shape& sizes) { return aten<"arange">(sizes.product(), DType::f32).view(sizes) + 1; }
void sin_into(const Tensor& x, const Tensor& out) { aten_value<"sin.out">(x, out); }
TensorList four() { return {count({4})}; }

TEST_F(GrowingOut, R056_ATensorWithoutViewsGrows) {
  expect(
      [](const TensorList& in) {
        const Tensor out = zeros({2});
        (void)out.view({2});  // nobody has it any more
        sin_into(in[0], out);
        Tensor v = out.view({2, 2});
        v.add_(Scalar(1));
        return TensorList{out, v};
      },
      four);
}

TEST_F(GrowingOut, R056_ATensorWithViewsDoesNot) {
  for (const int64_t size : {0, 2})
    expect(
        [size](const TensorList& in) {
          const Tensor out = zeros({size}), v = out.view({size});
          sin_into(in[0], out);
          return TensorList{out, v};
        },
        four, kGrows);
  expect(
      [](const TensorList& in) {
        const Tensor out = zeros({2}), v = out.detach();
        sin_into(in[0], out);
        return TensorList{out, v};
      },
      four, kGrows);
  expect(  // within the storage of its base
      [](const TensorList& in) {
        const Tensor base = zeros({6}), out = base.slice(0, 1, 3);
        sin_into(in[0], out);
        return TensorList{out, base};
      },
      four, kAsStrided);
}

// As in PyTorch: what a formula reads and writes keeps its size. A reduction's does not, nor does
// what the formula reads a view of.
TEST_F(GrowingOut, AnOperandOfAFormulaDoesNot) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor out = in[0] + 1;
    aten_value<"add.out">(out, in[1], 1, out);
    return TensorList{out};
  };
  const Inputs columns = [] { return TensorList{count({4, 1}), count({4, 4})}; };
  const Inputs equal = [] { return TensorList{count({4, 4}), count({4, 1})}; };
  const std::string refused = "output with shape [4, 1] doesn't match the broadcast shape [4, 4]";
  expect_refused(f, columns, refused);
  expect(f, columns, refused);
  expect(f, equal);
  expect(
      [](const TensorList& in) {
        const Tensor out = in[1] + 1;
        aten_value<"sum.IntList_out">(out, Shape{0}, false, Value(), out);
        return TensorList{out};
      },
      columns);
  const TensorFunction of_a_view = [](const TensorList& in) {
    aten_value<"add.out">(in[0].view({4, 1}), in[1], 1, in[0]);
    return TensorList{in[0]};
  };
  EXPECT_EQ(of_a_view(columns())[0].sizes(), Shape({4, 4}));
}

TEST_F(GrowingOut, ATensorWithViewsShrinks) {
  expect(
      [](const TensorList& in) {
        const Tensor out = zeros({6}), v = out.view({6});
        sin_into(in[0], out);
        return TensorList{out, v};
      },
      four);
}

// An input is the caller's, whose storage a compiled function does not replace: PyTorch's refuses
// as well, when it writes it back.
TEST_F(GrowingOut, AnInputGrowsWhereNothingIsCompiled) {
  const TensorFunction f = [](const TensorList& in) {
    sin_into(in[0], in[1]);
    return TensorList{in[1] + 0};
  };
  for (const int64_t size : {0, 2}) {
    const Inputs make = [size] { return TensorList{count({4}), zeros({size})}; };
    EXPECT_EQ(run(functionalize(f), make), run(f, make));
    expect_refused(compiled(f), make, kInput);
  }
  expect(f, [] { return TensorList{count({4}), zeros({6})}; });  // it shrinks
  expect(f, [] { return TensorList{count({4}), zeros({6}).slice(0, 1, 3)}; }, kPart);
}
TEST_F(GrowingOut, R056_InputsOnOneStorageDoNot) {
  const TensorFunction f = [](const TensorList& in) {
    sin_into(in[0], in[1]);
    return TensorList{in[2] + 0};
  };
  const Inputs make = [] {
    const Tensor base = zeros({2});
    return TensorList{count({4}), base, base.view({2, 1})};
  };
  expect_refused(functionalize(f), make, kGrows);
  expect_refused(compiled(f), make, kInput);
}

}  // namespace
}  // namespace ingot
