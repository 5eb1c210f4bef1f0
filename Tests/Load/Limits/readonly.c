// A file system that the kernel has made read-only under its users, as ext4 does after an I/O error: files that are
// open for writing stay so, and each write to one of them fails. mount(8) refuses to do that while a file is open for
// writing.
//
// Preloaded (LD_PRELOAD) into the server: while the file READ_ONLY_SWITCH is there, what would change anything below
// READ_ONLY_FOLDER fails with EROFS.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_on(void) {
    const char *name = getenv("READ_ONLY_SWITCH");
    return name && access(name, F_OK) == 0;
}

static int is_below(const char *path) {
    const char *folder = getenv("READ_ONLY_FOLDER");
    return folder && !strncmp(path, folder, strlen(folder));
}

static int is_refused(int descriptor) {
    char link[64], path[4096];
    if (!is_on()) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

#define REFUSE(condition) \
    do { \
        int before = errno; \
        if (condition) { \
            errno = EROFS; \
            return -1; \
        } \
        errno = before; \
    } while (0)

#define ON_DESCRIPTOR(result, name, parameters, arguments) \
    result name parameters { \
        static result(*real) parameters; \
        if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
        REFUSE(is_refused(descriptor)); \
        return real arguments; \
    }

ON_DESCRIPTOR(ssize_t, write, (int descriptor, const void *bytes, size_t count), (descriptor, bytes, count))
ON_DESCRIPTOR(ssize_t, pwrite, (int descriptor, const void *bytes, size_t count, off_t place),
              (descriptor, bytes, count, place))
ON_DESCRIPTOR(ssize_t, pwrite64, (int descriptor, const void *bytes, size_t count, off64_t place),
              (descriptor, bytes, count, place))
ON_DESCRIPTOR(int, ftruncate, (int descriptor, off_t size), (descriptor, size))
ON_DESCRIPTOR(int, ftruncate64, (int descriptor, off64_t size), (descriptor, size))
ON_DESCRIPTOR(int, fallocate, (int descriptor, int mode, off_t place, off_t size), (descriptor, mode, place, size))
ON_DESCRIPTOR(int, fallocate64, (int descriptor, int mode, off64_t place, off64_t size),
              (descriptor, mode, place, size))

#define OPENING(name) \
    int name(const char *path, int flags, ...) { \
        static int (*real)(const char *, int, ...); \
        if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
        va_list list; \
        va_start(list, flags); \
        unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, unsigned) : 0; \
        va_end(list); \
        REFUSE((flags & (O_ACCMODE | O_CREAT | O_TRUNC)) && is_on() && is_below(path)); \
        return real(path, flags, mode); \
    }

OPENING(open)
OPENING(open64)

int unlink(const char *path) {
    static int (*real)(const char *);
    if (!real) real = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    REFUSE(is_on() && is_below(path));
    return real(path);
}
