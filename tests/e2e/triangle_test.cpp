// Triangles of matrices as machine code.
#include "e2e/compiled_model.hpp"

namespace ingot {
namespace {

// Every diagonal, of matrices that are no squares, of batches and of every kind of element; sizes
// are open.
TEST(CompiledTriangles, EqualEager) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::u8, DType::b8}) {
    const TensorFunction f = [](const TensorList& in) {
      TensorList out;
      for (const int64_t k : {int64_t{0}, int64_t{-1}, int64_t{2}, int64_t{-100}, int64_t{100},
                              std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
        out.push_back(aten<"triu">(in[0], k));
        out.push_back(aten<"tril">(in[0].transpose(0, 1), k));
      }
      return out;
    };
    const auto matrices = [&](int64_t rows) { return TensorList{(arange(1, 1 + rows * 6).view({rows, 3, 2}) * 3).to(dtype)}; };
    const std::vector<TensorList> lists{matrices(5), matrices(2), matrices(9)};
    const std::vector<TensorList> found = aot_run_multiple("cpu", f, lists, {}, kOpen);
    for (std::size_t k = 0; k < lists.size(); k++) expect_close(f(lists[k]), found[k]);
  }
}

// They are loops, and what reads them may compute them: nothing is called that the library would
// have to bring along.
TEST(CompiledTriangles, AreLoops) {
  const auto lowered = [](const TensorFunction& f) {
    std::string found;
    CompileOptions options;
    options.after = [&](const StageDone& done) {
      if (done.name == "lower") found = done.text();
    };
    aot_run("cpu", f, {ones({3, 3})}, options);
    return found;
  };
  const std::string loops =
                        lowered([](const TensorList& in) { return TensorList{aten<"triu">(in[0], 1) + aten<"tril">(in[0])}; }),
                    call = lowered([](const TensorList& in) { return TensorList{atens<"geqrf">(in[0])[0]}; });
  EXPECT_NE(call.find("geqrf"), std::string::npos) << "what is none is called by its name\n" << call;
  for (const char* name : {"triu", "tril"}) EXPECT_EQ(loops.find(name), std::string::npos) << loops;
}

}  // namespace
}  // namespace ingot
