#include "model/folded.hpp"

#include <unistd.h>

#include "base/process_lock.hpp"

namespace ingot::model {
namespace {

// Every store to these leaves a list, so that a fork at any moment has one.
ProcessLock shared_lock;
Folded* first_shared = nullptr;  // each while it has users

}  // namespace

Folded* Folded::make(const Device& device) {
  auto* folded = create<Folded>(device);
  if (folded && folded->elements_.make(ingot_the_program.folded_count)) return folded;
  destroy(folded);
  return nullptr;
}

Folded::~Folded() {
  for (size_t k = 0; k < elements_.size(); k++) device_.release(elements_[k], nullptr);
}

// With a use more: those of that origin, or else `otherwise`, which then are.
Folded* Folded::find(const FoldedOrigin& origin, Folded* otherwise) {
  const ProcessLock::Hold hold(shared_lock);
  for (Folded* f = first_shared; f; f = f->next_) {
    // This process was forked from one that was at work on them, and nobody here will end it.
    const bool is_lost = !f->is_made() && f->maker_ != otherwise->maker_;
    if (is_lost || !(f->origin_ == origin)) continue;
    f->users_.fetch_add(1, std::memory_order_relaxed);
    return f;
  }
  otherwise->next_ = first_shared;
  first_shared = otherwise;
  return otherwise;
}

Folded* Folded::share(const FoldedOrigin& origin) {
  for (;;) {
    Folded* own = make({});
    if (!own) return nullptr;
    own->origin_ = origin;
    own->maker_ = getpid();
    own->making_.lock();
    Folded* found = find(origin, own);
    if (found == own) return own;
    own->making_.unlock();
    destroy(own);
    if (!found->is_made()) const Lock until_it_ends(found->making_);
    if (found->is_made()) return found;
    found->release();
  }
}

void* Folded::allocate(uint32_t k, uint64_t bytes, void* stream) {
  elements_[k] = device_.allocate(bytes, stream);
  if (elements_[k]) bytes_ += bytes;
  return elements_[k];
}

// With the lock.
void Folded::unlist() {
  for (Folded** f = &first_shared; *f; f = &(*f)->next_) {
    if (*f != this) continue;
    *f = next_;
    return;
  }
}

void Folded::end_making(bool is_well) {
  state_.store(is_well ? State::made : State::failed, std::memory_order_release);
  if (maker_ == 0) return;
  if (!is_well) {
    const ProcessLock::Hold hold(shared_lock);
    unlist();
  }
  making_.unlock();
}

void Folded::release() {
  {
    const ProcessLock::Hold hold(shared_lock);
    if (users_.fetch_sub(1, std::memory_order_relaxed) > 1) return;
    unlist();
  }
  destroy(this);
}

}  // namespace ingot::model
