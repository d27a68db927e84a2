// Convolutions that are large enough to be products, compiled against eager: every way to slide a
// window, and open sizes.
#include <sys/mman.h>

#include "e2e/compiled_model.hpp"

namespace ingot {
namespace {

struct Case {
  const char* name;
  Shape input, weight;
  Shape stride{1}, padding{0}, dilation{1};
  int64_t groups = 1;
  DType dtype = float32;
  std::vector<OpenSize> open = {};
};

const Case kCases[] = {
    {"pointwise", {2, 16, 13, 11}, {24, 16, 1, 1}},
    {"valid", {1, 5, 17, 14}, {13, 5, 3, 2}},
    {"padded", {2, 8, 14, 14}, {16, 8, 3, 3}, {1}, {1}},
    {"wide image in blocks", {1, 3, 40, 67}, {9, 3, 5, 5}, {1}, {2}},
    {"more rows than a block, one left over", {1, 4, 53, 64}, {12, 4, 3, 3}, {1}, {1}},
    {"stride", {2, 6, 23, 30}, {20, 6, 3, 3}, {2}, {1}},
    {"pointwise stride", {1, 12, 28, 28}, {24, 12, 1, 1}, {2}, {0}},
    {"stride longer than the kernel", {1, 9, 31, 29}, {8, 9, 2, 2}, {3}, {1}},
    {"dilation", {1, 6, 26, 25}, {10, 6, 3, 3}, {1}, {2}, {2}},
    {"dilation and stride, uneven", {1, 6, 33, 37}, {10, 6, 3, 2}, {2, 3}, {3, 1}, {3, 2}},
    {"groups", {2, 12, 15, 15}, {32, 3, 3, 3}, {1}, {1}, {1}, 4},
    {"depthwise", {2, 10, 19, 18}, {10, 1, 3, 3}, {1}, {1}, {1}, 10},
    {"depthwise stride, several outputs", {1, 6, 20, 17}, {18, 1, 5, 5}, {2}, {2}, {1}, 6},
    {"depthwise of a large kernel", {1, 4, 24, 24}, {4, 1, 9, 9}, {1}, {4}, {1}, 4},
    {"one dim", {3, 8, 200}, {16, 8, 7}, {2}, {3}},
    {"three dims", {1, 4, 7, 9, 18}, {8, 4, 3, 3, 3}, {1}, {1}},
    {"image of one pixel", {4, 32, 1, 1}, {16, 32, 1, 1}},
    {"bfloat16", {1, 8, 14, 14}, {16, 8, 3, 3}, {1}, {1}, {1}, 1, bfloat16},
    {"double", {1, 3, 12, 12}, {8, 3, 3, 3}, {1}, {1}, {1}, 1, float64},
    {"open batch", {4, 8, 14, 14}, {16, 8, 3, 3}, {1}, {1}, {1}, 1, float32, {{.input = 0, .dim = 0}}},
    {"open image",
     {1, 8, 20, 24},
     {16, 8, 3, 3},
     {2},
     {1},
     {1},
     1,
     float32,
     {{.input = 0, .dim = 2, .name = "height"}, {.input = 0, .dim = 3, .name = "width"}}},
    {"open image, bfloat16",
     {1, 8, 20, 24},
     {16, 8, 3, 3},
     {1},
     {1},
     {1},
     1,
     bfloat16,
     {{.input = 0, .dim = 2, .name = "height"}, {.input = 0, .dim = 3, .name = "width"}}},
    {"open image, depthwise",
     {1, 8, 20, 24},
     {8, 1, 3, 3},
     {1},
     {1},
     {1},
     8,
     float32,
     {{.input = 0, .dim = 2, .name = "height"}, {.input = 0, .dim = 3, .name = "width"}}},
};

class CompiledConvolution : public CompiledModel {
 protected:
  static TensorList arguments(const Case& c, int64_t more) {
    manual_seed(7);
    Shape sizes = c.input;
    for (const OpenSize& o : c.open) sizes[o.dim] = sizes[o.dim] + more;
    return {randn(sizes).to(c.dtype), (randn(c.weight) * 0.2).to(c.dtype), randn({c.weight[0]}).to(c.dtype)};
  }
  // With what follows it in a network: batch norm's scale, the sum with another image, an
  // activation.
  static TensorList network(const Case& c, const TensorList& in) {
    const Tensor y = aten<"convolution">(in[0], in[1], in[2], c.stride, c.padding, c.dilation, false, Shape{0}, c.groups);
    return {y, aten<"relu">(y * 0.5 + 1.0) + aten<"sigmoid">(y)};
  }
};

TEST_F(CompiledConvolution, IsWhatEagerComputes) {
  int k = 0;
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto f = [&](const TensorList& in) { return network(c, in); };
    const std::string library = aot_compile(f, arguments(c, 0), path(text("conv", k++, ".so")), {}, c.open);
    ModelContainerRunner runner(library);
    for (const int64_t more : c.open.empty() ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1, 9}) {
      const TensorList in = arguments(c, more);
      expect_close(network(c, in), runner.run(in), c.dtype == bfloat16 ? 8e-3 : 1e-6);
    }
  }
}

