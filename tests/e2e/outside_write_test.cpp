// Ops that a user defines outside the tree, which write their arguments and have a kernel but no
// program of other ops: a compiled program has its process call the kernel, on copies of what is
// written.
#include <atomic>

#include "compiler/aot_compiler.hpp"
#include "compiler/compiled_program.hpp"
#include "e2e/compiled_model.hpp"
#include "host/torch/model_container_runner.hpp"
#include "ingot/autograd.hpp"
#include "op/op.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

std::atomic<int> bumps;

// The elements of a tensor of float32 of at most two dims, wherever they lie.
template <class F>
void each(const Tensor& t, const F& f) {
  const int64_t rows = t.dim() > 1 ? t.size(0).value() : 1, columns = t.dim() > 0 ? t.size(-1).value() : 1;
  const int64_t down = t.dim() > 1 ? t.strides()[0].value() : 0, along = t.dim() > 0 ? t.strides().back().value() : 0;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) f(t.data<float>()[i * down + j * along], i * columns + j);
}

void no_results(const Call&, Outputs&) {}
void like_first(const Call& c, Outputs& o) { o.add(c.tensor(0).sizes(), c.tensor(0).dtype()); }

void bump_kernel(const Call& c, std::span<const Tensor>) {
  bumps++;
  const std::vector<double> by = c.tensor(1).to_vector<double>();
  each(c.tensor(0), [&](float& x, int64_t i) {
    x += static_cast<float>(by[static_cast<std::size_t>(i) % by.size()] * static_cast<double>(c[2].to_int64()));
  });
}
// What it does depends on what its arguments share.
void chain_kernel(const Call& c, std::span<const Tensor>) {
  each(c.tensor(0), [](float& x, int64_t i) { x += static_cast<float>(i + 1); });
  each(c.tensor(1), [](float& y, int64_t) { y *= 2; });
}
void count_kernel(const Call& c, std::span<const Tensor> r) {
  each(c.tensor(0), [](float& x, int64_t) { x *= 3; });
  each(c.tensor(0), [&](float& x, int64_t i) { r[0].data<float>()[i] = x - 1; });
  r[1].data<int64_t>()[0] = c.tensor(0).numel().value();
}
void count_meta(const Call& c, Outputs& o) {
  like_first(c, o);
  o.add(Shape{}, DType::i64);
}
void many_kernel(const Call& c, std::span<const Tensor> r) {
  float times = 0;
  for (const Tensor& t : c[0].tensors()) {
    times++;
    each(t, [&](float& x, int64_t) { x += times; });
  }
  if (c[1].is_tensor()) each(c.tensor(1), [](float& x, int64_t) { x = -x; });
  each(r[0], [&](float& x, int64_t) { x = times; });
}
void many_meta(const Call& c, Outputs& o) { o.add(c.tensor(2).sizes(), c.tensor(2).dtype()); }
void lists_kernel(const Call& c, std::span<const Tensor> r) {
  each(c.tensor(0), [](float& x, int64_t) { x += 10; });
  for (std::size_t k = 0; k < r.size(); k++)
    each(c.tensor(0), [&](float& x, int64_t i) { r[k].data<float>()[i] = x * static_cast<float>(k + 1); });
}
void lists_meta(const Call& c, Outputs& o) {
  for (int64_t k = 0; k < c[1].to_int64(); k++) like_first(c, o);
}
void refuse_negative_kernel(const Call& c, std::span<const Tensor>) {
  each(c.tensor(0), [](float& x, int64_t) { INGOT_REQUIRE(x >= 0, "no element may be negative"); });
}

