// Inputs whose storage is exchanged or resized: A023 to A028 and A043 to A046 of the dispatch
// specification.
#include "ingot/transforms.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotStorage = AotHarness;

void set(const Tensor& t, const Tensor& source) { aten_value<"set_.source_Tensor">(t, source); }
void resize_bytes(const Tensor& t, int64_t bytes) { aten_value<"inductor::resize_storage_bytes_">(t, bytes); }
// With every argument that PyTorch's front end gives.
Tensor count(int64_t n, DType dtype) { return aten<"arange">(n, dtype, Value(), Device(), false); }
Tensor ones_as_given(const Shape& sizes) { return aten<"ones">(sizes, Value(), Value(), Device(), false); }

const V kMutKeep{.mut = true, .keep = true};

TEST_F(AotStorage, A023_AnInputGetsAnotherStorage) {
  const auto f = [](const TensorList& in) {
    const Tensor b = count(9, in[0].dtype()).reshape({3, 3});
    {
      const NoGrad no_grad;
      set(in[0], b);
    }
    return TensorList{in[0] * b};
  };
  verify(f, {tracked(ones({3, 3}))}, kMutKeep);
  verify(f, {ones({3, 3})}, kMutKeep);
}

TEST_F(AotStorage, A024_SetTakesTheViewsAlong) {
  const auto f = [](const TensorList& in) {
    const Tensor a = in[0] * 2, b = in[1] * 2, s = b[1].view({3, 3});
    set(a, s);
    a.view({-1}).mul_(2);
    return TensorList{a * s};
  };
  verify(f, {ones({3, 3}), zeros({3, 9})}, {.keep = true});
}

TEST_F(AotStorage, A025_SetAndAWrite) {
  const auto f = [](const TensorList& in) {
    {
      const NoGrad no_grad;
      set(in[0], in[1]);
      Tensor(in[1]).mul_(2);
    }
    return TensorList{in[0] + in[1]};
  };
  EXPECT_EQ(verify(f, {tracked(ones({3, 3})), tracked(ones({3, 3}))}, kMutKeep), R"(def forward(self, primals_1, primals_2):
    mul = torch.ops.aten.mul.Tensor(primals_2, 2)
    add = torch.ops.aten.add.Tensor(mul, mul)
    set_ = torch.ops.aten.set_.source_Tensor(primals_1, mul);  primals_1 = None
    copy_ = torch.ops.aten.copy_.default(primals_2, mul);  primals_2 = mul = None
    return [add]
)");
  verify(f, {ones({3, 3}), zeros({3, 3})}, kMutKeep);
}

TEST_F(AotStorage, A026_TheOldStorageTakesNoWrites) {
  const auto f = [](const TensorList& in) {
    const Tensor v = in[0].view({-1}), t = tracked(ones({3, 3}));
    {
      const NoGrad no_grad;
      set(in[0], t);
      Tensor(v).mul_(2);
    }
    return TensorList{in[0] + t};
  };
  verify(f, {tracked(ones({3, 3}))}, {.mut = true, .keep = true, .error = "cannot mutate tensors with frozen storage"});
}

