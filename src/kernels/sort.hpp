// Sorting, selection and search along the rows of a strided buffer, for every real dtype.
//
// The order is PyTorch's: NaN is larger than everything and equal to NaN, -0 equals +0, false <
// true. Every function breaks ties by the lower index, so results are fully determined; descending
// sorts are stable too and put NaN first.
//
// Functions do rows [begin, end) of the row numbering in Rows; rows are independent.
// Requires: dtype is not complex; scratch of select_scratch_bytes(n) bytes, 8-byte aligned, one for
// each call running
//   at the same time; outputs do not overlap inputs.
// Owns nothing, allocates nothing.
#pragma once
#include <cstdint>

#include "ingot/dtype.hpp"
#include "kernels/rows.hpp"

namespace ingot::kernels {

int64_t select_scratch_bytes(int64_t n);

// out_values[row][j] = the j-th element of the sorted row, out_indices[row][j] = where it stood.
// Either output may be null (argsort: out_values null). Stable.
void sort_rows(DType dtype, const void* in, Rows in_rows, int64_t n, bool descending, void* out_values, Rows value_rows,
               int64_t* out_indices, Rows index_rows, int64_t begin, int64_t end, void* scratch);

// The k largest (or smallest) elements of each row, best first. Requires 0 <= k <= n.
void topk_rows(DType dtype, const void* in, Rows in_rows, int64_t n, int64_t k, bool largest, void* out_values, Rows value_rows,
               int64_t* out_indices, Rows index_rows, int64_t begin, int64_t end, void* scratch);

// The k-th smallest element of each row and its index. Requires 1 <= k <= n. Row r writes element r
// of either output.
void kthvalue_rows(DType dtype, const void* in, Rows in_rows, int64_t n, int64_t k, void* out_values, int64_t* out_indices,
                   int64_t begin, int64_t end, void* scratch);

// The lower median and its index. A row with a NaN gives NaN (its first), or with ignore_nan the
// median of the others (NaN when all are). Requires n >= 1. Outputs as in kthvalue_rows.
void median_rows(DType dtype, const void* in, Rows in_rows, int64_t n, bool ignore_nan, void* out_values, int64_t* out_indices,
                 int64_t begin, int64_t end, void* scratch);

// For each value v of row r of `values` (m a row): the first position p of sorted row r of
// `sequence` (n a row) with seq[p] >= v, or with `right` seq[p] > v; n when there is none. As in
// PyTorch a NaN on either side moves the position right. `sorter` (or null), laid out as the
// sequence, holds the indices that sort it. The sequence may be one shared row. Both sides have the
// same dtype. Needs no scratch. Row r of out starts at r * m.
void searchsorted_rows(DType dtype, const void* sequence, Rows sequence_rows, int64_t n, const int64_t* sorter,
                       const void* values, Rows value_rows, int64_t m, bool right, int64_t* out, int64_t begin, int64_t end);

}  // namespace ingot::kernels

// The same for compiled models; dtype is the number of ingot::DType.
extern "C" {
int64_t ingot_k_select_scratch_bytes(int64_t n);
void ingot_k_sort_rows(int32_t dtype, const void* in, const ingot::kernels::Rows* in_rows, int64_t n, int32_t descending,
                       void* out_values, const ingot::kernels::Rows* value_rows, int64_t* out_indices,
                       const ingot::kernels::Rows* index_rows, int64_t begin, int64_t end, void* scratch);
void ingot_k_topk_rows(int32_t dtype, const void* in, const ingot::kernels::Rows* in_rows, int64_t n, int64_t k, int32_t largest,
                       void* out_values, const ingot::kernels::Rows* value_rows, int64_t* out_indices,
                       const ingot::kernels::Rows* index_rows, int64_t begin, int64_t end, void* scratch);
void ingot_k_kthvalue_rows(int32_t dtype, const void* in, const ingot::kernels::Rows* in_rows, int64_t n, int64_t k,
                           void* out_values, int64_t* out_indices, int64_t begin, int64_t end, void* scratch);
void ingot_k_median_rows(int32_t dtype, const void* in, const ingot::kernels::Rows* in_rows, int64_t n, int32_t ignore_nan,
                         void* out_values, int64_t* out_indices, int64_t begin, int64_t end, void* scratch);
void ingot_k_searchsorted_rows(int32_t dtype, const void* sequence, const ingot::kernels::Rows* sequence_rows, int64_t n,
                               const int64_t* sorter, const void* values, const ingot::kernels::Rows* value_rows, int64_t m,
                               int32_t right, int64_t* out, int64_t begin, int64_t end);
}
