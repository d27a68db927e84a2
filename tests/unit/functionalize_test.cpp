// Functional tensors and functionalize (R048 to R063): what views and writes become.
#include "graph/interpret.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "support/wrappers.hpp"
#include "transform/functional.hpp"
#include "transform/functional_graph.hpp"
#include "unit/functionalize_harness.hpp"

namespace ingot::testing {
namespace {

// Windows of an unfold that overlap show elements more than once; one place of each window is
// written.
TEST_F(Functionalize, WritesThroughWindowsThatOverlap) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor windows = aten<"unfold">(in[0], 1, 3, 1);
    aten_value<"add_.Scalar">(windows.select(2, 0), 10);
    aten_value<"mul_.Scalar">(atens<"split.Tensor">(windows, 1, 2)[2], 3);
    return TensorList{windows.clone(), in[0] * 2};
  };
  expect_same(f, {count({2, 6})});
  expect_same(f, {count({6, 2}).t()});
}

TEST_F(Functionalize, A007_InPlaceBecomesFunctional) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor a = in[0] * 2;
    aten_value<"relu_">(a);
    return TensorList{a};
  };
  EXPECT_NE(print(trace(f, {randn({3})}).graph).find("aten.relu_.default"), std::string::npos);
  EXPECT_EQ(listing(f, {randn({3})}),
            "def forward(self, arg0_1):\n"
            "    mul = torch.ops.aten.mul.Tensor(arg0_1, 2);  arg0_1 = None\n"
            "    relu = torch.ops.aten.relu.default(mul);  mul = None\n"
            "    return (relu,)\n");
}

TEST_F(Functionalize, R048_ViewsStayViews) {
  EXPECT_EQ(listing([](const TensorList& in) { return TensorList{in[0].clone().view({4}).sin()}; }, {count({2, 2})}),
            "def forward(self, arg0_1):\n"
            "    clone = torch.ops.aten.clone.default(arg0_1);  arg0_1 = None\n"
            "    view = torch.ops.aten.view.default(clone, [4]);  clone = None\n"
            "    sin = torch.ops.aten.sin.default(view);  view = None\n"
            "    return (sin,)\n");
}

TEST_F(Functionalize, R049_R050_AliasesAreMadeAgainAtTheirNextUse) {
  const Tensor x = to_functional(count({2, 3}));
  Tensor row = x.select(0, 1), all = x;
  EXPECT_EQ(functional_state(row)->storage, functional_state(x)->storage);
  EXPECT_EQ(functional_state(row)->chain.size(), 1u);
  const uint32_t before = functional_state(x)->storage->generation;
  row.add_(Scalar(10));
  EXPECT_EQ(functional_state(x)->storage->generation, before + 1);
  EXPECT_NE(functional_state(x)->generation, before + 1) << "stale until it is used";
  EXPECT_EQ(from_functional(all).to_vector<double>(), (std::vector<double>{0, 1, 2, 13, 14, 15}));
  EXPECT_EQ(functional_state(x)->generation, before + 1);
}

TEST_F(Functionalize, R051_InversesOfEveryView) {
  const auto through = [](auto&& take) {
    return [take](const TensorList& in) {
      Tensor v = take(in[0]);
      v.mul_(Scalar(3));
      return TensorList{in[0] + 1, v};
    };
  };
  const Tensor x = count({2, 3, 4});
  expect_same(through([](const Tensor& t) { return t.select(1, 2); }), {x});
  expect_same(through([](const Tensor& t) { return t.slice(2, 1, 4, 2); }), {x});
  expect_same(through([](const Tensor& t) { return t.diagonal(1, 1, 2); }), {x});
  expect_same(through([](const Tensor& t) { return t.as_strided({2, 2}, {4, 1}, 3); }), {x});
  expect_same(through([](const Tensor& t) { return t.split(2, 2)[1]; }), {x});
  expect_same(through([](const Tensor& t) { return t.chunk(2, 0)[1]; }), {x});
  expect_same(through([](const Tensor& t) { return t.unbind(1)[2]; }), {x});
  expect_same(through([](const Tensor& t) { return t.view({6, 4}); }), {x});
  expect_same(through([](const Tensor& t) { return t.transpose(0, 2); }), {x});
  expect_same(through([](const Tensor& t) { return t.permute({2, 0, 1}); }), {x});
  expect_same(through([](const Tensor& t) { return t.unsqueeze(1).squeeze(1); }), {x});
  expect_same(through([](const Tensor& t) { return t.detach(); }), {x});
  expect_same(through([](const Tensor& t) { return aten<"alias">(t); }), {x});
  expect_same(through([](const Tensor& t) { return t.select(0, 1).t().slice(0, 1, 3).unsqueeze(0); }), {count({2, 3, 4})});
  expect_same(through([](const Tensor& t) { return aten<"view_as_real">(aten<"view_as_complex">(t)); }), {count({3, 2})});
  expect_same(through([](const Tensor& t) { return aten<"unfold">(t, 0, 2, 2); }), {count({6})});
}

