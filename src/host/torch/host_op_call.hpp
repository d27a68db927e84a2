// Calls of an op with plain C arguments, as the functions aoti_torch_cpu_NAME and
// aoti_torch_aten_NAME take them (I081, I082).
//
// What the arguments mean follows from the op's schema, in its order; an out= op has its results
// before them.
//   Tensor                      a handle; Tensor?: the address of one, or null
//   Scalar, float               a double; optional: its address, or null; int and SymInt: an int64_t
//                               in the same way
//   bool, dtype, layout, memory format   an int32_t; optional: its address, or null
//   Device                      the type as an int32_t (optional: its address), then the index as an
//                               int32_t
//   str                         a const char*; optional: its address, or null
//   Generator?                  the address of a generator's handle; null: the default one
//   a list                      the address of the first element and the number of them as an
//                               int64_t; optional: the address of that address, or null. Tensors:
//                               an array of handles, Tensor?[]: of addresses of handles
// Each result is written through a pointer of its own: a new handle, or an int64_t. What an op
// writes in place is no result.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "ingot/aoti_host.h"
#include "op/op.hpp"

namespace ingot {

// One C argument as it comes: P, I, B or D (host_ops.list).
struct HostArgument {
  HostArgument(void* p) : type('P'), pointer(p) {}
  HostArgument(int64_t i) : type('I'), integer(i) {}
  HostArgument(int32_t i) : type('B'), integer(i) {}
  HostArgument(double d) : type('D'), real(d) {}

  char type;
  union {
    void* pointer;
    int64_t integer;
    double real;
  };
};

// The C arguments of an op as letters: "PIPP".
std::string host_signature(const Op& op);

// Calls the op of that name without gradients. A failure is logged and returned (I006), and has set
// no result.
AOTITorchError call_host_op(const char* name, std::initializer_list<HostArgument> arguments) noexcept;

// A row of host_ops.list, which is a function of this process: its name, its op, its letters ("P,
// I").
struct HostOpRow {
  std::string_view function, op, arguments;
};
std::span<const HostOpRow> host_op_rows();

}  // namespace ingot
