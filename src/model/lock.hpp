// Locks over libc's own.
#pragma once
#include <pthread.h>
#include <stdint.h>

namespace ingot::model {

class Mutex {
 public:
  Mutex() = default;
  ~Mutex() { pthread_mutex_destroy(&mutex_); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() { pthread_mutex_lock(&mutex_); }
  bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  // Does nobody hold it? For who is alone with it.
  bool is_free() {
    if (!try_lock()) return false;
    unlock();
    return true;
  }

 private:
  friend class Condition;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  Condition() = default;
  ~Condition() { pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void wait(Mutex& mutex) { pthread_cond_wait(&condition_, &mutex.mutex_); }
  void wake_one() { pthread_cond_signal(&condition_); }
  void wake_all() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

// Many may hold it together, or one alone. Whoever comes first is let in first, so neither runs nor
// updates can starve the other.
class Gate {
 public:
  void enter() {
    Lock lock(mutex_);
    const uint64_t ticket = next_++;
    while (served_ != ticket) turn_.wait(mutex_);
    inside_++;
    serve_next();
  }
  void leave() {
    Lock lock(mutex_);
    if (--inside_ == 0) turn_.wake_all();
  }

  void enter_alone() {
    Lock lock(mutex_);
    const uint64_t ticket = next_++;
    while (served_ != ticket || inside_ > 0) turn_.wait(mutex_);
  }
  void leave_alone() {
    Lock lock(mutex_);
    serve_next();
  }
  // Is nobody inside, or waiting? For who is alone with it.
  bool is_idle() { return mutex_.is_free() && inside_ == 0 && served_ == next_; }
  // Lets others in too; the way out is then leave().
  void stay_with_others() {
    Lock lock(mutex_);
    inside_++;
    serve_next();
  }

 private:
  void serve_next() {
    served_++;
    if (served_ != next_) turn_.wake_all();
  }

  Mutex mutex_;
  Condition turn_;
  uint64_t next_ = 0, served_ = 0;
  uint64_t inside_ = 0;
};

}  // namespace ingot::model
