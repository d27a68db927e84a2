#include "compiled_programs/open_sizes.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tensor/impl.hpp"

namespace ingot::testing {
namespace {

// By setting, the sizes of every input; a setting at which a view is refused has none.
std::vector<std::vector<Shape>> sizes_of_inputs(const Program& p) {
  std::vector<std::vector<Shape>> l;
  for (std::size_t s = 0; s < p.settings.size(); s++) {
    std::vector<Shape> sizes;
    try {
      for (const Tensor& t : make_inputs(p, {.gradients = false, .setting = s}).inputs) sizes.push_back(t.sizes());
    } catch (const UserError&) {
      sizes.clear();
    }
    l.push_back(std::move(sizes));
  }
  return l;
}

}  // namespace

std::vector<OpenSize> open_sizes(const Program& p) {
  std::vector<OpenSize> l;
  if (p.settings[0].empty()) return l;
  const std::vector<std::vector<Shape>> sizes = sizes_of_inputs(p);
  for (std::size_t i = 0; i < p.inputs.size(); i++) {
    const std::vector<int64_t>& base = p.bases[static_cast<std::size_t>(p.inputs[i].base)].sizes;
    const auto add = [&](std::size_t d, const std::string& name) {
      l.push_back({static_cast<int>(i), static_cast<int>(d), name, p.least});
    };
    if (p.inputs[i].views.empty()) {
      for (std::size_t d = 0; d < base.size(); d++)
        if (base[d] < 0) add(d, text("n", -1 - base[d]));
      continue;
    }
    for (std::size_t d = 0; d < sizes[0][i].size(); d++) {
      const auto in_every_setting = [&](const auto& size) {
        for (std::size_t s = 0; s < sizes.size(); s++)
          if (!sizes[s].empty() && (sizes[s][i].size() <= d || sizes[s][i][d].value() != size(s))) return false;
        return true;
      };
      const int64_t first = sizes[0][i][d].value();
      if (first < p.least || in_every_setting([&](std::size_t) { return first; })) continue;
      const auto is_same = std::ranges::find_if(base, [&](int64_t n) {
        return n < 0 && in_every_setting([&](std::size_t s) { return p.settings[s][static_cast<std::size_t>(-1 - n)]; });
      });
      add(d, is_same == base.end() ? text("v", i, "_", d) : text("n", -1 - *is_same));
    }
  }
  return l;
}

}  // namespace ingot::testing
