// What a kernel may do to a program's sockets and seldom does, done all the time. Preloaded (LD_PRELOAD) into the tests
// and the servers they start:
//
//   FAULTS=eintr   every third call is interrupted by a signal that was none
//   FAULTS=short   most transfers move one byte, though more is there
//   FAULTS=eagain  every third transfer on a non-blocking socket finds it not ready, though it is
//   FAULTS=emfile  accept finds no descriptor, in bursts
//   FAULTS=reset   every FAULTS_EVERYth send or receive of an accepted socket finds that its peer has gone, ECONNRESET
//                  or EPIPE, and so does every one after it; while the file FAULTS_SWITCH is there
//
// Sockets alone: files, pipes and eventfds are left as they are, and so is every program that is none of ours.
//
// Edge-triggered epoll tells once that bytes have come. A transfer that was cut short, or found nothing, is here told
// again by EPOLL_CTL_MOD, as the kernel does when the rest of the bytes, or the room for them, comes a moment later.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { EINTR_MODE = 1, SHORT_MODE = 2, EAGAIN_MODE = 4, EMFILE_MODE = 8, RESET_MODE = 16 };

static int modes;
static unsigned every = 50;
static const char *only_while;
static atomic_uint calls, transfers, served, accepts, faults;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

// Descriptors and how they stand in epoll.
enum { MAXIMUM = 65536 };
static struct {
    int epoll;
    int accepted;
    int gone;
    struct epoll_event event;
} registered[MAXIMUM];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_ours(void) {
    char path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strstr(name, "xctest") || !strcmp(name, "bramley") || !strcmp(name, "apple-simulator") ||
           !strcmp(name, "http-echo") || !strcmp(name, "swiftpm-testing-helper");
}

static void report(void) {
    const char *file = getenv("FAULTS_REPORT");
    if (!file || !modes) return;
    FILE *out = fopen(file, "a");
    if (!out) return;
    fprintf(out, "%u faults in %u calls\n", atomic_load(&faults), atomic_load(&calls));
    fclose(out);
}

__attribute__((constructor)) static void start(void) {
    const char *wanted = getenv("FAULTS");
    if (!wanted || !is_ours()) return;
    if (strstr(wanted, "eintr")) modes |= EINTR_MODE;
    if (strstr(wanted, "short")) modes |= SHORT_MODE;
    if (strstr(wanted, "eagain")) modes |= EAGAIN_MODE;
    if (strstr(wanted, "emfile")) modes |= EMFILE_MODE;
    if (strstr(wanted, "reset")) modes |= RESET_MODE;
    const char *rate = getenv("FAULTS_EVERY");
    if (rate && atoi(rate) > 0) every = (unsigned)atoi(rate);
    only_while = getenv("FAULTS_SWITCH");
    atexit(report);
}

static int is_socket(int fd) {
    int saved = errno;
    struct stat status;
    int result = fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
    errno = saved;
    return result;
}

static int is_nonblocking(int fd) {
    int saved = errno;
    int flags = fcntl(fd, F_GETFL);
    errno = saved;
    return flags >= 0 && (flags & O_NONBLOCK);
}

// True when this call is to be interrupted.
static int interrupts(int fd) {
    if (!modes || !is_socket(fd)) return 0;
    unsigned call = atomic_fetch_add(&calls, 1);
    if (!(modes & EINTR_MODE) || call % 3 != 2) return 0;
    atomic_fetch_add(&faults, 1);
    errno = EINTR;
    return 1;
}

static void tell_again(int fd) {
    if (fd < 0 || fd >= MAXIMUM) return;
    static int (*real)(int, int, int, struct epoll_event *);
    if (!real) real = (int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT, "epoll_ctl");
    int saved = errno;
    pthread_mutex_lock(&lock);
    int epoll = registered[fd].epoll - 1;
    struct epoll_event event = registered[fd].event;
    if (epoll >= 0) real(epoll, EPOLL_CTL_MOD, fd, &event);
    pthread_mutex_unlock(&lock);
    errno = saved;
}

// True when the peer of this accepted socket has gone: the transfer is over with `*result`. As from the kernel, the first
// call hears why, and those after it of the end of the stream, or EPIPE.
static int is_gone(int fd, int sends, ssize_t *result) {
    if (!(modes & RESET_MODE) || fd < 0 || fd >= MAXIMUM || !registered[fd].accepted) return 0;
    if (registered[fd].gone) {
        errno = EPIPE;
        *result = sends ? -1 : 0;
        return 1;
    }
    int saved = errno;
    int applies = !only_while || access(only_while, F_OK) == 0;
    errno = saved;
    if (!applies || atomic_fetch_add(&served, 1) % every != every - 1) return 0;
    registered[fd].gone = 1;
    // With it comes the hang-up that epoll tells of.
    shutdown(fd, SHUT_RDWR);
    unsigned fault = atomic_fetch_add(&faults, 1);
    errno = sends && fault % 2 ? EPIPE : ECONNRESET;
    *result = -1;
    return 1;
}

