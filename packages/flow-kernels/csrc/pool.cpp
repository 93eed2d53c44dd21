#include "pool.h"

#include <pthread.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace flow {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kSpins = 4000;  // some 20-50 us: as long as the gap between two kernels of one step

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

struct Job {
  void (*body)(void*, int64_t, int64_t);
  void* context;
  int64_t count, grain;
  std::atomic<int64_t> next{0};

  void work() {
    for (;;) {
      int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= count) return;
      body(context, begin, std::min(begin + grain, count));
    }
  }
};

// A worker enters a job under the mutex and only while it is open, so one that wakes late never delays the caller.
class Pool {
 public:
  explicit Pool(int workers) {
    threads_.reserve(workers);
    try {
      for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { loop(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Pool() { stop(); }

  int workers() const { return static_cast<int>(threads_.size()); }

  void run(Job& job) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      job_ = &job;
      generation_.fetch_add(1, std::memory_order_release);
      if (sleepers_ > 0) wake_.notify_all();
    }
    job.work();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      job_ = nullptr;
    }
    for (int spins = 0; active_.load(std::memory_order_acquire) > 0; ++spins)
      if (spins < kSpins)
        pause_briefly();
      else
        std::this_thread::yield();
  }

 private:
  void loop() {
    for (uint64_t seen = 0;;) {
      for (int spins = 0; spins < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spins)
        pause_briefly();
      Job* job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        while (generation_.load(std::memory_order_relaxed) == seen && !stopping_) {
          ++sleepers_;
          wake_.wait(lock);
          --sleepers_;
        }
        if (stopping_) return;
        seen = generation_.load(std::memory_order_relaxed);
        job = job_;
        if (job) active_.fetch_add(1, std::memory_order_relaxed);
      }
      if (!job) continue;
      job->work();
      active_.fetch_sub(1, std::memory_order_release);
    }
  }

  void stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> active_{0};
  Job* job_ = nullptr;
  int sleepers_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Whoever holds the door owns the pool. Neither is ever destroyed: a worker may still sleep when the process exits.
alignas(std::mutex) unsigned char door_storage[sizeof(std::mutex)];
std::mutex* door = new (door_storage) std::mutex;
Pool* pool = nullptr;
std::atomic<int> num_threads{1};

// A fork copies the calling thread only: the child forgets the parent's pool, whose threads it does not have.
void forget_pool_in_child() {
  door = new (door_storage) std::mutex;
  pool = nullptr;
}

int usable_cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

void init_num_threads() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget_pool_in_child); });
  const char* text = std::getenv("FLOW_NUM_THREADS");
  if (!text || !*text) return set_num_threads(std::min(usable_cores(), kMaxThreads));
  char* end;
  long n = std::strtol(text, &end, 10);
  if (*end || n < 1 || n > kMaxThreads)
    throw std::invalid_argument("FLOW_NUM_THREADS is '" + std::string(text) + "', expected a whole number from 1 to " +
                                std::to_string(kMaxThreads) + "; unset it to use every core");
  set_num_threads(static_cast<int>(n));
}

int get_num_threads() { return num_threads.load(std::memory_order_relaxed); }

void set_num_threads(int n) {
  if (n < 1 || n > kMaxThreads)
    throw std::invalid_argument("num_threads is " + std::to_string(n) + ", expected 1 to " +
                                std::to_string(kMaxThreads));
  num_threads.store(n, std::memory_order_relaxed);
}

void parallel_ranges(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context) {
  Job job{body, context, count, grain};
  int workers = get_num_threads() - 1;
  if (workers == 0 || count <= grain || !door->try_lock()) return job.work();
  std::lock_guard<std::mutex> lock(*door, std::adopt_lock);
  if (!pool || pool->workers() != workers) {
    delete pool;
    pool = nullptr;
    try {
      pool = new Pool(workers);
    } catch (const std::system_error&) {
      // A kernel has no way to report that the system gives no more threads, and needs none: the bits are the same.
      return job.work();
    }
  }
  pool->run(job);
}

}  // namespace flow
