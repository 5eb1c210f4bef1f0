#define _GNU_SOURCE
#include "CSpawn.h"

#include <signal.h>
#include <spawn.h>

static int set_actions(posix_spawn_file_actions_t *actions, const char *directory, const int *standard) {
    int error = 0;
    for (int target = 0; target < 3 && error == 0; target++)
        error = posix_spawn_file_actions_adddup2(actions, standard[target], target);
    // In the child, by close_range(2): nobody looks through /proc/self/fd.
    if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    if (error == 0 && directory) error = posix_spawn_file_actions_addchdir_np(actions, directory);
    return error;
}

static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t every, none;
    sigfillset(&every);
    sigemptyset(&none);
    int error = posix_spawnattr_setsigdefault(attributes, &every);
    if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0)
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    return error;
}

int bramley_spawn(pid_t *pid, const char *path, char *const *arguments, char *const *environment,
                  const char *directory, const int *standard) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = set_actions(&actions, directory, standard);
        if (error == 0) error = set_attributes(&attributes);
        if (error == 0) error = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}
