// What the C++ runtime expects of the program around it, in the form that suits a library linked
// without start files.
#include <cstdlib>
#include <exception>

extern "C" {
void __cxa_finalize(void*);
// How the runtime tells whose destructors are to run.
extern void* __dso_handle;
void* __dso_handle = &__dso_handle;
}

namespace __gnu_cxx {
void __freeres() noexcept;  // the memory it keeps for exceptions that find no other
}

namespace {
// Run them when the library is unloaded, and give back what the runtime itself has.
[[gnu::destructor]] void finalize() {
  __cxa_finalize(&__dso_handle);
  __gnu_cxx::__freeres();
}
}  // namespace

// An exception that nobody catches ends the process without a word. The runtime's own handler
// prints the type, for which it brings a demangler of fifty kilobytes.
namespace __cxxabiv1 {
extern std::terminate_handler __terminate_handler;
std::terminate_handler __terminate_handler = std::abort;
}  // namespace __cxxabiv1
