/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "progress.h"

#include <dirent.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * A client moves its mouse as long as it is there, and what answers it is always on the sockets:
 * so much is nothing.
 */
#define MOUSE_BYTES 256

static int socket_option(int fd, int option)
{
    int value = 0;
    socklen_t size = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/* An accepted one has its listener's name; the library's own pairs have none. */
static bool has_name(int fd)
{
    struct sockaddr_un name;
    socklen_t size = sizeof(name);

    return getsockname(fd, (struct sockaddr *) &name, &size) == 0 &&
        size > sizeof(name.sun_family);
}

static void add_tcp(int fd, SocketsState *state)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
        state->moved += info.tcpi_bytes_acked + info.tcpi_bytes_received;
    }
}

static void add_socket(int fd, SocketsState *state)
{
    int domain = socket_option(fd, SO_DOMAIN);
    bool is_tcp = domain == AF_INET || domain == AF_INET6;
    int unsent = 0;

    if (!is_tcp && !(domain == AF_UNIX && has_name(fd))) {
        return;
    }
    if (socket_option(fd, SO_ACCEPTCONN) != 0 || ioctl(fd, SIOCOUTQ, &unsent) != 0) {
        return;
    }
    state->unsent += unsent;
    if (is_tcp) {
        add_tcp(fd, state);
    }
}

static SocketsState sockets_state(void)
{
    SocketsState state = { 0, 0 };
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    if (!dir) {
        return state;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            add_socket(atoi(entry->d_name), &state);
        }
    }
    closedir(dir);
    return state;
}

static bool sockets_have_moved(const SocketsState *before, const SocketsState *now,
                               const Devices *devices)
{
    if (!devices) {
        return now->moved != before->moved || now->unsent != before->unsent;
    }
    if (devices_are_running(devices)) {
        return false;           /* sound always progresses */
    }
    return llabs((long long) now->unsent - (long long) before->unsent) > MOUSE_BYTES;
}

void progress_look(Progress *progress, Display *display, const Devices *devices, bool is_waiting,
                   int64_t now_ns)
{
    uint64_t taken = display_taken(display);
    uint64_t transferred = devices ? devices_progress(devices) : 0;
    SocketsState sockets = sockets_state();

    if (is_waiting || taken != progress->taken || transferred != progress->devices ||
        sockets_have_moved(&progress->sockets, &sockets, devices)) {
        progress->last_ns = now_ns;
    }
    progress->taken = taken;
    progress->devices = transferred;
    progress->sockets = sockets;
}