// Found by ingot_program_fuzz: one row is contiguous whatever its stride, and types of other sizes
// ask for an even one.
TEST_F(Functionalize, R051_OneRowIsReadAsAnotherTypeWhereverItLies) {
  const TensorFunction complex_numbers = [](const TensorList& in) {
    const Tensor x = aten<"complex">(in[0], in[0] + 1);
    aten_value<"exp_">(aten<"t">(aten<"view_as_real">(x)));
    return TensorList{aten<"real">(x), aten<"imag">(x)};
  };
  const TensorFunction halves = [](const TensorList& in) {
    const Tensor x = in[0].to(float64).view({1, -1});
    aten_value<"mul_.Scalar">(aten<"t">(x.view(float32)), 2);
    return TensorList{x.view(float32)};
  };
  const TensorFunction doubles = [](const TensorList& in) {
    const Tensor x = aten<"cat">(TensorList{in[0], in[0]}).view({-1, 2});
    aten_value<"mul_.Scalar">(aten<"t">(x.view(float64)), 2);
    return TensorList{x};
  };
  for (const TensorFunction& f : {complex_numbers, halves, doubles})
    for (const int64_t n : {1, 3}) expect_same(f, {count({n}) + 1});
}

TEST_F(Functionalize, R052_AsStridedOfAViewTakesNoWrites) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor v = in[0].select(0, 1).as_strided({2}, {1}, 0);
    v.add_(Scalar(1));
    return TensorList{v};
  };
  expect_error([&] { functionalize(f)({count({2, 3})}); },
               "encountered a mutation on a view chain of length 2, where view 1 was an as_strided() call");
}

// The diagonal of a view is one of its dims, not of its storage.
TEST_F(Functionalize, R051_ADiagonalIsFilledThroughViews) {
  const auto filled = [](auto&& take, bool wrap) {
    return [take, wrap](const TensorList& in) {
      aten_value<"fill_diagonal_">(take(in[0]), 7, wrap);
      return TensorList{in[0] + 1};
    };
  };
  expect_same(filled([](const Tensor& t) { return t.select(0, 1).t().slice(0, 1, 4); }, false), {count({2, 3, 4})});
  expect_same(filled([](const Tensor& t) { return t.view({6, 2}).slice(0, 1, 6); }, true), {count({12})});
  expect_same(filled([](const Tensor& t) { return t.as_strided({3, 4}, {4, 1}, 2); }, false), {count({20})});
  expect_same(filled([](const Tensor& t) { return t.transpose(0, 2); }, false), {count({3, 3, 3})});
}

TEST_F(Functionalize, R053_InPlaceViewsChangeTheTensorItself) {
  Tensor x = to_functional(count({2, 3}));
  aten_value<"t_">(x);
  EXPECT_TRUE(functional_state(x)->metadata_mutated);
  EXPECT_EQ(x.sizes(), (Shape{3, 2}));
  EXPECT_EQ(functional_state(x)->storage->mutations, 0u);
  Tensor a = count({2, 3});
  const TensorList r = functionalize([](const TensorList& in) {
    Tensor t = in[0];
    aten_value<"transpose_">(t, 0, 1);
    t.select(0, 0).add_(Scalar(5));
    return TensorList{t};
  })({a});
  EXPECT_TRUE(r[0].is_same(a));
  EXPECT_EQ(a.sizes(), (Shape{3, 2}));
  EXPECT_EQ(a.to_vector<double>(), (std::vector<double>{5, 8, 1, 4, 2, 5}));
}

