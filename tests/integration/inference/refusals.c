/* Loaded before the C library (LD_PRELOAD): lets a test decide which calls the system refuses.
 *
 * A call is refused while the folder $REFUSALS has a file of its name, with the number of the error in it. Each refusal
 * adds a byte to the file NAME.refused beside it. Nothing here allocates memory or takes a lock, as threads and forks of
 * the process may call it at any time. Of files only databases cannot be opened: names that hold ".db".
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* The error with which a call is refused; 0 if it is not. */
static int refusal(const char *name)
{
    char path[4096], digits[8] = {0};
    const char *folder = getenv("REFUSALS");
    if (folder == NULL || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path - 16)
        return 0;
    int before = errno, file = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    errno = before;
    if (file < 0)
        return 0;
    ssize_t length = read(file, digits, sizeof digits - 1);
    close(file);
    int code = length > 0 ? atoi(digits) : 0;
    if (code != 0) {
        snprintf(path, sizeof path, "%s/%s.refused", folder, name);
        file = openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (file >= 0) {
            (void)!write(file, "x", 1);
            close(file);
        }
    }
    return code;
}

#define REFUSABLE(type, name, declared, given)                   \
    type name declared                                           \
    {                                                            \
        int code = refusal(#name);                               \
        if (code != 0) {                                         \
            errno = code;                                        \
            return -1;                                           \
        }                                                        \
        type (*real) declared = dlsym(RTLD_NEXT, #name);         \
        return real given;                                       \
    }

REFUSABLE(pid_t, fork, (void), ())
REFUSABLE(int, execve, (const char *path, char *const given[], char *const environment[]), (path, given, environment))
REFUSABLE(int, execv, (const char *path, char *const given[]), (path, given))
REFUSABLE(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
REFUSABLE(int, accept4, (int socket, struct sockaddr *address, socklen_t *length, int flags),
          (socket, address, length, flags))
REFUSABLE(int, pipe2, (int ends[2], int flags), (ends, flags))
REFUSABLE(int, socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends))
REFUSABLE(int, bind, (int socket, const struct sockaddr *address, socklen_t length), (socket, address, length))
REFUSABLE(int, mkdir, (const char *path, mode_t mode), (path, mode))

/* Nothing of ours may run between a real one and the exec of its child; a fork may replace it. */
pid_t vfork(void)
{
    return fork();
}

static int opened(const char *name, const char *path, int flags, mode_t mode)
{
    int code = strstr(path, ".db") == NULL ? 0 : refusal("open");
    if (code != 0) {
        errno = code;
        return -1;
    }
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
    return real(path, flags, mode);
}

#define OPENS(name)                              \
    int name(const char *path, int flags, ...)   \
    {                                            \
        va_list rest;                            \
        va_start(rest, flags);                   \
        mode_t mode = va_arg(rest, mode_t);      \
        va_end(rest);                            \
        return opened(#name, path, flags, mode); \
    }

OPENS(open)
OPENS(open64)

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    int code = refusal("pthread_create");
    if (code != 0)
        return code;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, start, argument);
}
