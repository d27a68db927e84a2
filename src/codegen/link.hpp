// Object code to a shared library, or to one object, by lld in this process.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>

#include "codegen/emit.hpp"
#include "codegen/target.hpp"

namespace ingot {

// Links the objects and what they use of `archives` (names of static archives, for support_file;
// model.hpp says whose) and of the target's kernels, of its eager library where they refer to
// ingot_eager_call (one of them is then eager_ops.hpp's table), and the whole model runtime where
// one of them is a model's table (ingot_the_program), into the shared library `output`, which is
// complete or not there: it is written beside and renamed. The target is a processor: the host of a
// level. The library needs libc and libm at most; symbols of default visibility are its exports.
// One link runs at a time in a process. `finish` is given the path of the library before it has its
// name. User error, with the linker's text, if a symbol is missing or the file cannot be written,
// and if this installation lacks an archive.
void link_library(std::span<const Object> objects, const Target& target, const std::string& output,
                  const std::function<void(const std::string& path)>& finish = {}, std::span<const std::string> archives = {});

// Links the same into one relocatable object, or an archive of it where `output` ends in .a. It has
// the functions that `shown` names, each under the name that stands there; all other symbols are
// its own, so that several such objects go into one program. That program needs libc and libm.
using NewNames = std::map<std::string, std::string>;
void link_object(std::span<const Object> objects, const Target& target, const NewNames& shown, const std::string& output,
                 std::span<const std::string> archives = {});

// The static archive with the target's src/kernels. User error if this installation has none.
std::string kernel_archive(const Target& target);

}  // namespace ingot
