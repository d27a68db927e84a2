// Where the program that is running was written, for the nodes a tracer makes of it.
#pragma once
#include <string>

#include "ingot/ref.hpp"

namespace ingot {

// A stack trace in Python's form, and the path of the module it stands in. Either may be empty.
struct SourceNote : Counted {
  SourceNote(std::string trace, std::string path) : stack_trace(std::move(trace)), module_path(std::move(path)) {}
  std::string stack_trace, module_path;
};

// What the calls of this thread are written down for; null where nobody said.
const Ref<SourceNote>& current_source();

// Calls made in the scope belong to `note`. Null leaves the note of the enclosing scope.
class SourceScope {
 public:
  explicit SourceScope(Ref<SourceNote> note);
  ~SourceScope();
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

 private:
  Ref<SourceNote> old_;
  bool set_ = false;
};

}  // namespace ingot
