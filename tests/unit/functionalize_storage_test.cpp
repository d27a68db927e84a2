// Functional tensors that are views of a storage by its places (as_strided), and which gradients
// they have.
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "unit/functionalize_harness.hpp"

namespace ingot::testing {
namespace {

TEST_F(Functionalize, AsStridedOfAViewOfAnotherType) {
  const auto pairs = [](const Tensor& t) { return aten<"view_as_real">(t); };
  expect_same(
      [&](const TensorList& in) {
        Tensor z = aten<"view_as_complex">(in[0] * 2);
        const Tensor seen = pairs(z).as_strided({2}, {3}, 1);
        z.add_(z);
        return TensorList{seen + 1, seen, pairs(z).as_strided({2}, {2}, 0), z};
      },
      {count({3, 2})});
  const TensorFunction of_part = [&](const TensorList& in) {
    Tensor t = in[0];
    t.mul_(Scalar(2));
    return TensorList{pairs(aten<"view_as_complex">(in[0])).as_strided({2}, {3}, 2) * 2};
  };
  const auto seen = [](const TensorFunction& f) { return f({count({4, 2}).slice(0, 1, 3)})[0].to_vector<double>(); };
  EXPECT_EQ(seen(functionalize(of_part)), seen(of_part));
}
// The gradient of a write through such a view finds the elements, too.
TEST_F(Functionalize, AWriteThroughAsStridedOfAViewOfAnotherTypeHasItsGradient) {
  const Tensor x = count({3, 2}).requires_grad_();
  const Tensor z = aten<"view_as_complex">(x * 2);
  Tensor part = aten<"view_as_real">(z).as_strided({2}, {3}, 1);
  part.mul_(Scalar(5));
  aten<"view_as_real">(z).sum().backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{2, 10, 2, 2, 10, 2}));
}
TEST_F(Functionalize, AsStridedFindsElementsWhereTheProgramAsWrittenHasThem) {
  expect_same(  // the written value has other strides than the argument has
      [](const TensorList& in) {
        Tensor t = in[0].t();
        aten_value<"sin.out">(in[0], t);
        return TensorList{in[0].as_strided({2}, {2}, 1) + 0};
      },
      {count({3, 3})});
  expect_same(  // and so have results of it
      [](const TensorList& in) {
        Tensor t = in[0].t();
        aten_value<"sin.out">(in[0], t);
        return TensorList{t.sin().as_strided({2}, {2}, 1)};
      },
      {count({3, 3})});
  expect_same(  // a view that the written value's strides would refuse
      [](const TensorList& in) {
        Tensor t = in[0].t();
        aten_value<"sin.out">(in[0], t);
        return TensorList{in[0].view({9}) + 0};
      },
      {count({3, 3})});
}

TEST_F(Functionalize, AsStridedOfPartOfAStorage) {
  const auto of_part = [](const TensorFunction& f) {
    std::vector<std::vector<double>> seen;
    const Tensor whole = count({2, 3});
    for (const Tensor& t : f({whole.select(0, 1)})) seen.push_back(t.to_vector<double>());
    seen.push_back(whole.to_vector<double>());
    return seen;
  };
  const TensorFunction reads = [](const TensorList& in) {
    const Tensor before = in[0].as_strided({2}, {2}, 0) + 0;
    Tensor t = in[0];
    t.mul_(Scalar(2));
    return TensorList{before, in[0].as_strided({3}, {2}, 1) + 0};  // an element of its own among others
  };
  EXPECT_EQ(of_part(functionalize(reads)), of_part(reads));
  const TensorFunction writes = [](const TensorList& in) {
    Tensor t = in[0].as_strided({2}, {2}, 3);
    t.add_(Scalar(1));
    return TensorList{t + 0, in[0] * 2};
  };
  EXPECT_EQ(of_part(functionalize(writes)), of_part(writes));
  expect_error(
      [&] {
        functionalize([](const TensorList& in) {
          Tensor t = in[0].as_strided({2}, {1}, 1);
          t.add_(Scalar(1));
          return TensorList{t};
        })({count({2, 3}).diagonal(1)});
      },
      "a write through it would reach elements that the tensor it is taken of does not have");
}

TEST_F(Functionalize, ResultsGoOnSharingAStorageThatWasLaidOutOtherwise) {
  const TensorList r = functionalize([](const TensorList& in) {
    Tensor y = in[0].t().neg(), flat = y.t().view({4}), same = y.squeeze();
    aten_value<"sin.out">(in[0], same);
    return TensorList{flat, y.detach()};
  })({count({2, 2})});
  Tensor flat = r[0];
  flat.add_(Scalar(2));
  EXPECT_EQ(r[1].t().reshape({4}).to_vector<double>(), flat.to_vector<double>());
}

