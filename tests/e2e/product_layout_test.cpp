// What products lay out for their microkernels.
#include "e2e/compiled_model.hpp"

namespace ingot {
namespace {

// How often the text is in what `schedule` makes of the function.
int count_in_schedule(const TensorFunction& f, const TensorList& in, const std::string& what) {
  const std::string loops = schedule_of(f, in);
  int count = 0;
  for (std::size_t at = loops.find(what); at != std::string::npos; at = loops.find(what, at + 1)) count++;
  return count;
}

TensorList rows_and_weights() {
  manual_seed(7);
  return {randn({40, 768}), randn({768, 512}), randn({768, 512}), randn({768, 512})};
}

// Queries, keys and values are made of the same rows.
TEST(ProductLayout, ProductsOfTheSameRowsShareThem) {
  const TensorFunction same = [](const TensorList& in) {
    const Tensor y = aten<"sin">(in[0]);
    return TensorList{y.mm(in[1]), y.mm(in[2]), y.mm(in[3])};
  };
  EXPECT_EQ(count_in_schedule(same, rows_and_weights(), ".rows parallel"), 1);
  const TensorFunction others = [](const TensorList& in) {
    const Tensor y = aten<"sin">(in[0]), first = y.mm(in[1]);
    aten<"add_.Tensor">(y, y);
    return TensorList{first, y.mm(in[2]), (y + 1).mm(in[3])};
  };
  EXPECT_EQ(count_in_schedule(others, rows_and_weights(), ".rows parallel"), 3);
}

// An argument that the program writes is another when it is read again.
TEST(ProductLayout, RowsThatAreWrittenAreLaidOutAnew) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor first = in[0].mm(in[1]);
    aten<"mul_.Scalar">(in[0], 2);
    return TensorList{first, in[0].mm(in[2])};
  };
  const TensorList in = rows_and_weights();
  TensorList eager = in, compiled = in;
  eager[0] = in[0].clone();
  compiled[0] = in[0].clone();
  expect_close(f(eager), aot_run("cpu", f, compiled));
  expect_close({eager[0]}, {compiled[0]});
}

}  // namespace
}  // namespace ingot