// How much of `length` may be moved; 0 when the call is to fail with errno as set.
static size_t permitted(int fd, size_t length) {
    if (!modes || !is_socket(fd)) return length;
    unsigned transfer = atomic_fetch_add(&transfers, 1);
    if ((modes & EAGAIN_MODE) && transfer % 3 == 2 && is_nonblocking(fd)) {
        atomic_fetch_add(&faults, 1);
        tell_again(fd);
        errno = EAGAIN;
        return 0;
    }
    if (!(modes & SHORT_MODE) || length < 2) return length;
    // Two of one byte, then half, then all: bulk moves on, and no state of a parser goes without its split.
    size_t cut = transfer % 4 == 3 ? length : transfer % 4 == 2 ? length / 2 : 1;
    if (cut < length) atomic_fetch_add(&faults, 1);
    return cut;
}

// What all transfers have in common: `CALL` moves `allowed` bytes.
#define TRANSFER(fd, length, sends, CALL) \
    do { \
        ssize_t result; \
        if (interrupts(fd)) return -1; \
        if (is_gone(fd, sends, &result)) return result; \
        size_t allowed = permitted(fd, length); \
        if (allowed == 0 && (length) > 0) return -1; \
        ssize_t moved = CALL; \
        if (moved > 0 && allowed < (length) && (size_t)moved == allowed) tell_again(fd); \
        return moved; \
    } while (0)

ssize_t recv(int fd, void *bytes, size_t length, int flags) {
    REAL(recv);
    // A look takes nothing: cut short, it would show the same byte for ever.
    if (flags & MSG_PEEK) return interrupts(fd) ? -1 : real(fd, bytes, length, flags);
    TRANSFER(fd, length, 0, real(fd, bytes, allowed, flags));
}

ssize_t send(int fd, const void *bytes, size_t length, int flags) {
    REAL(send);
    TRANSFER(fd, length, 1, real(fd, bytes, allowed, flags));
}

ssize_t read(int fd, void *bytes, size_t length) {
    REAL(read);
    TRANSFER(fd, length, 0, real(fd, bytes, allowed));
}

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(write);
    TRANSFER(fd, length, 1, real(fd, bytes, allowed));
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    REAL(accept4);
    if (interrupts(fd)) return -1;
    if (modes & EMFILE_MODE) {
        // Bursts of eight in every 64.
        if (atomic_fetch_add(&accepts, 1) % 64 >= 56) {
            atomic_fetch_add(&faults, 1);
            errno = EMFILE;
            return -1;
        }
    }
    int accepted = real(fd, address, length, flags);
    if (accepted >= 0 && accepted < MAXIMUM) registered[accepted].accepted = 1;
    return accepted;
}

// POSIX: an interrupted connect goes on by itself.
int connect(int fd, const struct sockaddr *address, socklen_t length) {
    REAL(connect);
    int result = real(fd, address, length);
    // A refusal is told once: as an interruption it would be lost.
    if (result < 0 && errno != EINPROGRESS) return result;
    return interrupts(fd) ? -1 : result;
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout) {
    REAL(epoll_wait);
    if ((modes & EINTR_MODE) && atomic_fetch_add(&calls, 1) % 3 == 2) {
        atomic_fetch_add(&faults, 1);
        errno = EINTR;
        return -1;
    }
    return real(epoll, events, count, timeout);
}

int poll(struct pollfd *descriptors, nfds_t count, int timeout) {
    REAL(poll);
    if ((modes & EINTR_MODE) && atomic_fetch_add(&calls, 1) % 3 == 2) {
        atomic_fetch_add(&faults, 1);
        errno = EINTR;
        return -1;
    }
    return real(descriptors, count, timeout);
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    REAL(epoll_ctl);
    int result = real(epoll, operation, fd, event);
    if (result == 0 && modes && fd >= 0 && fd < MAXIMUM && is_socket(fd)) {
        pthread_mutex_lock(&lock);
        if (operation == EPOLL_CTL_DEL) {
            registered[fd].epoll = 0;
        } else {
            registered[fd].epoll = epoll + 1;
            registered[fd].event = *event;
        }
        pthread_mutex_unlock(&lock);
    }
    return result;
}

int close(int fd) {
    REAL(close);
    if (modes && fd >= 0 && fd < MAXIMUM) {
        pthread_mutex_lock(&lock);
        registered[fd].epoll = 0;
        registered[fd].accepted = 0;
        registered[fd].gone = 0;
        int result = real(fd);
        pthread_mutex_unlock(&lock);
        return result;
    }
    return real(fd);
}
