// Libraries that AOTInductor made need libtorch by its name, but call nothing of it except the C
// functions of ingot/aoti_host.h. A process that has these without libtorch gives the loader an
// empty library of that name.
#pragma once
#include <string>

namespace ingot {

// What stands between the library and this process: gives the loader the names of libtorch that it
// needs and that are not loaded, and loads libingot_host.so where the process has no host. User
// error that lists the functions of a host which the library calls and nobody here has.
void provide_host_for(const std::string& path);

}  // namespace ingot
