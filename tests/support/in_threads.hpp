// Runs a function in several threads at once.
#pragma once
#include <latch>
#include <thread>
#include <vector>

namespace ingot::testing {

// f(i) in thread i of n; none begins before all are there.
template <class F>
void in_threads(int n, const F& f) {
  std::latch start(n);
  std::vector<std::thread> threads;
  for (int i = 0; i < n; i++)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      f(i);
    });
  for (auto& t : threads) t.join();
}

}  // namespace ingot::testing
