// Stand-ins of views. A view of PyTorch whose elements are other numbers than its bytes say (a lazy
// conj or neg) is computed at once here, into a storage of its own. A write to one of the two
// storages would not reach the other, as it does in PyTorch: it is known which storage stands in
// for a part of which other one, and what would differ is refused.
#pragma once
#include <string_view>

namespace ingot {

class Storage;

// Whether there is any: a program without pays for nothing else.
bool has_stand_ins();
// From now on `storage`, which the op `made_by` just filled, stands in for a view of `of`. The name
// lives as long as the process.
void make_stand_in(const Storage& storage, const Storage& of, std::string_view made_by);
// `storage` is that of another tensor with the same value (a batched one), and stands in for what
// `same` stands in for, if anything.
void share_stand_in(const Storage& storage, const Storage& same);
bool is_stand_in(const Storage& storage);
// The op that made it; empty if it is none.
std::string_view stand_in_made_by(const Storage& storage);
// Whether it is one of a storage that stands in for nothing itself, made by that op.
bool is_stand_in(const Storage& storage, std::string_view made_by);
// Whether it stands in for a view of `of`, be it by way of another one.
bool stands_in_for(const Storage& storage, const Storage& of);

// `storage` was written: what stands in for its views is out of date, for good.
void outdate_stand_ins(const Storage& storage);
bool is_out_of_date(const Storage& storage);
// User error by `who` if the storage is a stand-in that is out of date.
void require_current(const Storage& storage, std::string_view who);
// User error by `who`, which is about to write, if it is a stand-in at all.
void require_writable(const Storage& storage, std::string_view who);

// The storage is no more.
void forget_stand_in(const Storage& storage);

}  // namespace ingot
