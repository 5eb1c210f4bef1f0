// What the thread sanitizer cannot see of Swift's Mutex, told to it; scripts/sanitize.sh links it into every program.
//
// The fast path of Synchronization.Mutex is compiled into its users, whose atomics the sanitizer sees. Under contention
// it calls libswiftSynchronization.so, which is not instrumented: there a lock that was waited for is taken, and one that
// is waited for is given up, without a trace, and everything the Mutex protects looks like a race. These stand before the
// library's own functions and say so.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

extern void __tsan_acquire(void *);
extern void __tsan_release(void *);

#define CONTEXT __attribute__((swift_context)) void *self
#define SWIFT __attribute__((swiftcall))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, CONTEXT) __asm__(LOCK);
SWIFT bool try_lock_slow(CONTEXT) __asm__(TRY_LOCK);
SWIFT void unlock_slow(CONTEXT) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, CONTEXT) {
    SWIFT void (*next)(uint32_t, CONTEXT) = dlsym(RTLD_NEXT, LOCK);
    next(thread, self);
    __tsan_acquire(self);
}

SWIFT bool try_lock_slow(CONTEXT) {
    SWIFT bool (*next)(CONTEXT) = dlsym(RTLD_NEXT, TRY_LOCK);
    bool taken = next(self);
    if (taken) __tsan_acquire(self);
    return taken;
}

SWIFT void unlock_slow(CONTEXT) {
    SWIFT void (*next)(CONTEXT) = dlsym(RTLD_NEXT, UNLOCK);
    __tsan_release(self);
    next(self);
}
