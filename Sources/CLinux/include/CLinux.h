// The Linux system calls that Glibc's Swift module leaves out, and the macros Swift cannot import.
#ifndef CLINUX_H
#define CLINUX_H

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/// accept4(2), under a name Swift can see on every Glibc.
int bramley_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

/// The cores this process may run on, by sched_getaffinity(2); at least 1.
int bramley_available_cores(void);

/// The bytes of a socket's output that its peer has not acknowledged (SIOCOUTQ); 0 when that cannot be told.
int bramley_unsent_bytes(int fd);

/// The commit the program was built from, or "unknown".
const char *bramley_source_commit(void);

#endif