constinit const OpDef kWriting[] = {
    {.schema = "outwrites::lists(Tensor(a!) x, int count) -> Tensor[]", .meta = lists_meta, .kernel = lists_kernel},
    {.schema = "outwrites::bump(Tensor(a!) x, Tensor by, SymInt times=1) -> ()", .meta = no_results, .kernel = bump_kernel},
    {.schema = "outwrites::chain(Tensor(a!) x, Tensor(b!) y) -> ()", .meta = no_results, .kernel = chain_kernel},
    {.schema = "outwrites::count(Tensor(a!) x) -> (Tensor, Tensor)", .meta = count_meta, .kernel = count_kernel},
    {.schema = "outwrites::many(Tensor(a!)[] xs, Tensor(b!)? o, Tensor like) -> Tensor",
     .meta = many_meta,
     .kernel = many_kernel},
    {.schema = "outwrites::refuse(Tensor(a!) x) -> ()", .meta = no_results, .kernel = refuse_negative_kernel},
};

class OutsideWrite : public CompiledModel {
 protected:
  static void SetUpTestSuite() {
    static const bool registered = (register_ops(kWriting), true);
    (void)registered;
  }

  // All elements of the storage, those around the tensor among them.
  static Tensor whole(const Tensor& t) {
    return aten<"as_strided">(t, Shape{t->storage->nbytes().value() / t.itemsize()}, Shape{1}, 0);
  }
  // Results, and the inputs after the run with what lies around them, are those of the program as
  // written.
  static void expect_same(const TensorFunction& f, const TensorFunction& compiled, const std::function<TensorList()>& inputs) {
    const TensorList given = inputs(), taken = inputs();
    const TensorList want = f(given), found = compiled(taken);
    expect_close(want, found);
    expect_close(given, taken);
    for (std::size_t k = 0; k < given.size(); k++) expect_close({whole(given[k])}, {whole(taken[k])});
  }
  void expect_compiles(const TensorFunction& f, const std::function<TensorList()>& inputs) const {
    ModelContainerRunner library(aot_compile(f, inputs(), path("f.so")));
    expect_same(f, [&](const TensorList& in) { return library.run(in); }, inputs);
    const aot::AotFunction fused = aot::memory_efficient_fusion(f);
    expect_same(f, [&](const TensorList& in) { return fused(in); }, inputs);
  }
};

void bump(const Tensor& x, const Tensor& by, const Value& times = 1) { call(op("outwrites::bump"), Values{x, by, times}); }

Tensor numbers(Shape sizes) {
  Int n = 1;
  for (const Int s : sizes) n = n * s;
  return arange(n.value()).to(float32).reshape(sizes);
}

TEST_F(OutsideWrite, OneArgument) {
  const auto inputs = [] { return TensorList{numbers({3, 4}), ones({4}) * 0.5}; };
  // What the program made, of which there is another use before and after.
  expect_compiles(
      [](const TensorList& in) {
        const Tensor y = in[0] + 1, before = y * 2;
        bump(y, in[1]);
        return TensorList{y, before, y * 3};
      },
      inputs);
  expect_compiles(  // the caller's own
      [](const TensorList& in) {
        bump(in[0], in[1], 2);
        return TensorList{in[0].sum()};
      },
      inputs);
  expect_compiles(  // again and again
      [](const TensorList& in) {
        const Tensor y = in[0] + 1;
        for (int k = 0; k < 3; k++) bump(y, in[1], k);
        return TensorList{y};
      },
      inputs);
}

TEST_F(OutsideWrite, AViewOfWhatIsWritten) {
  for (const auto& view : std::initializer_list<Tensor (*)(const Tensor&)>{
           [](const Tensor& y) { return y.slice(0, 1, 3); }, [](const Tensor& y) { return y.t(); },
           [](const Tensor& y) { return y.select(1, 2); },
           [](const Tensor& y) { return y.select(0, 1).view({2, 2}).select(0, 1); },
           [](const Tensor& y) { return y.slice(1, 0, 4, 2); }, [](const Tensor& y) { return aten<"alias">(y); }}) {
    expect_compiles(
        [&](const TensorList& in) {
          const Tensor y = in[0] * 2;
          bump(view(y), in[1]);
          return TensorList{y + 1};
        },
        [] { return TensorList{numbers({3, 4}), ones({1})}; });
    // Of the caller's tensor, however that lies.
    for (const auto& lies : std::initializer_list<Tensor (*)()>{
             [] { return numbers({3, 4}); }, [] { return numbers({5, 4}).slice(0, 1, 4); },
             [] { return numbers({3, 7}).slice(1, 2, 6); }, [] { return numbers({5, 6}).t().slice(0, 1, 4).slice(1, 1, 5); }})
      expect_compiles(
          [&](const TensorList& in) {
            bump(view(in[0]), in[1]);
            return TensorList{in[0] + 1};
          },
          [&] { return TensorList{lies(), ones({1})}; });
  }
}

