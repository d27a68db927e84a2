// Control flow for random programs.
#include "ingot/control_flow.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/random_program.hpp"

namespace ingot::testing {
namespace {

TensorList cond_of_two(const TensorList& in) {
  return cond(
      aten<"gt.Scalar">(in[0].sum(), 0), [](const TensorList& x) { return TensorList{x[0].sin() * x[1]}; },
      [](const TensorList& x) { return TensorList{x[0] - x[1].cos()}; }, {in[1], in[2]});
}
TensorList map_of_rows(const TensorList& in) {
  return map([](const TensorList& x) { return TensorList{x[0].sin() + x[1]}; }, {in[0]}, {in[1]});
}
TensorList scan_of_rows(const TensorList& in) {
  Scanned s = scan(
      [](const TensorList& x) {
        const Tensor next = x[0] * 0.5 + x[1].sin();
        return TensorList{next, next * 2};
      },
      {aten<"zeros_like">(in[0].select(0, 0))}, {in[0]});
  return {s.carried[0], s.stacked[0]};
}
TensorList while_of_steps(const TensorList& in) {
  return while_loop([](const TensorList& x) { return TensorList{aten<"lt.Scalar">(x[0], 3)}; },
                    [](const TensorList& x) { return TensorList{x[0] + 1, x[1] * 0.5 + x[2]}; },
                    {aten<"zeros">(Shape{}, DType::i64), in[0]}, {in[1]});
}

}  // namespace

const std::vector<ProgramFunction>& program_functions() {
  static const std::vector<ProgramFunction> kAll = {
      {"cond", cond_of_two,
       "[](const TensorList& in) { return cond(aten<\"gt.Scalar\">(in[0].sum(), 0), [](const TensorList& x) { return "
       "TensorList{x[0].sin() * x[1]}; }, [](const TensorList& x) { return TensorList{x[0] - x[1].cos()}; }, {in[1], in[2]}); }"},
      {"map", map_of_rows,
       "[](const TensorList& in) { return map([](const TensorList& x) { return TensorList{x[0].sin() + x[1]}; }, {in[0]}, {in[1]}); "
       "}"},
      {"scan", scan_of_rows,
       "[](const TensorList& in) { Scanned s = scan([](const TensorList& x) { const Tensor next = x[0] * 0.5 + x[1].sin(); return "
       "TensorList{next, next * 2}; }, {aten<\"zeros_like\">(in[0].select(0, 0))}, {in[0]}); return TensorList{s.carried[0], "
       "s.stacked[0]}; }"},
      {"while_loop", while_of_steps,
       "[](const TensorList& in) { return while_loop([](const TensorList& x) { return TensorList{aten<\"lt.Scalar\">(x[0], 3)}; }, "
       "[](const TensorList& x) { return TensorList{x[0] + 1, x[1] * 0.5 + x[2]}; }, {aten<\"zeros\">(Shape{}, DType::i64), "
       "in[0]}, {in[1]}); }"},
  };
  return kAll;
}

}  // namespace ingot::testing