TEST_F(Functionalize, R054_OutResizesAndCasts) {
  const Tensor x = count({3});
  Tensor other = zeros({2}), wide = zeros({3}, {.dtype = float64});
  const TensorFunction f = [](const TensorList& in) {
    aten_value<"sin.out">(in[0], in[1]);
    aten_value<"sin.out">(in[0], in[2]);
    return TensorList{in[1] + 1};
  };
  const std::string text = listing(f, {x, other, wide});
  EXPECT_NE(text.find("aten._to_copy.default(sin_1, dtype = torch.float64)"), std::string::npos) << text;
  Tensor fake = to_functional(zeros({2}));
  aten_value<"sin.out">(to_functional(x), fake);
  EXPECT_TRUE(functional_state(fake)->metadata_mutated);
  EXPECT_EQ(fake.sizes(), (Shape{3}));
  functionalize(f)({x, other, wide});
  EXPECT_EQ(other.sizes(), (Shape{3}));
  EXPECT_EQ(other.to_vector<double>(), x.sin().to_vector<double>());
}

TEST_F(Functionalize, R055_SetTakesTheSourcesStorageAndFreezesTheOld) {
  const TensorFunction f = [](const TensorList& in) {
    aten_value<"set_.source_Tensor">(in[0], in[1]);
    Tensor t = in[0];
    t.add_(Scalar(1));
    return TensorList{t};
  };
  Tensor a = zeros({3}), b = count({3});
  functionalize(f)({a, b});
  EXPECT_EQ(a.to_vector<double>(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(b.to_vector<double>(), (std::vector<double>{1, 2, 3})) << "they are one storage now";
  EXPECT_EQ(a->storage, b->storage);
  expect_error(
      [&] {
        functionalize([](const TensorList& in) {
          Tensor view = in[0].view({3});
          aten_value<"set_.source_Tensor">(in[0], in[1]);
          view.add_(Scalar(1));
          return TensorList{view};
        })({zeros({3}), count({3})});
      },
      "cannot mutate tensors with frozen storage");
}

TEST_F(Functionalize, R056_ResizeSmallerIsAViewLargerNeedsATensorThatIsNone) {
  Tensor a = count({6});
  functionalize([](const TensorList& in) {
    aten_value<"resize_">(in[0], Shape{2, 2});
    Tensor t = in[0];
    t.add_(Scalar(1));
    return TensorList{};
  })({a});
  EXPECT_EQ(a.sizes(), (Shape{2, 2}));
  EXPECT_EQ(a.to_vector<double>(), (std::vector<double>{1, 2, 3, 4}));
  Tensor b = count({2});
  functionalize([](const TensorList& in) {
    aten_value<"resize_">(in[0], Shape{4});
    Tensor t = in[0];
    t.fill_(7);
    return TensorList{};
  })({b});
  EXPECT_EQ(b.to_vector<double>(), (std::vector<double>{7, 7, 7, 7}));
  expect_error(
      [&] {
        functionalize([](const TensorList& in) {
          aten_value<"resize_">(in[0].view({2}), Shape{4});
          return TensorList{};
        })({count({2})});
      },
      "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass");
  Tensor c = to_functional(count({2}));
  aten_value<"inductor::resize_storage_bytes_">(c, 0);
  EXPECT_EQ(functional_state(c)->storage->bytes->number(), 0);
  aten_value<"inductor::resize_storage_bytes_">(c, 8);
  expect_error([&] { aten_value<"inductor::resize_storage_bytes_">(c, 16); }, "only from or to 0 bytes, found 8 and 16");
}

TEST_F(Functionalize, R057_WritesAreCountedByGradMode) {
  Tensor x = to_functional(count({3}));
  const FunctionalStorage& s = *functional_state(x)->storage;
  x.add_(Scalar(1));
  {
    const NoGrad no_grad;
    x.add_(Scalar(1));
  }
  {
    const InferenceMode inference;
    const NoGrad no_grad;
    Tensor y = to_functional(count({3}));
    y.add_(Scalar(1));
    EXPECT_EQ(functional_state(y)->storage->mutations_no_grad, 1u);
  }
  x.detach().add_(Scalar(1));
  EXPECT_EQ(s.mutations, 3u);
  EXPECT_EQ(s.mutations_no_grad, 1u);
  from_functional(x);
  EXPECT_EQ(s.mutations, 3u) << "making a value again is no write";
}

TEST_F(Functionalize, R058_PreDispatchKeepsPureComposites) {
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{aten<"dropout">(aten<"linear">(in[0], in[1]), 0.5, false).reshape({6})};
  };
  const std::string whole = print(trace(f, {count({2, 4}), count({3, 4})}, {.pre_dispatch = true}).graph);
  EXPECT_NE(whole.find("aten.linear.default"), std::string::npos) << whole;
  EXPECT_EQ(whole.find("aten.dropout"), std::string::npos) << "may be its argument: comes apart\n" << whole;
  EXPECT_EQ(whole.find("aten.reshape"), std::string::npos) << "may alias: comes apart\n" << whole;
  const std::string apart = print(trace(f, {count({2, 4}), count({3, 4})}).graph);
  EXPECT_EQ(apart.find("aten.linear"), std::string::npos) << apart;
}

TEST_F(Functionalize, R059_InExportConversionsCopyAndTheirResultsTakeNoWrites) {
  const FunctionalizeOptions for_export{.exporting = true};
  const TensorFunction convert = [](const TensorList& in) { return TensorList{in[0].to(float32).to(Device{})}; };
  const std::string exported = print(without_dead_code(trace(functionalize(convert, for_export), {count({2})}).graph));
  EXPECT_EQ(
      exported,
      "def forward(self, arg0_1):\n"
      "    _to_copy = torch.ops.aten._to_copy.default(arg0_1, dtype = torch.float32, device = device(type='cpu'));  arg0_1 = None\n"
      "    _to_copy_1 = torch.ops.aten._to_copy.default(_to_copy, dtype = torch.float32, device = device(type='cpu'));  _to_copy = None\n"
      "    return (_to_copy_1,)\n");
  EXPECT_EQ(listing(convert, {count({2})}), "def forward(self, arg0_1):\n    return (arg0_1,)\n");
  // A conversion that is part of another op is that op's own.
  const TensorFunction whole = [](const TensorList& in) { return TensorList{aten<"log_softmax.int">(in[0], 0, float32)}; };
  EXPECT_EQ(print(trace(functionalize(whole, for_export), {count({2})}).graph).find("_to_copy"), std::string::npos);

  const auto then_written = [](const auto& make) {
    return [make](const TensorList& in) {
      Tensor y = make(in[0]);
      y.view({-1}).add_(Scalar(1));
      return TensorList{y};
    };
  };
  const std::string words = "cannot mutate tensors with frozen storage";
  const auto converted = then_written([](const Tensor& t) { return t.to(float64); });
  expect_error([&] { functionalize(converted, for_export)({count({2})}); }, words);
  EXPECT_EQ(functionalize(converted)({count({2})})[0].to_vector<double>(), (std::vector<double>{1, 2}));
  const auto dropped = then_written([](const Tensor& t) { return dropout(t, 0.5, false); });
  expect_error([&] { trace(functionalize(dropped, for_export), {count({2})}, {.pre_dispatch = true}); }, words);
  EXPECT_EQ(functionalize(dropped)({count({2})})[0].to_vector<double>(), (std::vector<double>{1, 2}));
  const std::string kept =
      print(trace(functionalize([](const TensorList& in) { return TensorList{dropout(in[0], 0.5, true)}; }, for_export),
                  {count({2})}, {.pre_dispatch = true})
                .graph);
  EXPECT_NE(kept.find("aten.dropout.default(arg0_1, 0.5, True)"), std::string::npos) << kept;
}

TEST_F(Functionalize, R061_TensorsWithoutStorageAreWrapped) {
  const auto sparse = [] { return sparse_tensor(arange(1, 3), tensor({5., 7}), 4); };
  const Tensor x = sparse(), f = to_functional(x);
  EXPECT_TRUE(is_sparse_tensor(functional_state(f)->value));
  EXPECT_EQ(f->storage->nbytes().number(), 0);
  EXPECT_EQ(f.sizes(), (Shape{4}));
  const Tensor other = f.detach();
  EXPECT_FALSE(other->storage == f->storage) << "no two tensors are on one storage";
  EXPECT_FALSE(functional_state(other)->storage == functional_state(f)->storage);
  EXPECT_FALSE(other.is_view());
  Tensor y = f * 2;
  y.mul_(Scalar(10));
  EXPECT_EQ(to_dense(from_functional(y)).to_vector<double>(), (std::vector<double>{0, 100, 140, 0}));
  EXPECT_EQ(from_functional(f.select(0, 2)).item_double(), 7) << "what a view op gives is dense, and new";
  expect_error([&] { aten_value<"set_.source_Tensor">(x, sparse()); }, "a SparseTensor has no storage to change");

  const TensorFunction program = [](const TensorList& in) {
    Tensor a = in[0], copy = in[0].detach();
    a.mul_(Scalar(3));
    copy.mul_(Scalar(2));
    return TensorList{a + copy, in[1].detach()};
  };
  const TensorList eager_in{sparse(), sparse()}, in{sparse(), sparse()};
  const TensorList eager = program(eager_in), functional = functionalize(program)(in);
  for (std::size_t k = 0; k < 2; k++) {
    EXPECT_TRUE(is_sparse_tensor(functional[k]));
    EXPECT_EQ(to_dense(functional[k]).to_vector<double>(), to_dense(eager[k]).to_vector<double>());
    EXPECT_EQ(to_dense(in[k]).to_vector<double>(), to_dense(eager_in[k]).to_vector<double>());
  }
  EXPECT_EQ(to_dense(in[0]).to_vector<double>(), (std::vector<double>{0, 15, 21, 0}));
}

Value scale_in_place(const Call& c) {
  Tensor x = c.tensor(0);
  x.mul_(c.tensor(1));
  return {};
}
constinit const OpDef kCustomOps[] = {{.schema = "tests::scale_(Tensor(a!) x, Tensor by) -> ()", .body = scale_in_place}};

TEST_F(Functionalize, R060_ACustomOpThatWritesIsCalledThroughAutoFunctionalized) {
  static const bool registered = (register_ops(kCustomOps), true);
  (void)registered;
  const TensorFunction f = [](const TensorList& in) {
    Tensor y = in[0] + 1;
    call(op("tests::scale_"), {y, in[1]});
    return TensorList{y};
  };
  expect_same(f, {count({3}), count({3})});
  EXPECT_EQ(
      listing(f, {count({3}), count({3})}),
      "def forward(self, arg0_1, arg1_1):\n"
      "    add = torch.ops.aten.add.Tensor(arg0_1, 1);  arg0_1 = None\n"
      "    auto_functionalized_v2 = torch.ops.higher_order.auto_functionalized_v2(torch.ops.tests.scale_.default, by = arg1_1, "
      "_x_base_index = 0, _all_bases = [add]);  arg1_1 = add = None\n"
      "    getitem_1 = auto_functionalized_v2[1];  auto_functionalized_v2 = None\n"
      "    return (getitem_1,)\n");
}

TEST_F(Functionalize, R063_AGraphOfValuesWritesPlaceholdersOnceEach) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor x = in[0], y = in[1].clone();
    x.add_(in[1]);
    y.mul_(x);
    return TensorList{y};
  };
  const TensorList in{count({3}), count({3})};
  const Traced t = trace(functionalize(f), in);
  EXPECT_EQ(require_functional(t.graph), 1);
  EXPECT_EQ(require_functional(without_dead_code(t.graph)), 1);
  EXPECT_NE(error_of([&] {
              require_functional(trace(f, in).graph);
            }).find("expected to have an entirely functional graph, but found add_ = aten::add_.Tensor"),
            std::string::npos);
  const TensorFunction twice = [](const TensorList& in) {
    Tensor x = in[0];
    x.copy_(in[1]);
    return TensorList{x.copy_(in[1])};
  };
  const Graph g = parse_graph(
      "def forward(self, x, y):\n"
      "    copy_ = torch.ops.aten.copy_.default(x, y)\n"
      "    copy__1 = torch.ops.aten.copy_.default(x, y);  x = y = None\n"
      "    return (copy_,)\n");
  EXPECT_NE(error_of([&] { require_functional(g); }).find("a placeholder is written once"), std::string::npos);
  EXPECT_NE(error_of([&] { require_functional(trace(twice, in).graph); }).find("only placeholders may be written"),
            std::string::npos);
}