// What lies inside of a larger tensor, as a function that is compiled with its gradients is given
// it.
TEST_F(OutsideWrite, APartOfTheCallersTensor) {
  for (const auto& lies : std::initializer_list<Tensor (*)()>{[] { return numbers({5, 4}).slice(0, 1, 4); },
                                                              [] { return numbers({3, 7}).slice(1, 2, 6); }})
    for (const bool of_a_slice : {false, true})
      expect_compiles(
          [&](const TensorList& in) {
            bump(of_a_slice ? in[0].slice(0, 1, 3) : in[0], in[1]);
            return TensorList{in[0] + 1};
          },
          [&] { return TensorList{lies(), ones({1})}; });
}

// Views of it by their places, between other writes.
TEST_F(OutsideWrite, APartOfTheCallersTensorThatOthersWrite) {
  const auto add = [](const Tensor& x) { Tensor(x).add_(1); };
  for (const bool before : {false, true})
    for (const bool after : {false, true})
      expect_compiles(
          [&](const TensorList& in) {
            if (before) add(in[0]);
            bump(in[0].t(), in[1]);
            if (after) add(in[0].select(0, 1));
            bump(in[0].t(), in[1], 3);
            call(op("outwrites::chain"), Values{in[0].t(), in[0].select(0, 1)});
            return TensorList{in[0] * 2};
          },
          [] { return TensorList{numbers({5, 7}).slice(0, 1, 4).slice(1, 2, 6), ones({1})}; });
}

// What is compiled of one holds for another only where that lies in the same place.
TEST_F(OutsideWrite, PartsInOtherPlaces) {
  const TensorFunction f = [](const TensorList& in) {
    bump(in[0].t(), in[1]);
    return TensorList{in[0] + 1};
  };
  for (const aot::AotFunction& compiled : {aot::memory_efficient_fusion(f), aot::aot_function(f)})
    for (const int64_t first : {0, 2, 1})
      for (const int64_t rows : {3, 5})
        if (first + 3 <= rows)
          expect_same(
              f, [&](const TensorList& in) { return compiled(in); },
              [&] { return TensorList{numbers({rows, 4}).slice(0, first, first + 3), ones({1})}; });
}

// Its places may be sums of sizes.
TEST_F(OutsideWrite, APartOfTheCallersTensorOfOpenSizes) {
  const TensorFunction f = [](const TensorList& in) {
    bump(in[0].t(), in[1]);
    bump(in[0].select(0, -1), in[1], 2);
    return TensorList{in[0] + 1};
  };
  for (const aot::Compiler& forward : {aot::ingot_compiler(), aot::Compiler(aot::nop)}) {
    const aot::AotFunction compiled = aot::aot_function(f, {.forward = forward, .dynamic = true});
    for (const int64_t n : {5, 3, 7})
      expect_same(
          f, [&](const TensorList& in) { return compiled(in); },
          [n] { return TensorList{numbers({9, 4}).slice(0, 1, 1 + n), ones({1})}; });
    EXPECT_EQ(compiled.variants(), 1);
  }
}

