// Replaces the weights of a model while it could go on running: the new ones go into the inactive
// set, then the sets are exchanged. With all weights zero, a network of linear layers and
// rectifiers returns zeros.
//   swap_weights MODEL.so ROWS COLUMNS      (the model's one input is float32[ROWS, COLUMNS])
#include <ingot/ingot.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

void require(ingot_status status) {
  if (status != INGOT_OK) throw std::runtime_error(ingot_error());
}

struct CloseSession {
  void operator()(ingot_session* s) const { ingot_session_close(s); }
};
struct DeleteTensor {
  void operator()(DLManagedTensorVersioned* t) const { t->deleter(t); }
};
using Session = std::unique_ptr<ingot_session, CloseSession>;
using Tensor = std::unique_ptr<DLManagedTensorVersioned, DeleteTensor>;

double sum_of_first_output(ingot_session* s, const DLTensor& input) {
  const DLTensor* in[] = {&input};
  std::vector<DLManagedTensorVersioned*> out(ingot_session_output_count(s));
  require(ingot_session_run(s, in, 1, out.data(), out.size()));
  std::vector<Tensor> owned(out.begin(), out.end());
  const DLTensor& t = owned.at(0)->dl_tensor;
  double sum = 0;
  for (int64_t i = 0; i < t.shape[0]; i++)
    for (int64_t j = 0; j < t.shape[1]; j++) sum += static_cast<const float*>(t.data)[i * t.strides[0] + j * t.strides[1]];
  return sum;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::runtime_error("usage: swap_weights MODEL.so ROWS COLUMNS");
  ingot_session* opened = nullptr;
  require(ingot_session_open(argv[1], nullptr, &opened));
  const Session session(opened);

  int64_t sizes[] = {std::atoll(argv[2]), std::atoll(argv[3])};
  std::vector<float> ones(static_cast<std::size_t>(sizes[0] * sizes[1]), 1.0f);
  DLTensor input{};
  input.data = ones.data();
  input.device = {kDLCPU, 0};
  input.ndim = 2;
  input.dtype = {kDLFloat, 32, 1};
  input.shape = sizes;
  const double before = sum_of_first_output(session.get(), input);

  // Zeros in the place of every weight.
  std::vector<Tensor> zeros;
  std::vector<ingot_named_tensor> update;
  for (std::size_t k = 0; k < ingot_session_constant_count(session.get()); k++) {
    ingot_constant_info info;
    require(ingot_session_constant(session.get(), k, &info));
    if (info.is_folded) continue;
    DLManagedTensorVersioned* copy = nullptr;
    require(ingot_session_get_constant(session.get(), info.name, false, &copy));
    zeros.emplace_back(copy);
    std::fill_n(static_cast<char*>(copy->dl_tensor.data), info.bytes, char{0});
    update.push_back({info.name, &copy->dl_tensor});
  }
  require(ingot_session_update(session.get(), update.data(), update.size(), true, true));
  require(ingot_session_swap(session.get()));
  const double zeroed = sum_of_first_output(session.get(), input);
  require(ingot_session_swap(session.get()));
  const double after = sum_of_first_output(session.get(), input);
  std::printf("sum of the output: %g; with all weights zero: %g; again: %g\n", before, zeroed, after);
  return zeroed == 0 && after == before ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "swap_weights: %s\n", e.what());
  return 1;
}
