#include "model/constant_map.hpp"

#include <string.h>

#include "model/error.hpp"
#include "model/host.hpp"

namespace ingot::model {
namespace {

// libstdc++'s hash of a string: MurmurHash64A with the seed that it uses. The hash is kept in each
// node and compared by the caller's own code, so it has to be this one.
size_t hash_of(const char* text, size_t length) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995, kSeed = 0xc70f6907;
  auto mix = [](uint64_t v) { return v ^ v >> 47; };
  uint64_t hash = kSeed ^ length * kMultiplier;
  size_t at = 0;
  for (; at + 8 <= length; at += 8) {
    uint64_t word;
    memcpy(&word, text + at, 8);
    hash = (hash ^ mix(word * kMultiplier) * kMultiplier) * kMultiplier;
  }
  if (at < length) {
    uint64_t rest = 0;
    memcpy(&rest, text + at, length - at);  // both targets are little-endian
    hash = (hash ^ rest) * kMultiplier;
  }
  return mix(mix(hash) * kMultiplier);
}

bool is_prime(size_t n) {
  for (size_t d = 2; d * d <= n; d++) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

}  // namespace

// Any number of buckets is right; primes spread the entries well.
bool ConstantMap::grow(size_t entries) {
  auto wanted = static_cast<size_t>(static_cast<float>(entries) / map_->most_load) + 1;
  if (wanted < 2 * map_->bucket_count) wanted = 2 * map_->bucket_count;
  if (wanted < 13) wanted = 13;
  while (!is_prime(wanted)) wanted++;
  auto** buckets = static_cast<Node**>(host().allocate(wanted * sizeof(Node*)));
  if (!buckets) return fail_for_memory(wanted * sizeof(Node*));
  memset(buckets, 0, wanted * sizeof(Node*));

  if (map_->buckets != &map_->single) host().release(map_->buckets);
  map_->buckets = buckets;
  map_->bucket_count = wanted;
  map_->next_resize = static_cast<size_t>(static_cast<float>(wanted) * map_->most_load);
  Node* node = map_->first;
  map_->first = nullptr;
  while (node) {
    Node* next = node->next;
    link(node);
    node = next;
  }
  return true;
}

void ConstantMap::link(Node* node) {
  Node*& bucket = map_->buckets[node->hash % map_->bucket_count];
  if (bucket) {
    node->next = bucket->next;
    bucket->next = node;
    return;
  }
  // A new bucket begins at the front of the list, and the bucket that was there begins after this
  // node.
  node->next = map_->first;
  map_->first = node;
  if (node->next) map_->buckets[node->next->hash % map_->bucket_count] = node;
  bucket = before_first();
}

bool ConstantMap::set(const char* name, AtenTensorHandle handle) {
  const size_t length = strlen(name);
  for (Node* node = map_->first; node; node = node->next) {
    if (node->key.length == length && memcmp(node->key.text, name, length) == 0) {
      node->handle = handle;
      return true;
    }
  }
  if (map_->count + 1 > map_->next_resize && !grow(map_->count + 1)) return false;

  auto* node = static_cast<Node*>(host().allocate(sizeof(Node)));
  if (!node) return fail_for_memory(sizeof(Node));
  String& key = node->key;
  key.text = key.local;
  if (length >= sizeof key.local) {
    key.text = static_cast<char*>(host().allocate(length + 1));
    if (!key.text) {
      host().release(node);
      return fail_for_memory(length + 1);
    }
    key.capacity = length;
  }
  key.length = length;
  memcpy(key.text, name, length + 1);
  node->handle = handle;
  node->hash = hash_of(name, length);
  link(node);
  map_->count++;
  return true;
}

}  // namespace ingot::model
