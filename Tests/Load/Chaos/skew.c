// A clock that is wrong by CLOCK_SKEW milliseconds; the monotonic one is right. Preloaded by a server of the chaos test.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    const char *skew = getenv("CLOCK_SKEW");
    if (result == 0 && skew && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        long long whole = now->tv_sec * 1000000000LL + now->tv_nsec + atoll(skew) * 1000000;
        now->tv_sec = whole / 1000000000;
        now->tv_nsec = whole % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec time;
    if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (seconds) *seconds = now.tv_sec;
    return now.tv_sec;
}
