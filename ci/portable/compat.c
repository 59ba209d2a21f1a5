// What libstdc++, libgcc and our code ask of a glibc newer than 2.28, for the portable binary.
// Everything is hidden: no library that is opened later sees it. A host whose libc has the function
// gets that one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

// Of 2.32: "never known to be alone", so that counters are always atomic.
HIDDEN char __libc_single_threaded = 0;

// Of 2.36, asked by std::random_device.
HIDDEN uint32_t arc4random(void) {
  uint32_t value = 0;
  long got;
  do {
    got = syscall(SYS_getrandom, &value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  if (got == (long)sizeof value) return value;
  // A kernel before 3.17, or a filter of system calls that does not know getrandom.
  const int device = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (device < 0 || read(device, &value, sizeof value) != (ssize_t)sizeof value) abort();
  close(device);
  return value;
}

// Of 2.32. Null, for which callers are ready, where libc has none.
HIDDEN const char* strerrorname_np(int error) {
  const char* (*theirs)(int) = (const char* (*)(int))dlsym(RTLD_DEFAULT, "strerrorname_np");
  return theirs != NULL ? theirs(error) : NULL;
}

// What remains until a moment of `clock`, from now on the wall clock. A wall clock that is set
// meanwhile moves the end of the wait.
static struct timespec on_wall_clock(clockid_t clock, const struct timespec* until) {
  struct timespec now, wall;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &wall);
  const int64_t second = 1000000000;
  const int64_t remains = (until->tv_sec - now.tv_sec) * second + (until->tv_nsec - now.tv_nsec);
  const int64_t end = wall.tv_sec * second + wall.tv_nsec + (remains > 0 ? remains : 0);
  return (struct timespec){end / second, end % second};
}

// Of 2.30, asked by timed mutexes of libstdc++ until a moment of the steady clock.
typedef int (*ClockLock)(pthread_mutex_t*, clockid_t, const struct timespec*);

static ClockLock clock_lock_of_libc(void) {
  static _Atomic(uintptr_t) known = 1;  // 1: not looked for
  uintptr_t found = known;
  if (found == 1) known = found = (uintptr_t)dlsym(RTLD_DEFAULT, "pthread_mutex_clocklock");
  return (ClockLock)found;
}

HIDDEN int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                   const struct timespec* until) {
  const ClockLock theirs = clock_lock_of_libc();
  if (theirs != NULL) return theirs(mutex, clock, until);
  const struct timespec at = on_wall_clock(clock, until);
  return pthread_mutex_timedlock(mutex, &at);
}

// Of 2.30, asked by waits of libstdc++ until a moment of the steady clock. The caller looks at its
// own clock again.
typedef int (*ClockWait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);

static ClockWait clock_wait_of_libc(void) {
  static _Atomic(uintptr_t) known = 1;  // 1: not looked for
  uintptr_t found = known;
  if (found == 1) known = found = (uintptr_t)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  return (ClockWait)found;
}

HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const struct timespec* until) {
  const ClockWait theirs = clock_wait_of_libc();
  if (theirs != NULL) return theirs(condition, mutex, clock, until);
  const struct timespec at = on_wall_clock(clock, until);
  return pthread_cond_timedwait(condition, mutex, &at);
}

// Of 2.35: the unwinder's way from an address in code to its tables.
struct Search {
  uintptr_t address;
  struct dl_find_object* out;
};

static int holds(const struct dl_phdr_info* object, const ElfW(Phdr) * part,
                 struct Search* search) {
  const uintptr_t begin = object->dlpi_addr + part->p_vaddr;
  if (part->p_type != PT_LOAD || search->address < begin ||
      search->address >= begin + part->p_memsz)
    return 0;
  search->out->dlfo_map_start = (void*)begin;
  search->out->dlfo_map_end = (void*)(begin + part->p_memsz);
  return 1;
}

static int look_into(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  struct Search* search = data;
  const ElfW(Phdr)* tables = NULL;
  int here = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    here |= holds(object, part, search);
    if (part->p_type == PT_GNU_EH_FRAME) tables = part;
  }
  if (!here || tables == NULL) return 0;
  search->out->dlfo_flags = 0;
  search->out->dlfo_link_map = NULL;
  search->out->dlfo_eh_frame = (void*)(object->dlpi_addr + tables->p_vaddr);
  return 1;
}

typedef int (*FindObject)(void*, struct dl_find_object*);

HIDDEN int _dl_find_object(void* address, struct dl_find_object* out) {
  static _Atomic(uintptr_t) known = 1;  // 1: not looked for
  uintptr_t theirs = known;
  if (theirs == 1) known = theirs = (uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object");
  if (theirs != 0) return ((FindObject)theirs)(address, out);
  struct Search search = {(uintptr_t)address, out};
  return dl_iterate_phdr(look_into, &search) != 0 ? 0 : -1;
}