// Channels that lie side by side, in the image and so in the result, are the lanes of a depthwise
// convolution.
TEST_F(CompiledConvolution, DepthwiseWithItsChannelsLast) {
  const std::vector<OpenSize> image = {{.input = 0, .dim = 1, .name = "height"}, {.input = 0, .dim = 2, .name = "width"}};
  const Case cases[] = {
      {"seven by seven", {2, 14, 14, 40}, {40, 1, 7, 7}, {1}, {3}, {1}, 40},
      {"fewer channels than lanes", {1, 9, 12, 5}, {5, 1, 3, 3}, {1}, {1}, {1}, 5},
      {"stride", {1, 17, 20, 33}, {33, 1, 3, 3}, {2}, {1}, {1}, 33},
      {"dilation and stride, uneven", {1, 17, 20, 16}, {16, 1, 3, 2}, {2, 1}, {2, 1}, {2, 3}, 16},
      {"read where it lies", {1, 12, 10, 24}, {24, 1, 3, 3}, {1}, {0}, {1}, 24},
      {"several outputs", {1, 12, 10, 8}, {24, 1, 3, 3}, {1}, {1}, {1}, 8},
      {"open image", {1, 10, 12, 20}, {20, 1, 3, 3}, {1}, {1}, {1}, 20, float32, image},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const TensorFunction f = [&](const TensorList& in) {
      return network(c, {aten<"permute">(in[0], Shape{0, 3, 1, 2}), in[1], in[2]});
    };
    std::vector<TensorList> lists;
    for (const int64_t more : c.open.empty() ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1, 9})
      lists.push_back(arguments(c, more));
    const std::vector<TensorList> found = aot_run_multiple("cpu", f, lists, {}, c.open);
    for (std::size_t k = 0; k < lists.size(); k++) {
      const TensorList want = f(lists[k]);
      EXPECT_TRUE(want[0].strides()[1].same(1));  // else this tests nothing
      expect_close(want, found[k]);
      EXPECT_EQ(to_text(found[k][0].strides()), to_text(want[0].strides()));
    }
  }
}

// An image that is read where it lies ends where its memory does: a page that may not be read
// follows.
TEST_F(CompiledConvolution, ReadsNothingOutsideItsImage) {
  const Case c{"", {1, 3, 11, 11}, {8, 3, 1, 1}};
  const auto f = [&](const TensorList& in) { return network(c, in); };
  ModelContainerRunner runner(aot_compile(f, arguments(c, 0), path("edge.so")));
  const TensorList in = arguments(c, 0);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = 3 * 11 * 11 * sizeof(float), pages = (bytes + page - 1) / page;
  char* const memory =
      static_cast<char*>(mmap(nullptr, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + pages * page, page, PROT_NONE), 0);
  char* const image = memory + pages * page - bytes;
  std::copy_n(static_cast<const char*>(in[0].data_ptr()), bytes, image);
  const Tensor at_the_end(Ref<TensorImpl>(new TensorImpl(Storage::wrap(image, static_cast<int64_t>(bytes), {}), in[0]->geom)));
  expect_close(network(c, in), runner.run({at_the_end, in[1], in[2]}), 1e-6);
  munmap(memory, (pages + 1) * page);
}

}  // namespace
}  // namespace ingot
