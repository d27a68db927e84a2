// What the compiler asks of a kind of machine. docs/adding-a-backend.md says how one is added.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "codegen/model.hpp"
#include "loop/program.hpp"

namespace ingot {

struct Backend {
  // A level without its programs: what it is called, what a machine must have to run it, and whose
  // memory it works on.
  Model::Level (*level_for)(const Target& target);
  // Computations to kernels of this machine (loop/schedule.hpp says what that requires and
  // ensures).
  void (*schedule)(loop::Program& program, const Target& target);
  // Why there is no code for a product of a program that was scheduled elsewhere, as the rest of a
  // sentence about the machine; nothing where there is, as for all that `schedule` makes.
  std::optional<std::string> (*why_no_code)(const loop::Product& product, const Target& target);
  // Object code with the functions of one level, whose programs are scheduled and have their memory
  // (codegen/level.hpp). With `text`, unless it is null, which is given the code as people read it,
  // too.
  std::vector<Object> (*generate_code)(const Model& model, std::size_t level, CodeText* text);
};

// The one that makes code for the target.
const Backend& backend_of(const Target& target);

}  // namespace ingot