// Elements around it that the op would write are nobody's to give back.
TEST_F(OutsideWrite, ElementsAroundAPartAreRefused) {
  const TensorFunction f = [](const TensorList& in) {
    bump(aten<"as_strided">(in[0], Shape{2}, Shape{1}, 5), in[1]);
    return TensorList{in[0] + 1};
  };
  const auto inputs = [] { return TensorList{numbers({3, 7}).slice(1, 2, 6), ones({1})}; };
  for (const aot::AotFunction& compiled : {aot::memory_efficient_fusion(f), aot::aot_function(f)}) {
    const std::string message = error_of([&] { compiled(inputs()); });
    EXPECT_NE(message.find("a write through it would reach elements that the tensor it is taken of does not have. Take the "
                           "view of the whole tensor"),
              std::string::npos)
        << message;
  }
}

TEST_F(OutsideWrite, TwoViewsOfOneTensor) {
  for (const auto& [a, b] : std::initializer_list<std::pair<Tensor (*)(const Tensor&), Tensor (*)(const Tensor&)>>{
           {[](const Tensor& y) { return y.slice(0, 0, 2); }, [](const Tensor& y) { return y.slice(0, 1, 3); }},
           {[](const Tensor& y) { return y.t(); }, [](const Tensor& y) { return y; }},
           {[](const Tensor& y) { return y.select(0, 1); }, [](const Tensor& y) { return y.select(1, 1); }}}) {
    expect_compiles(
        [&](const TensorList& in) {
          const Tensor y = in[0] + 1;
          call(op("outwrites::chain"), Values{a(y), b(y)});
          return TensorList{y * 2, y.t()};
        },
        [] { return TensorList{numbers({3, 3})}; });
    expect_compiles(
        [&](const TensorList& in) {
          call(op("outwrites::chain"), Values{a(in[0]), b(in[0])});
          return TensorList{in[0] * 2};
        },
        [] { return TensorList{numbers({3, 3})}; });
  }
}

TEST_F(OutsideWrite, TwoTensors) {
  expect_compiles(
      [](const TensorList& in) {
        const Tensor y = in[1] * 2;
        call(op("outwrites::chain"), Values{in[0], y});
        return TensorList{in[0] + y};
      },
      [] { return TensorList{numbers({3, 3}), ones({3, 3})}; });
}

TEST_F(OutsideWrite, WithResults) {
  expect_compiles(
      [](const TensorList& in) {
        const Tensor y = in[0] + 1;
        const TensorList r = call(op("outwrites::count"), Values{y.t()}).tensors();
        return TensorList{r[0] * 2, y, r[1] + 1};
      },
      [] { return TensorList{numbers({3, 4})}; });
}

TEST_F(OutsideWrite, ListsAndWhatIsNone) {
  for (const bool with_option : {false, true})
    expect_compiles(
        [with_option](const TensorList& in) {
          const Tensor y = in[0] + 1, z = in[0] * 2;
          const TensorList xs{y.select(0, 0), in[1], z.t()};
          const Tensor r = call(op("outwrites::many"), Values{xs, with_option ? Value(y.select(0, 1)) : Value(), in[1]}).tensor();
          return TensorList{y, z, r * 5};
        },
        [] { return TensorList{numbers({3, 4}), ones({2, 2})}; });
  expect_compiles(
      [](const TensorList& in) { return TensorList{call(op("outwrites::many"), Values{TensorList{}, in[0], in[0]}).tensor()}; },
      [] { return TensorList{numbers({3, 4})}; });
}

TEST_F(OutsideWrite, OpenSizes) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor y = in[0] + 1;
    bump(y, in[1], in[0].size(0));
    bump(y.t(), in[1]);
    call(op("outwrites::chain"), Values{y.slice(0, 1), y.select(1, 0)});
    bump(in[0].slice(0, 1), in[1]);
    return TensorList{y, call(op("outwrites::count"), Values{y.t()}).tensors()[0]};
  };
  ModelContainerRunner model(aot_compile(f, {numbers({5, 4}), ones({1})}, path("f.so"), {}, kOpen));
  for (const int64_t n : kSizes)
    expect_same(f, [&](const TensorList& in) { return model.run(in); }, [n] { return TensorList{numbers({n, 4}), ones({1})}; });
}

