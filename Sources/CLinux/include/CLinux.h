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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// accept4(2), under a name Swift can see on every Glibc.
int bramley_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

/// The cores this process may run on, by sched_getaffinity(2); at least 1.
int bramley_available_cores(void);

/// The bytes of a TCP socket's output that its peer may still acknowledge (SIOCOUTQ): none once the connection is dead.
/// 0 when that cannot be told.
int bramley_unsent_bytes(int fd);

/// malloc_trim(3): gives the pages of free memory back to the system, those of all threads.
void bramley_trim_memory(void);

/// From now on SIGTERM and SIGINT do not end the process but are remembered, until something else handles them.
void bramley_remember_stop_signals(void);

/// Whether one of them came since then and before something else handled them.
int bramley_stop_was_asked(void);

/// The commit the program was built from, or "unknown".
const char *bramley_source_commit(void);

/// fork(2) and execve(2) with `descriptors` as 3, 4, … and no other above 2. `number` lies within one of `environment`,
/// with room for ten digits and a NUL: the child writes its process number there. Signals have their default effect in
/// the child, but SIGHUP and SIGUSR2, which are ignored until it is ready for them.
/// Returns the child's number, or -1 with `errno`; the child ends with 126 or 127 when it cannot become the program.
pid_t bramley_start_successor(const char *path, char *const *arguments, char *const *environment, char *number,
                              const int *descriptors, int count);

#endif
