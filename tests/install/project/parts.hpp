// The parts of the program; each throws where something is not as it should be.
#pragma once
#include <stdexcept>
#include <string>

void train_gpt();
void define_op();
void assign_by_indices();
void use_files(const std::string& exported);

inline void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("expected: " + what);
}
