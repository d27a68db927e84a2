// The text form of loop programs, for people, tests and bug reports, and back:
// parse_program(to_text(p)) is p.
//
//   program main(s0 >= 2, s1 >= 1 <= 8; u0 >= 0, zuf0: real) arena 64*((s0 + 15) // 16)
//     guard s0 == 4 is false for "aten::view at model.py:12"
//     input arg0_1: f32[s0, 4]
//     input arg1_1: i64[] is s1
//     arena sum_1: f32[s0] at 64*((3*s0 + 15) // 16)
//     output t: f32[3, s0] strides [1, 3]
//     mm[i0 < s0, i1 < 3] = %0 where %0 = sum(i2 < 4) arg0_1[i0, i2]*arg1_1[i2, i1]
//     kernel softmax parallel i0 < s0
//       for i1 < 4: %0 max= x[4*i0 + i1]
//       for i1 < 4: row.0[i1] = exp(x[4*i0 + i1] - %0); %1 += exp(x[4*i0 + i1] - %0)
//       for i1 < 4: softmax[4*i0 + i1] = row.0[i1]/%1
//     kernel mm parallel i0 < 2 across scratch 1024
//       product sums[36*i3 + 12*i2 + i4] = a[48*i0 + 4*i1 + i3] * b[12*i1 + 48*i2 + i4] over i1 < 4 as f32 * f32 in f32; for i2 < 3; rows i3 < 4, columns i4 < 12 by fma.4x12
//     call ingot_k_sort_rows(int 6, sum_1, {1, s0, 1, 1}, (s0), &sorted, null)
//     eager aten::topk "aten.topk.default(%0, 3, -1, True, True)" (sum_1; s0) -> (topk.0, topk.1) u0 = size 0 of 1
//     u0 = counted[0]
//     check u0 <= 8 else "too many"
//     if flag[]
//       …
//     else
//       …
//     repeat
//       …
//     while flag[]
//       …
//     times t < s0
//       …
//
// Symbols after the semicolon are decided by steps. Blocks are indented by two spaces. A variable
// means what the line, or the kernel, says that binds it; a %number has the type of what it
// accumulates. Inputs, constants and outputs are in the order of their buffers, or in that of a
// line that says so: `outputs t, arg0_1`. Expressions are those of expr/text.hpp; in a string a
// quote and a backslash have a backslash before them, and a new line is \n.
#pragma once
#include <string>
#include <string_view>

#include "loop/program.hpp"

namespace ingot::loop {

std::string to_text(const Program& p);
// User error that names the line, what was expected and what was found.
Program parse_program(std::string_view text);

// Whether the programs are the same in everything that a text says, which is everything.
bool same(const Program& a, const Program& b);

}  // namespace ingot::loop
