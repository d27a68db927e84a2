// The families of ops that wide programs are made of.
#pragma once
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/random_program.hpp"
#include "support/wrappers.hpp"

namespace ingot::testing {

// What a maker chooses from.
struct Draft {
  Draft(std::mt19937_64& random, const WideOptions& options) : random(random), options(options) {}
  std::mt19937_64& random;
  WideOptions options;
  TensorList pool;
  int buffers = -1;  // the first of the inputs that stand for a running mean, a running variance, and a count
  std::vector<bool> exact;  // by tensor: however it is computed, its bits are the same

  int pick(int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); }
  int size() const { return static_cast<int>(pool.size()); }
  const Tensor& at(int k) const { return pool[static_cast<std::size_t>(k)]; }
  template <std::size_t N>
  const char* one_of(const char* const (&l)[N]) {
    return l[pick(static_cast<int>(N))];
  }
  // One that passes the test, late ones more often; -1 where none was found.
  template <class Test>
  int any(const Test& passes) {
    for (int tries = 0; tries < 24; tries++)
      if (const int k = pick(3) ? size() - 1 - pick(std::min(size(), 5)) : pick(size()); passes(at(k), k)) return k;
    return -1;
  }
  int any() {
    return any([](const Tensor&, int) { return true; });
  }
  int any_of_rank(int64_t low, int64_t high = 9);
  int any_floating(int64_t rank = 0);
  int any_index();                // int64
  int broadcasts_with(int self);  // self itself where nothing else was found
  int dim_of(int k) { return pick(std::max<int>(1, static_cast<int>(at(k).dim()))); }
};
bool shares_storage(const Tensor& a, const Tensor& b);

struct Family {
  const char* name;
  int weight;
  std::optional<Step> (*make)(Draft&);
  bool moves = false;  // floating results are numbers of the arguments, or the same on every way to compute them
  bool draws = false;
  bool needs_exact = false;  // a decision by values, or a gradient that jumps: operands whose bits are open would decide
};
const std::vector<Family>& families();
const std::vector<Family>& layer_families();  // those, and layers
const Family& random_family(Draft& d);

// ---- makers that stand in files of their own
using Made = std::optional<Step>;
inline Made none() { return std::nullopt; }
Made move_by_view(Draft& d);
Made move_by_copy(Draft& d);
Made index_read(Draft& d);
Made index_sum(Draft& d);
Made index_write(Draft& d);
Made sorted(Draft& d);
Made converted(Draft& d);
Made write_rounding(Draft& d);
Made write_moving(Draft& d);
Made write_kinked(Draft& d);
Made view_in_place(Draft& d);
// cond, map, scan or while_loop over numbers of these types; of rows no more than so many.
Made control_flow(Draft& d, bool (*is_type)(DType), int64_t most_rows);

}  // namespace ingot::testing
