#include "op/source_note.hpp"

#include <utility>

namespace ingot {

namespace {
Ref<SourceNote>& slot() {
  thread_local Ref<SourceNote> note;
  return note;
}
}  // namespace

const Ref<SourceNote>& current_source() { return slot(); }

SourceScope::SourceScope(Ref<SourceNote> note) : set_(static_cast<bool>(note)) {
  if (set_) old_ = std::exchange(slot(), std::move(note));
}
SourceScope::~SourceScope() {
  if (set_) slot() = std::move(old_);
}

}  // namespace ingot
