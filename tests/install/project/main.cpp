#include <cstdio>

#include "parts.hpp"

// outside MODEL.pt2: writes its files into the current folder.
int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: outside MODEL.pt2");
  train_gpt();
  define_op();
  assign_by_indices();
  use_files(argv[1]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "outside: %s\n", e.what());
  return 1;
}
