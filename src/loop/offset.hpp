// Elements by their distance from the first.
#pragma once
#include "loop/program.hpp"

namespace ingot::loop {

Expr offset_of(const Buffer& b, std::span<const Expr> index);
// `e` with one index for each load: its offset.
Expr with_offsets(const Program& p, const Expr& e);
// `e` rebuilt from its leaves up: load(x, args) gives what the load x with these indices becomes.
Expr with_loads(const Expr& e, const std::function<Expr(const Expr& load, const std::vector<Expr>& index)>& load);

}  // namespace ingot::loop