TEST_F(Functionalize, R062_QueriesAnswerForTheValue) {
  Tensor x = to_functional(count({2, 3}).t());
  EXPECT_EQ(x.sizes(), (Shape{3, 2}));
  EXPECT_EQ(x.strides(), (Shape{1, 3}));
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_EQ(x.device(), Device{});
}

TEST_F(Functionalize, WritesReachAliasedArguments) {
  Tensor base = count({4}), a = base.slice(0, 0, 3), b = base.slice(0, 1, 4);
  const TensorList r = functionalize([](const TensorList& in) {
    Tensor x = in[0], y = in[1];
    x.mul_(Scalar(2));
    y.add_(Scalar(1));
    return TensorList{x + y, x.select(0, 1)};
  })({a, b});
  EXPECT_EQ(base.to_vector<double>(), (std::vector<double>{0, 3, 5, 4}));
  EXPECT_EQ(r[0].to_vector<double>(), (std::vector<double>{3, 8, 9}));
  r[1].detach().fill_(9);
  EXPECT_EQ(base.to_vector<double>(), (std::vector<double>{0, 9, 5, 4})) << "a view of an argument is made again as one";
}

// Found by ingot_program_fuzz.
TEST_F(Functionalize, AWriteThroughPartOfAnExpandedTensor) {
  expect_same(
      [](const TensorList& in) {
        Tensor corner = in[0].expand({2, 2, 2}).diagonal();
        corner.mul_(Scalar(3));
        return TensorList{in[0] + 1};
      },
      {count({2, 2})});
}
// as_strided counts the elements of the view that it is taken of, whose type may be another than
// that of the storage's base.
TEST_F(Functionalize, ATensorBroughtAlongTakesNoWrites) {
  Tensor outside = count({3});
  expect_error(
      [&] {
        functionalize([&](const TensorList& in) {
          Tensor o = outside;
          o.add_(in[0]);
          return TensorList{};
        })({count({3})});
      },
      "mutating a non-functional tensor with a functional tensor is not allowed");
}