TEST_F(AotStorage, A027_R032_SetAndAWriteThatAutogradSees) {
  const auto f = [](const TensorList& in) {
    {
      const NoGrad no_grad;
      set(in[0], in[1]);
    }
    Tensor(in[0]).mul_(2);
    return TensorList{in[0] + in[1]};
  };
  verify(f, {tracked(ones({3, 3})), tracked(ones({3, 3}))},
         {.mut = true,
          .keep = true,
          .error = R"(Encountered a set_ on a graph input, but the input has other mutations that we cannot
keep in the graph. This is not supported today. Current state:
  keep_input_mutations=True
  mutates_data=)"});
}

TEST_F(AotStorage, A028_TwoSetsThatCancel) {
  const auto f = [](const TensorList& in) {
    const Tensor b = count(9, in[0].dtype()), old = aten<"alias">(in[0]);
    {
      const NoGrad no_grad;
      set(in[0], b);
      set(in[0], old);
    }
    return TensorList{in[0] + b.reshape({3, 3})};
  };
  EXPECT_EQ(verify(f, {tracked(ones({3, 3}))}, kMutKeep), R"(def forward(self, primals_1):
    arange = torch.ops.aten.arange.default(9, dtype = torch.float32, device = device(type='cpu'), pin_memory = False)
    alias = torch.ops.aten.alias.default(primals_1);  primals_1 = None
    view = torch.ops.aten.view.default(arange, [3, 3]);  arange = None
    add = torch.ops.aten.add.Tensor(alias, view);  alias = view = None
    return [add]
)");
  verify(f, {ones({3, 3})}, kMutKeep);
}

// The graph of the forward; bytes of the inputs are as the function left them.
std::string compiled_graph(const TensorFunction& f, const TensorList& inputs, TensorList* outputs = nullptr) {
  std::string graph;
  const AotFunction compiled = aot_function(f, {.forward =
                                                    [&](std::shared_ptr<const Graph> g, const Values& examples) {
                                                      graph = print(*g);
                                                      return nop(std::move(g), examples);
                                                    },
                                                .backward = nop,
                                                .keep_inference_input_mutations = true});
  const TensorList out = compiled(inputs);
  if (outputs) *outputs = out;
  return graph;
}

TEST_F(AotStorage, A043_R028_AStorageGrows) {
  const auto f = [](const TensorList& in) {
    resize_bytes(in[0], 32);
    {
      const NoGrad no_grad;
      Tensor(in[0]).copy_(ones_as_given({8}));
    }
    return TensorList{in[0] + 1};
  };
  const Tensor a = tracked(zeros({8}));
  resize_bytes(a, 0);
  TensorList out;
  EXPECT_EQ(compiled_graph(f, {a}, &out), R"(def forward(self, primals_1):
    resize_storage_bytes_ = torch.ops.inductor.resize_storage_bytes_.default(primals_1, 32)
    ones = torch.ops.aten.ones.default([8], device = device(type='cpu'), pin_memory = False)
    copy = torch.ops.aten.copy.default(primals_1, ones);  ones = None
    add = torch.ops.aten.add.Tensor(copy, 1)
    copy_ = torch.ops.aten.copy_.default(primals_1, copy);  primals_1 = copy = None
    return [add]
)");
  EXPECT_EQ(detached(out[0]).to_vector<double>(), std::vector<double>(8, 2));
  EXPECT_EQ(detached(a).to_vector<double>(), std::vector<double>(8, 1));
}

TEST_F(AotStorage, A044_AStorageShrinks) {
  const auto f = [](const TensorList& in) {
    const Tensor out = in[0].sin();
    resize_bytes(in[0], 0);
    return TensorList{out};
  };
  const Tensor a = tracked(zeros({8}));
  EXPECT_EQ(compiled_graph(f, {a}), R"(def forward(self, primals_1):
    sin = torch.ops.aten.sin.default(primals_1)
    resize_storage_bytes_ = torch.ops.inductor.resize_storage_bytes_.default(primals_1, 0)
    return [sin, primals_1]
)");
  EXPECT_EQ(a->storage->nbytes().number(), 0);
}

TEST_F(AotStorage, A045_AStorageIsExchangedAndEmptied) {
  const auto fill = [](const Tensor& full, const Tensor& placeholder) {
    return custom_function(
        "P", {full, placeholder},
        [](FunctionContext&, const TensorList& in) {
          set(in[1], in[0]);
          return TensorList{in[1]};
        },
        [](FunctionContext&, const TensorList& g) { return TensorList{Tensor(), g[0]}; })[0];
  };
  const auto f = [&](const TensorList& in) {
    Tensor full;
    {
      const NoGrad no_grad;
      full = aten<"cat">(TensorList{in[1], in[1]});
    }
    fill(full, in[0]);
    const Tensor out = in[0].sin();
    resize_bytes(in[0], 0);
    return TensorList{out};
  };
  const Tensor shard = tracked(zeros({8})), placeholder = tracked(zeros({16}));
  resize_bytes(placeholder, 0);
  EXPECT_EQ(compiled_graph(f, {placeholder, shard}), R"(def forward(self, primals_1, primals_2):
    cat = torch.ops.aten.cat.default([primals_2, primals_2]);  primals_2 = None
    sin = torch.ops.aten.sin.default(cat)
    resize_storage_bytes_ = torch.ops.inductor.resize_storage_bytes_.default(cat, 0)
    set_ = torch.ops.aten.set_.source_Tensor(primals_1, cat);  primals_1 = None
    return [sin, cat]
)");
}

// A storage that is filled for a while: what was written to it goes with its bytes.
TEST_F(AotStorage, R094_AStorageThatIsFilledAndEmptiedAgain) {
  const auto f = [](const TensorList& in) {
    const NoGrad no_grad;
    resize_bytes(in[0], 32);
    Tensor(in[0]).copy_(in[1]);
    const Tensor out = in[0].sin();
    resize_bytes(in[0], 0);
    return TensorList{out};
  };
  const Tensor a = zeros({8}), b = ones({8});
  resize_bytes(a, 0);
  TensorList out;
  EXPECT_EQ(compiled_graph(f, {a, b}, &out), R"(def forward(self, arg0_1, arg1_1):
    resize_storage_bytes_ = torch.ops.inductor.resize_storage_bytes_.default(arg0_1, 32)
    copy = torch.ops.aten.copy.default(arg0_1, arg1_1);  arg1_1 = None
    sin = torch.ops.aten.sin.default(copy);  copy = None
    resize_storage_bytes__1 = torch.ops.inductor.resize_storage_bytes_.default(arg0_1, 0);  arg0_1 = None
    return (sin,)
)");
  EXPECT_EQ(a->storage->nbytes().number(), 0);
  expect_same(b.sin(), out[0], "the result");
  const Tensor c = zeros({8});
  resize_bytes(c, 0);
  expect_same(b.sin(), functionalize(TensorFunction(f))({c, b})[0], "functionalized");
  EXPECT_EQ(c->storage->nbytes().number(), 0);
}

// The storage that the input gets has no bytes any more.
TEST_F(AotStorage, R094_AStorageThatIsExchangedWrittenAndEmptied) {
  const auto f = [](const TensorList& in) {
    const NoGrad no_grad;
    set(in[0], in[1] * 2);
    Tensor(in[0]).add_(1);
    const Tensor out = in[0].sin();
    resize_bytes(in[0], 0);
    return TensorList{out};
  };
  const Tensor a = zeros({8}), b = ones({8});
  TensorList out;
  EXPECT_EQ(compiled_graph(f, {a, b}, &out), R"(def forward(self, arg0_1, arg1_1):
    mul = torch.ops.aten.mul.Tensor(arg1_1, 2);  arg1_1 = None
    add = torch.ops.aten.add.Tensor(mul, 1);  mul = None
    sin = torch.ops.aten.sin.default(add)
    resize_storage_bytes_ = torch.ops.inductor.resize_storage_bytes_.default(add, 0)
    set_ = torch.ops.aten.set_.source_Tensor(arg0_1, add);  arg0_1 = add = None
    return (sin,)
)");
  EXPECT_EQ(a->storage->nbytes().number(), 0);
  expect_same((b * 2 + 1).sin(), out[0], "the result");
}

// Each step is from or to 0 bytes, and the whole of it is not.
TEST_F(AotStorage, R094_AStorageThatGrowsThroughNothing) {
  const auto through = [](int64_t bytes) {
    return [bytes](const TensorList& in) {
      const NoGrad no_grad;
      resize_bytes(in[1], 0);
      if (bytes > 0) resize_bytes(in[1], bytes);
      return TensorList{in[0] + 1};
    };
  };
  const auto message = [&](int64_t bytes) { return error_of([&] { compiled_graph(through(bytes), {ones({2}), zeros({8})}); }); };
  EXPECT_EQ(
      message(64),
      "Encountered a storage resize during tracing on input 1. Old nbytes=32, new nbytes=64\n"
      "We only support storage resizing on graph inputs as long as the input either starts or ends with a storage size of 0\n"
      "(the case for FSDP)");
  EXPECT_EQ(message(0), "no error");
  EXPECT_EQ(message(32), "no error") << "as large as before";
}

TEST_F(AotStorage, A046_AnEmptiedStorageIsExchanged) {
  const auto f = [](const TensorList& in) {
    const NoGrad no_grad;
    resize_bytes(in[0], 0);
    set(in[0], ones({2}));
    return TensorList{};
  };
  EXPECT_TRUE(aot_function(f, {.keep_inference_input_mutations = true})(TensorList{tracked(zeros({8}))}).empty());
}

}  // namespace
}  // namespace ingot::aot
