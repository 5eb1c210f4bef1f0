// The machine's wall clock, set while a program runs. Preloaded (LD_PRELOAD) into the server: what the file
// CLOCK_OFFSET holds, in seconds, is added to the time of day. The clock that only counts is left as it is, as by
// settimeofday(2).
//
// libfaketime changes the environment before `main`, and Swift's runtime then no longer finds the program's arguments.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static long offset(void) {
    char text[32] = {0};
    int before = errno;
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    errno = before;
    return count > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(clock_gettime);
    int result = real(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += offset();
    return result;
}

int gettimeofday(struct timeval *time, void *zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
    int result = real(time, zone);
    if (result == 0) time->tv_sec += offset();
    return result;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}
