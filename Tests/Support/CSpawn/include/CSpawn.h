// posix_spawn(3) with the GNU file actions, which Glibc's Swift module leaves out.
#ifndef CSPAWN_H
#define CSPAWN_H

#include <sys/types.h>

/// Starts a program in a process group of its own, with every signal at its default and none blocked.
/// - standard: three descriptors above 2, which become 0, 1 and 2; nothing else is inherited.
/// - directory: where it works, or NULL.
/// Returns 0 or an errno.
int bramley_spawn(pid_t *pid, const char *path, char *const *arguments, char *const *environment,
                  const char *directory, const int *standard);

#endif
