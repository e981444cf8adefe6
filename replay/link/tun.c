/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "line.h"
#include "tun.h"

/* Packets the device holds until they are read: what arrives while something else has the CPU. */
#define TUN_QUEUE_LENGTH 4096

static int open_or_die(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0) {
        err(EXIT_FAILURE, "%s", path);
    }
    return fd;
}

static void enter_namespace(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : "/run/netns/", name);
    int fd = open_or_die(path, O_RDONLY);
    if (setns(fd, CLONE_NEWNET) < 0) {
        if (errno == EINVAL) {
            errx(EXIT_FAILURE, "%s is not a network namespace", path);
        }
        err(EXIT_FAILURE, "cannot enter the network namespace %s", path);
    }
    close(fd);
}

static void open_device(Tun *tun, const TunConfig *config)
{
    struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    const char *name = config->device ? config->device : "link%d";

    tun->fd = open_or_die("/dev/net/tun", O_RDWR | O_NONBLOCK);
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (ioctl(tun->fd, TUNSETIFF, &request) < 0) {
        err(EXIT_FAILURE, "cannot make the TUN device %s in %s", name, config->name_space);
    }
    snprintf(tun->device, sizeof(tun->device), "%s", request.ifr_name);
}

/* Or the kernel would send router solicitations and group reports over it. Where the file is
 * missing the kernel has no IPv6. */
static void disable_ipv6(const char *device)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", device);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return;
    }
    if (fd < 0 || write(fd, "1", 1) != 1) {
        err(EXIT_FAILURE, "%s", path);
    }
    close(fd);
}

static void set_up(int control, const Tun *tun, unsigned long request, const char *what,
                   struct ifreq *value)
{
    memcpy(value->ifr_name, tun->device, sizeof(value->ifr_name));
    if (ioctl(control, request, value) < 0) {
        err(EXIT_FAILURE, "cannot set the %s of %s", what, tun->device);
    }
}

static struct ifreq address_value(in_addr_t address)
{
    struct sockaddr_in socket_address = { .sin_family = AF_INET, .sin_addr.s_addr = address };
    struct ifreq value = { .ifr_flags = 0 };

    memcpy(&value.ifr_addr, &socket_address, sizeof(socket_address));
    return value;
}

static void configure_device(const Tun *tun, const TunConfig *config)
{
    struct ifreq mtu = { .ifr_mtu = (int) config->mtu };
    struct ifreq queue = { .ifr_qlen = TUN_QUEUE_LENGTH };
    struct ifreq address = address_value(config->address.s_addr);
    struct ifreq mask = address_value(htonl(~UINT32_C(0) << (32 - config->prefix)));
    struct ifreq flags = { .ifr_flags = IFF_UP };
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (control < 0) {
        err(EXIT_FAILURE, "socket");
    }
    set_up(control, tun, SIOCSIFMTU, "MTU", &mtu);
    set_up(control, tun, SIOCSIFTXQLEN, "queue length", &queue);
    set_up(control, tun, SIOCSIFADDR, "address", &address);
    set_up(control, tun, SIOCSIFNETMASK, "prefix", &mask);
    set_up(control, tun, SIOCSIFFLAGS, "state", &flags);
    close(control);
}

void tun_create(Tun *tun, const TunConfig *config)
{
    int home = open_or_die("/proc/thread-self/ns/net", O_RDONLY);

    enter_namespace(config->name_space);
    open_device(tun, config);
    disable_ipv6(tun->device);
    configure_device(tun, config);
    /* shows the namespace it was opened in, whoever reads it */
    tun->stats = fopen("/proc/thread-self/net/dev", "re");
    if (!tun->stats) {
        err(EXIT_FAILURE, "/proc/thread-self/net/dev");
    }
    if (setns(home, CLONE_NEWNET) < 0) {
        err(EXIT_FAILURE, "cannot return to the first network namespace");
    }
    close(home);
}

void tun_destroy(Tun *tun)
{
    close(tun->fd);
    fclose(tun->stats);
}

uint64_t tun_missed(const Tun *tun)
{
    char line[512];
    uint64_t missed = 0;

    rewind(tun->stats);
    while (fgets(line, sizeof(line), tun->stats)) {
        char device[TUN_NAME_SIZE];
        /* name: eight numbers of what was received, then bytes packets errors dropped */
        if (sscanf(line, " %15[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64,
                   device, &missed) == 2 && strcmp(device, tun->device) == 0) {
            return missed;
        }
    }
    errx(EXIT_FAILURE, "no statistics of %s: was it removed?", tun->device);
}
