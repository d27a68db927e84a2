#include "loop/memory.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/index.hpp"

namespace ingot::loop {
namespace {

Expr rounded_up(const Expr& bytes) { return floor_div(bytes + (kAlignment - 1), kAlignment) * kAlignment; }

// A part of the arena that one buffer after the other lives in.
struct Slot {
  Expr bytes;
  int free_after;  // the last step that uses what lives in it now
  std::vector<int> buffers;
};

struct Lifetime {
  int first = -1, last = -1;
};

std::vector<Lifetime> lifetimes(const Program& p) {
  std::vector<Lifetime> all(p.buffers.size());
  for (std::size_t step = 0; step < p.steps.size(); step++)
    for (int b : buffers_of(p.steps[step])) {
      Lifetime& l = all[at(b)];
      if (l.first < 0) l.first = static_cast<int>(step);
      l.last = static_cast<int>(step);
    }
  return all;
}

bool depends_on_data(const Program& p, const Buffer& b) {
  for (std::size_t k = p.symbols.size() - p.decided; k < p.symbols.size(); k++)
    for (const Expr& n : b.sizes)
      if (depends(n, p.symbols[k])) return true;
  return false;
}

// The free slot that fits best: of the same size, else the first that is surely large enough, else
// the first of all.
Slot* choose(std::vector<Slot>& slots, const Expr& bytes, int first) {
  Slot *larger = nullptr, *any = nullptr;
  for (Slot& s : slots) {
    if (s.free_after >= first) continue;
    if (same(s.bytes, bytes)) return &s;
    if (!larger && prove_ge(s.bytes, bytes)) larger = &s;
    if (!any) any = &s;
  }
  return larger ? larger : any;
}

}  // namespace

void plan_memory(Program& p) {
  const std::vector<Lifetime> lives = lifetimes(p);
  std::vector<int> order;
  for (std::size_t b = 0; b < p.buffers.size(); b++) {
    Buffer& buffer = p.buffers[b];
    if (buffer.place == Place::arena && depends_on_data(p, buffer)) buffer.place = Place::lent;
    if (buffer.place == Place::arena && lives[b].first >= 0) order.push_back(static_cast<int>(b));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lives[at(a)].first < lives[at(b)].first; });

  std::vector<Slot> slots;
  for (int b : order) {
    const Lifetime& life = lives[at(b)];
    const Expr bytes = rounded_up(bytes_of(p.buffers[at(b)]));
    Slot* slot = choose(slots, bytes, life.first);
    if (!slot) slot = &slots.emplace_back(Slot{bytes, 0, {}});
    if (!prove_ge(slot->bytes, bytes)) slot->bytes = prove_ge(bytes, slot->bytes) ? bytes : max(slot->bytes, bytes);
    slot->free_after = life.last;
    slot->buffers.push_back(b);
  }
  p.arena_bytes = 0;
  for (const Slot& s : slots) {
    for (int b : s.buffers) p.buffers[at(b)].offset = p.arena_bytes;
    p.arena_bytes = p.arena_bytes + s.bytes;
  }
}

}  // namespace ingot::loop
