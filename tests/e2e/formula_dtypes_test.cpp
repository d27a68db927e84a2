// Every formula on every type that eager takes it on: compiled it takes the same, and says the
// same.
#include <algorithm>

#include "e2e/compiled_model.hpp"

namespace ingot {
namespace {

// The op with the same tensor for every tensor argument, or nothing where it wants more than that.
std::optional<Values> arguments_of(const Op& op, const TensorList& in) {
  Values args;
  for (const SchemaArg& a : op.schema.args) {
    if (a.has_default) break;
    if (a.type.kind == Kind::tensor && !a.type.is_list()) args.emplace_back(in[args.size() % in.size()]);
    else if (a.type.kind == Kind::scalar) args.emplace_back(2);
    else return std::nullopt;
  }
  return args;
}

struct Formulas {
  std::vector<const Op*> taken;
  explicit Formulas(const TensorList& in) {
    for (const Op* o : all_ops()) {
      if (o->form() != Form::pointwise || o->mutates()) continue;
      const std::optional<Values> args = arguments_of(*o, in);
      if (!args) continue;
      try {
        const Value r = call(*o, *args);
        if (r.is_tensor() && !r.tensor().is_complex()) taken.push_back(o);
      } catch (const UserError&) {  // outside of its domain
      }
    }
  }
  TensorList operator()(const TensorList& in) const {
    TensorList results;
    for (const Op* o : taken) results.push_back(call(*o, *arguments_of(*o, in)).tensor());
    return results;
  }
};

class FormulasOf : public ::testing::TestWithParam<DType> {};

TEST_P(FormulasOf, CompiledAsEager) {
  const Tensor x = tensor({0, 1, 2, 3, 5, 7, 1, 0, 9, 4, 1}, DType::i64),
               y = tensor({1, 1, 3, 0, 2, 7, 0, 0, 4, 5, 2}, DType::i64);
  const TensorList in{x.to(GetParam()), y.to(GetParam())};
  const Formulas f(in);
  EXPECT_GT(f.taken.size(), 60u);
  const TensorList eager = f(in), compiled = aot_run("cpu", [&](const TensorList& t) { return f(t); }, in);
  ASSERT_EQ(eager.size(), compiled.size());
  for (std::size_t k = 0; k < eager.size(); k++) {
    const std::string name = f.taken[k]->name;
    ASSERT_EQ(eager[k].dtype(), compiled[k].dtype()) << name;
    const std::vector<double> e = eager[k].to_vector<double>(), c = compiled[k].to_vector<double>();
    const double unit = !is_floating(eager[k].dtype()) ? 0 : eager[k].dtype() == DType::f32 ? 0x1p-23 : 0x1p-52;
    for (std::size_t i = 0; i < e.size(); i++) {
      if (std::isnan(e[i]) ? std::isnan(c[i]) : e[i] == c[i]) continue;
      EXPECT_LE(std::abs(e[i] - c[i]), 8 * unit * std::max(1.0, std::abs(e[i])))
          << name << ", element " << i << ": " << e[i] << ", got " << c[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, FormulasOf,
                         ::testing::Values(DType::b8, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f32,
                                           DType::f64),
                         [](const auto& p) { return std::string(short_name_of(p.param)); });

}  // namespace
}  // namespace ingot