TEST_F(Functionalize, RefusesWhatEagerRefuses) {
  const auto run = [](const TensorFunction& f) { return [f] { functionalize(f)({arange(3), count({2, 3})}); }; };
  expect_error(run([](const TensorList& in) {
                 Tensor t = in[0];
                 t.add_(Scalar(1.5));
                 return TensorList{};
               }),
               "can't be cast to the desired output type");
  expect_error(run([](const TensorList& in) {
                 Tensor t = in[1].select(0, 0);
                 t.add_(in[1]);
                 return TensorList{};
               }),
               "doesn't match the broadcast shape");
  expect_error(run([](const TensorList& in) {
                 Tensor t = in[0].expand({2, 3});
                 t.zero_();
                 return TensorList{};
               }),
               "more than one element of the written-to tensor");
}

TEST_F(Functionalize, BatchNormWritesItsStatistics) {
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{aten<"batch_norm">(in[0], Value(), Value(), in[1], in[2], true, 0.1, 1e-5, false)};
  };
  expect_same(f, {count({4, 2}), zeros({2}), ones({2})});
  const std::string text = listing(f, {count({4, 2}), zeros({2}), ones({2})});
  EXPECT_NE(text.find("_native_batch_norm_legit_functional"), std::string::npos) << text;
}

TEST_F(Functionalize, GradientsFlowThrough) {
  Tensor x = count({2, 3}).requires_grad_();
  const TensorFunction f = [](const TensorList& in) {
    Tensor y = in[0] * 2;
    y.select(0, 1).mul_(in[0].select(0, 0));
    return TensorList{y};
  };
  const Tensor want = grad({f({x})[0].sum()}, {x})[0], got = grad({functionalize(f)({x})[0].sum()}, {x})[0];
  EXPECT_EQ(got.to_vector<double>(), want.to_vector<double>());
}

TEST_F(Functionalize, AResultWithAHistoryOfItsOwnOnAnArgumentIsRefused) {
  Tensor x = count({3}), y = ones({3}).requires_grad_();
  expect_error(
      [&] {
        functionalize([](const TensorList& in) {
          Tensor d = in[0].detach();
          d.add_(in[1]);
          return TensorList{d};
        })({x, y});
      },
      "has a history of its own");
  expect_error(  // found by ingot_program_fuzz
      [&] {
        functionalize([](const TensorList& in) {
          Tensor d = in[0].detach();
          d.mul_(in[0]);
          return TensorList{d.as_strided({2}, {2}, 0)};
        })({count({3}).requires_grad_() * 1});
      },
      "has a history of its own");
}

}  // namespace
}  // namespace ingot::testing
