/* While the file named by EIO_WHILE exists, nothing can be written to a segment of a spool: the disk answers EIO.
   Loaded before libc by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_broken(int fd) {
    char link[64], path[4096];
    const char *sign = getenv("EIO_WHILE");
    if (sign == NULL || access(sign, F_OK) != 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return strstr(path, "/spool/") != NULL;
}

ssize_t write(int fd, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL)
        real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (is_broken(fd)) {
        errno = EIO;
        return -1;
    }
    return real(fd, data, size);
}
