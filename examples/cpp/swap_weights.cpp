// Replaces the weights of a model while it could go on running: the new ones go into the inactive
// set, then the sets are exchanged. With all weights zero, a network of linear layers and
// rectifiers returns zeros.
//   swap_weights MODEL.so ROWS COLUMNS      (the model's one input is float32[ROWS, COLUMNS])
#include <ingot/session.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace {

double sum_of_first_output(ingot::Session& session, const DLTensor& input) {
  const std::vector<ingot::OwnedTensor> outputs = session.run({&input});
  const DLTensor& t = *outputs.at(0);
  double sum = 0;
  for (int64_t i = 0; i < t.shape[0]; i++)
    for (int64_t j = 0; j < t.shape[1]; j++) sum += static_cast<const float*>(t.data)[i * t.strides[0] + j * t.strides[1]];
  return sum;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::runtime_error("usage: swap_weights MODEL.so ROWS COLUMNS");
  ingot::Session session(argv[1]);

  int64_t sizes[] = {std::atoll(argv[2]), std::atoll(argv[3])};
  std::vector<float> ones(static_cast<std::size_t>(sizes[0] * sizes[1]), 1.0f);
  DLTensor input{};
  input.data = ones.data();
  input.device = {kDLCPU, 0};
  input.ndim = 2;
  input.dtype = {kDLFloat, 32, 1};
  input.shape = sizes;
  const double before = sum_of_first_output(session, input);

  // Zeros in the place of every weight.
  std::vector<ingot::OwnedTensor> zeros;
  std::vector<ingot_named_tensor> update;
  for (std::size_t k = 0; k < ingot_session_constant_count(session.get()); k++) {
    ingot_constant_info info;
    ingot::check_status(ingot_session_constant(session.get(), k, &info));
    if (info.is_folded) continue;
    zeros.push_back(session.constant(info.name));
    std::fill_n(static_cast<char*>(zeros.back()->data), info.bytes, char{0});
    update.push_back({info.name, zeros.back().get()});
  }
  session.update(update, true);
  session.swap();
  const double zeroed = sum_of_first_output(session, input);
  session.swap();
  const double after = sum_of_first_output(session, input);
  std::printf("sum of the output: %g; with all weights zero: %g; again: %g\n", before, zeroed, after);
  return zeroed == 0 && after == before ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "swap_weights: %s\n", e.what());
  return 1;
}
