/* Loaded before libc (LD_PRELOAD): every sync takes SLOW_SYNC_US microseconds more, and SLOW_SYNC_LOG gets a line for
   each sync, and for each send and receive on a socket, in the order in which they happen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int log_fd = -2;

static void note(const char *what, int fd, long size) {
    char line[512], link[64], path[256];
    if (log_fd == -2) {
        const char *name = getenv("SLOW_SYNC_LOG");
        log_fd = name ? open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    }
    if (log_fd < 0) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    int count = snprintf(line, sizeof line, "%ld %s %ld %s\n", syscall(SYS_gettid), what, size, path);
    if (write(log_fd, line, (size_t)count) < 0) return;
}

static void wait_for_disk(void) {
    const char *delay = getenv("SLOW_SYNC_US");
    if (delay) usleep((useconds_t)atoi(delay));
}

int fsync(int fd) {
    note("sync", fd, 0);
    wait_for_disk();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    note("sync", fd, 0);
    wait_for_disk();
    return (int)syscall(SYS_fdatasync, fd);
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
    note("send", fd, (long)size);
    return syscall(SYS_sendto, fd, data, size, flags, NULL, 0);
}

ssize_t recv(int fd, void *data, size_t size, int flags) {
    ssize_t received = syscall(SYS_recvfrom, fd, data, size, flags, NULL, NULL);
    note("receive", fd, (long)received);
    return received;
}
