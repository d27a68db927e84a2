// How a long sum of products of floats is added up, eagerly and in compiled code: both should be
// off by as little. (What reduces a tensor is in double altogether: carried_fold,
// ops/reduce/carried_fold.hpp.)
#pragma once
#include <cstdint>

namespace ingot {

// A sum of floats in float loses digits with its length. So a long one is a sum of sums of at most
// this many terms, each begun at zero, in float. Of 128 positive terms it is off by 1.7e-7 of
// itself (root of mean square), and 1e-6 is six times that; of 256, where 1e-6 is four times the
// usual error, it is off by more at one element in 30 thousand.
constexpr int64_t kTermsOfOneSum = 128;

// The sums of a matrix product that has no more terms than this are added to each other in float,
// too; those of a longer one, and of everything else, in double (the eager product adds them in
// pairs, and the pairs in double).
constexpr int64_t kTermsInFloat = 32 * kTermsOfOneSum;

}  // namespace ingot