// Also where nobody asks what it wrote: it may have done something else besides.
TEST_F(OutsideWrite, RunsOnceARun) {
  const TensorFunction f = [](const TensorList& in) {
    bump(in[0] * 2, in[1]);
    return TensorList{in[0] + 1};
  };
  ModelContainerRunner model(aot_compile(f, {ones({3}), ones({3})}, path("f.so")));
  bumps = 0;
  for (int k = 1; k < 4; k++) {
    model.run({ones({3}), ones({3})});
    EXPECT_EQ(bumps, k);
  }
}

// The tape sees nothing of such writes, eager or compiled: a copy has the gradient of what it is
// of.
TEST_F(OutsideWrite, GradientsAroundIt) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor y = in[0] * 3;
    bump(y, ones({4}));
    return TensorList{(y * y).sum()};
  };
  const aot::AotFunction compiled = aot::memory_efficient_fusion(f);
  Tensor x = numbers({4}).requires_grad_();
  compiled(TensorList{x})[0].backward();
  expect_close({(numbers({4}) * 3 + 1) * 6}, {x.grad()});
}

TEST_F(OutsideWrite, RefusalIsTheRunsError) {
  const TensorFunction f = [](const TensorList& in) {
    call(op("outwrites::refuse"), Values{in[0]});
    return TensorList{in[0] + 1};
  };
  ModelContainerRunner model(aot_compile(f, {ones({2})}, path("f.so")));
  expect_close({ones({2}) * 2}, model.run({ones({2})}));
  const std::string message = error_of([&] { model.run({-ones({2})}); });
  EXPECT_NE(message.find("no element may be negative"), std::string::npos) << message;
}

TEST_F(OutsideWrite, ResultsInAList) {
  const auto inputs = [] { return TensorList{numbers({3, 4})}; };
  for (const int count : {0, 1, 3})
    expect_compiles(
        [count](const TensorList& in) {
          const Tensor y = in[0] + 1;
          TensorList r = call(op("outwrites::lists"), Values{y.t(), count}).tensors();
          r.push_back(y * 2);
          return r;
        },
        inputs);
  expect_compiles(  // one of them, and the caller's own
      [](const TensorList& in) {
        const TensorList r = call(op("outwrites::lists"), Values{in[0].select(0, 1), 2}).tensors();
        return TensorList{r[1] + in[0]};
      },
      inputs);
  expect_compiles(  // nobody asks for the results
      [](const TensorList& in) {
        call(op("outwrites::lists"), Values{in[0], 2});
        return TensorList{};
      },
      inputs);
}

// The backward reads an element of the list.
TEST_F(OutsideWrite, ResultsInAListThatTheBackwardReads) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor y = in[1] + 1;
    const TensorList r = call(op("outwrites::lists"), Values{y, 2}).tensors();
    return TensorList{(in[0] * r[1]).sum()};
  };
  for (const aot::AotFunction& compiled : {aot::memory_efficient_fusion(f), aot::aot_function(f)}) {
    const Tensor x = numbers({4}).requires_grad_();
    compiled(TensorList{x, numbers({4})})[0].backward();
    expect_close({(numbers({4}) + 11) * 2}, {x.grad()});
  }
}

// A process without the op is told so when it loads the library, not when it runs it.
TEST_F(OutsideWrite, AProcessWithoutItIsToldWhenItLoadsTheLibrary) {
  const TensorFunction f = [](const TensorList& in) {
    bump(in[0], in[0]);
    return TensorList{in[0]};
  };
  aot_compile(f, {ones({2})}, path("f.so"));
  write(0, ones({2}));
  EXPECT_NE(run_c("", INGOT_MODEL_RUNNER, path("f.so")), 0);
  EXPECT_NE(said().find("the model calls the operator outwrites::bump"), std::string::npos) << said();
  EXPECT_NE(said().find("registered"), std::string::npos) << said();
}

}  // namespace
}  // namespace ingot