// Found by ingot_program_fuzz.
void expect_same_gradients(const TensorFunction& f, const Shape& sizes) {
  const auto gradient = [&](const TensorFunction& g) {
    Tensor leaf = count(sizes).requires_grad_();
    const Tensor result = g({leaf * 1})[0];
    return grad({(result * arange(1, result.numel().value() + 1)).sum()}, {leaf})[0].to_vector<double>();
  };
  EXPECT_EQ(gradient(functionalize(f)), gradient(f));
}
TEST_F(Functionalize, AStaleAsStridedViewIsOneOfTheStorage) {
  expect_same_gradients(
      [](const TensorList& in) {
        const Tensor row = in[0].select(0, 1), from_there = aten<"as_strided">(row, Shape{2}, Shape{1});
        aten_value<"unsqueeze_">(row, 0);
        return TensorList{from_there};
      },
      {2, 3});
}
TEST_F(Functionalize, AStaleAsStridedViewOfArgumentsThatShareAStorage) {
  const auto gradient = [](const TensorFunction& f) {
    Tensor leaf = count({3, 2}).requires_grad_();
    const Tensor base = zeros({3, 2}), result = f({base.slice(1, 1, 2), base, leaf * 1})[0];
    return grad({(result * tensor({1., 2})).sum()}, {leaf})[0].to_vector<double>();
  };
  const TensorFunction f = [](const TensorList& in) {
    const Tensor view = in[0].as_strided({2}, {1}, 0);
    aten_value<"copy_">(in[1], in[2]);
    return TensorList{view.squeeze()};
  };
  EXPECT_EQ(gradient(functionalize(f)), gradient(f));
  EXPECT_EQ(gradient(f), (std::vector<double>{1, 2, 0, 0, 0, 0}));
}
TEST_F(Functionalize, AWriteThroughAsStridedOfATensorThatIsTurnedAfterwards) {
  expect_same_gradients(
      [](const TensorList& in) {
        Tensor x = in[0] * 2, part = x.as_strided({2}, {1}, 1);
        aten_value<"transpose_">(x, 0, -1);
        part.mul_(part.clone());
        return TensorList{x.reshape({6})};
      },
      {1, 3, 2});
}
TEST_F(Functionalize, GradientsReachArgumentsThatShareAStorage) {
  const auto gradient = [](const TensorFunction& f) {
    Tensor leaf = count({4, 1}).requires_grad_();
    const Tensor base = leaf * 1, result = f({base.diagonal(-1).permute({0}), base})[0];
    return grad({result.sum()}, {leaf})[0].to_vector<double>();
  };
  const TensorFunction f = [](const TensorList& in) {
    Tensor y = in[0].clone();
    aten_value<"relu_">(y);
    return TensorList{y};
  };
  EXPECT_EQ(gradient(functionalize(f)), gradient(f));
}
// A view has the gradients of what it was taken of until something on its storage is written; then
// it has those of the base.
TEST_F(Functionalize, GradientsOfAsStridedReachWhatEagerOnesReach) {
  const auto gradients = [](const TensorFunction& f) {
    const Tensor leaf = count({2, 3}).requires_grad_();
    const TensorList r = f({leaf * 1});
    return grad({r[0].sum()}, {leaf})[0].to_vector<double>();
  };
  const auto strided = [](const Tensor& t) { return t.as_strided({2}, {2}, 1); };
  const std::vector<TensorFunction> programs = {
      [&](const TensorList& in) { return TensorList{strided(in[0].slice(1, 0, 3, 2))}; },
      [&](const TensorList& in) { return TensorList{strided(in[0].select(0, 0))}; },
      [&](const TensorList& in) { return TensorList{strided(in[0].diagonal())}; },
      [&](const TensorList& in) { return TensorList{strided(in[0].t())}; },
      [&](const TensorList& in) {
        const Tensor view = strided(in[0].select(0, 0));
        Tensor t = in[0];
        t.mul_(Scalar(2));
        return TensorList{view};
      },
      [&](const TensorList& in) {  // found by ingot_program_fuzz: an in-place view is a write to other views
        Tensor row = in[0].select(0, 0);
        const Tensor view = strided(row);
        aten_value<"squeeze_">(row);
        return TensorList{view};
      },
      [&](const TensorList& in) {  // but not to itself
        Tensor view = strided(in[0].select(0, 0));
        aten_value<"squeeze_">(view);
        return TensorList{view};
      }};
  for (std::size_t i = 0; i < programs.size(); i++)
    EXPECT_EQ(gradients(functionalize(programs[i])), gradients(programs[i])) << "program " << i;
}
TEST_F(Functionalize, AsStridedOfElementsThatATrackedPartDoesNotHaveIsRefused) {
  expect_error(
      [] {
        const Tensor base = count({2, 3}).requires_grad_() * 1;
        functionalize([](const TensorList& in) { return TensorList{in[0].as_strided({2}, {2}, 0)}; })({base.select(0, 1)});
      },
      "it may look at elements that the tensor it is taken of does not have, and the tensor requires grad");
}

}  // namespace
}  // namespace ingot::testing
