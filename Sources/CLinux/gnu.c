#define _GNU_SOURCE 1
#include "CLinux.h"
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>

int bramley_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    return accept4(fd, address, length, flags);
}

int bramley_available_cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

int bramley_unsent_bytes(int fd) {
    int count = 0;
    return ioctl(fd, SIOCOUTQ, &count) == 0 ? count : 0;
}
