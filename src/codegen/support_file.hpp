// The files that are linked into models: the archives of each target (cmake/kernel_archives.cmake,
// cmake/eager_archives.cmake) and what stands in for its libc.
#pragma once
#include <string>

namespace ingot {

// The path of the file. It is looked for, in this order, beside the program and in lib/ingot of the
// prefix that it is installed in; the same of the library that this code is part of (libingot.so);
// in `ingot` of the folders where the loader looks for libraries, which a program that is linked
// statically says at its link (-rpath); where INGOT_LIB_DIR says. No path is fixed when Ingot is
// built, so an installation may be moved. A name that begins with / is the path itself. User error
// that lists where it was looked for.
std::string support_file(const std::string& name);

}  // namespace ingot
