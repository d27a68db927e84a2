#include "tensor/stand_in.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.hpp"

namespace ingot {
namespace {

// The elements of a storage as they were until a write.
struct Elements {
  bool written = false;
};

struct StandIn {
  std::shared_ptr<Elements> elements;  // that it was made of
  const Storage* of = nullptr;         // that has them, unless they were written; it may be gone
  std::string_view made_by;
  bool indirect = false;  // by way of another stand-in
};

// Beside the storages and not in them: few have one, every tensor has a storage.
struct Table {
  std::mutex mutex;
  std::unordered_map<const Storage*, StandIn> stand_ins;
  std::unordered_map<const Storage*, std::shared_ptr<Elements>> elements;  // of storages that have stand-ins

  const StandIn* find(const Storage& s) const {
    const auto at = stand_ins.find(&s);
    return at == stand_ins.end() ? nullptr : &at->second;
  }
};
// Lives as long as the last tensor, which is longer than any static value.
Table& table() {
  static Table* t = new Table;
  return *t;
}
std::atomic<std::size_t> count{0};  // of entries of the table

void update_count(const Table& t) { count.store(t.stand_ins.size() + t.elements.size(), std::memory_order_relaxed); }

// What `f` says of the stand-in that the storage is, if it is one.
template <class F>
bool ask(const Storage& storage, const F& f) {
  if (!has_stand_ins()) return false;
  const std::lock_guard lock(table().mutex);
  const StandIn* s = table().find(storage);
  return s && f(*s);
}

}  // namespace

bool has_stand_ins() { return count.load(std::memory_order_relaxed) != 0; }

void make_stand_in(const Storage& storage, const Storage& of, std::string_view made_by) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  StandIn s;
  if (const StandIn* between = t.find(of)) {
    s = *between;
    s.indirect = true;
  } else {
    std::shared_ptr<Elements>& elements = t.elements[&of];
    if (!elements) elements = std::make_shared<Elements>();
    s = {elements, &of, {}, false};
  }
  s.made_by = made_by;
  t.stand_ins[&storage] = std::move(s);
  update_count(t);
}

void share_stand_in(const Storage& storage, const Storage& same) {
  StandIn s;
  if (!ask(same, [&](const StandIn& found) { return s = found, true; })) return;
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  t.stand_ins[&storage] = std::move(s);
  update_count(t);
}

bool is_stand_in(const Storage& storage) {
  return ask(storage, [](const StandIn&) { return true; });
}
std::string_view stand_in_made_by(const Storage& storage) {
  std::string_view made_by;
  ask(storage, [&](const StandIn& s) { return made_by = s.made_by, true; });
  return made_by;
}
bool is_stand_in(const Storage& storage, std::string_view made_by) {
  return ask(storage, [&](const StandIn& s) { return !s.indirect && s.made_by == made_by; });
}
bool stands_in_for(const Storage& storage, const Storage& of) {
  return ask(storage, [&](const StandIn& s) {
    const auto at = table().elements.find(&of);
    return at != table().elements.end() && at->second == s.elements;
  });
}

void outdate_stand_ins(const Storage& storage) {
  if (!has_stand_ins()) return;
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto at = t.elements.find(&storage);
  if (at == t.elements.end()) return;
  at->second->written = true;
  t.elements.erase(at);
  update_count(t);
}

bool is_out_of_date(const Storage& storage) {
  return ask(storage, [](const StandIn& s) { return s.elements->written; });
}
void require_current(const Storage& storage, std::string_view who) {
  std::string_view made_by;
  if (!ask(storage, [&](const StandIn& s) { return made_by = s.made_by, s.elements->written; })) return;
  throw_user_error(
      text(who, ": ", made_by,
           "() is computed at once here, and the tensor that it was taken of was written since: in PyTorch its result "
           "is a view, which has the new elements. Take it again after the write, or clone() it before"));
}
void require_writable(const Storage& storage, std::string_view who) {
  std::string_view made_by;
  if (!ask(storage, [&](const StandIn& s) { return made_by = s.made_by, true; })) return;
  throw_user_error(
      text(who, ": ", made_by,
           "() is computed at once here: a write to its result would not reach the tensor that it was taken of, as it "
           "does in PyTorch, where the result is a view. Write to that tensor, or to a clone() of the result"));
}

void forget_stand_in(const Storage& storage) {
  if (!has_stand_ins()) return;
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  if (const auto at = t.stand_ins.find(&storage); at != t.stand_ins.end()) {
    const StandIn gone = std::move(at->second);
    t.stand_ins.erase(at);
    // The last one takes with it what is known of the storage that it was made of.
    const auto of = t.elements.find(gone.of);
    if (of != t.elements.end() && of->second == gone.elements && gone.elements.use_count() == 2) t.elements.erase(of);
  }
  t.elements.erase(&storage);
  update_count(t);
}

}  // namespace ingot
