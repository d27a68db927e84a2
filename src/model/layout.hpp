// Sizes and strides (in elements), and copies from one layout to another.
#pragma once
#include <stdint.h>

#include "model/program.h"

namespace ingot::model {

int64_t element_count(int32_t rank, const int64_t* sizes);

// How many elements lie from the first to the last, both included; 0 for none. Strides are not
// negative.
int64_t extent(int32_t rank, const int64_t* sizes, const int64_t* strides);

// Do both name the same places? Strides of dimensions of size 1, and all of an empty tensor, are of
// no account.
bool same_places(int32_t rank, const int64_t* sizes, const int64_t* strides, const int64_t* other);

// Do two tensors of these sizes of elements have a byte in common? Yes, too, where it cannot be
// told without much ado. Strides are not negative.
bool overlap(const ingot_view& a, int64_t a_element_bytes, const ingot_view& b, int64_t b_element_bytes);

// Do several elements of one tensor share a place, as those of an expanded one do?
bool overlaps_itself(const ingot_view& a);

// Has every element a place of its own? No, too, where that is so for another reason than that each
// stride leads past all smaller ones.
bool lies_apart(const ingot_view& a);

// Copies all elements, to places of their own. No alignment is asked for.
void copy_elements(int32_t rank, const int64_t* sizes, void* to, const int64_t* to_strides, const void* from,
                   const int64_t* from_strides, int64_t element_bytes);

}  // namespace ingot::model
