#define _GNU_SOURCE 1
#include "CLinux.h"
#include <linux/sockios.h>
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>

int bramley_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    return accept4(fd, address, length, flags);
}

int bramley_available_cores(void) {
    // The kernel refuses a set with fewer bits than it has numbers for cores (EINVAL): `cpu_set_t` has 1024.
    for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
        size_t size = CPU_ALLOC_SIZE(bits);
        cpu_set_t *set = calloc(1, size);
        if (!set) return 1;
        int result = sched_getaffinity(0, size, set);
        int error = errno;
        int count = result == 0 ? CPU_COUNT_S(size, set) : 0;
        free(set);
        if (result == 0) return count > 0 ? count : 1;
        if (error != EINVAL) return 1;
    }
    return 1;
}

int bramley_unsent_bytes(int fd) {
    int count = 0;
    if (ioctl(fd, SIOCOUTQ, &count) != 0 || count == 0) return 0;
    // A connection that broke keeps counting what it threw away. SO_ERROR does not tell reliably that it broke: whoever
    // asks first, a failing send(2) too, takes it away.
    struct tcp_info info;
    socklen_t length = sizeof info;
    int is_dead = getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == TCP_CLOSE;
    return is_dead ? 0 : count;
}

void bramley_trim_memory(void) {
    malloc_trim(0);
}
