// The map behind an AOTInductorConstantMapHandle: a std::unordered_map<std::string,
// AtenTensorHandle> of the caller. A model has no C++ library, so this is the map as libstdc++'s
// ABI lays it out (the same since GCC 5): read and added to without its code.
#pragma once
#include "ingot/aoti.h"

namespace ingot::model {

class ConstantMap {
 public:
  explicit ConstantMap(AOTInductorConstantMapHandle handle) : map_(reinterpret_cast<Map*>(handle)) {}

  size_t size() const { return map_->count; }

  // f(name, handle) for every entry; the name ends in 0.
  template <class F>
  void for_each(F f) const {
    for (const Node* node = map_->first; node; node = node->next) f(node->key.text, node->handle);
  }

  // Adds the entry, or replaces the handle of that name. False after a failure.
  bool set(const char* name, AtenTensorHandle handle);

 private:
  struct String {
    char* text;  // `local`, or memory of its own
    size_t length;
    union {
      char local[16];
      size_t capacity;
    };
  };
  struct Node {
    Node* next;
    String key;
    AtenTensorHandle handle;
    size_t hash;
  };
  // All nodes are one list; a bucket points to the node before its first one, which for the first
  // of all is `first` itself.
  struct Map {
    Node** buckets;  // `single`, or memory of its own
    size_t bucket_count;
    Node* first;
    size_t count;
    float most_load;     // entries a bucket
    size_t next_resize;  // more entries than this need more buckets
    Node* single;
  };
  static_assert(sizeof(String) == 32 && sizeof(Map) == 56);

  Node* before_first() { return reinterpret_cast<Node*>(&map_->first); }
  bool grow(size_t entries);
  void link(Node* node);

  Map* map_;
};

}  // namespace ingot::model
