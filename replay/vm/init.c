/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first process of the machine: loads the modules that the initramfs has, puts something writable over
 * the host's files, which are read-only, runs one command there and says how it ended.
 *
 * Linked statically: there is no library before the host's files are mounted. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* in the order in which the devices are made */
enum { PORT_OUT, PORT_ERR, PORT_STATUS };

static int status_port = -1;

__attribute__((noreturn))
static void end(void)
{
    reboot(RB_AUTOBOOT);        /* the host has told QEMU to end then */
    _exit(1);
}

__attribute__((noreturn, format(printf, 1, 2)))
static void fail(const char *format, ...)
{
    const int number = errno;
    va_list arguments;

    va_start(arguments, format);
    dprintf(status_port < 0 ? 1 : status_port, "failed ");
    vdprintf(status_port < 0 ? 1 : status_port, format, arguments);
    dprintf(status_port < 0 ? 1 : status_port, ": %s\n", strerror(number));
    va_end(arguments);
    end();
}

static void load_modules(void)
{
    struct dirent **entries;
    const int count = scandir("/modules", &entries, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        char path[300];

        if (entries[i]->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof(path), "/modules/%s", entries[i]->d_name);
        const int fd = open(path, O_RDONLY);
        /* ENODEV: for a processor or a device that is not there */
        if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST && errno != ENODEV)) {
            fail("%s", path);
        }
        close(fd);
    }
}

static void mount_at(const char *source, const char *target, const char *type, unsigned long flags, const char *options)
{
    mkdir(target, 0755);
    if (mount(source, target, type, flags, options)) {
        fail("mount %s", target);
    }
}

static int open_port(int number)
{
    char path[32];
    int fd = -1;

    /* the device has a number among those of virtio, and names its ports a moment after the driver is there */
    for (int tries = 0; tries < 8 * 1000 && fd < 0; tries++) {
        snprintf(path, sizeof(path), "/dev/vport%dp%d", tries % 8, number + 1);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 && tries % 8 == 7) {
            usleep(5000);
        }
    }
    if (fd < 0) {
        fail("port %d", number + 1);
    }
    return fd;
}

static void make_root(void)
{
    mount_at("host", "/host", "virtiofs", MS_RDONLY, NULL);
    mount_at("writable", "/writable", "tmpfs", 0, "mode=755");
    mkdir("/writable/upper", 0755);
    mkdir("/writable/work", 0755);
    mount_at("root", "/root", "overlay", 0, "lowerdir=/host,upperdir=/writable/upper,workdir=/writable/work");
    if (chdir("/root") || mount("/dev", "dev", NULL, MS_MOVE, NULL) || mount(".", "/", NULL, MS_MOVE, NULL) ||
        chroot(".")) {
        fail("the host's files");
    }
    mount_at("proc", "/proc", "proc", 0, NULL);
    mount_at("sysfs", "/sys", "sysfs", 0, NULL);
    mount_at("devpts", "/dev/pts", "devpts", 0, NULL);
    mount_at("shm", "/dev/shm", "tmpfs", 0, NULL);
    mount_at("run", "/run", "tmpfs", 0, NULL);
    symlink("/proc/self/fd", "/dev/fd");
    symlink("/proc/self/fd/0", "/dev/stdin");
    symlink("/proc/self/fd/1", "/dev/stdout");
    symlink("/proc/self/fd/2", "/dev/stderr");
}

static void loopback_up(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);

    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request)) {
        fail("loopback");
    }
    close(fd);
}

/* The strings of a file, each ended by a 0, with a null pointer at the end. */
static char **read_strings(const char *path)
{
    static char text[1 << 20];
    const int fd = open(path, O_RDONLY);
    ssize_t size = 0, n;
    int count = 0;

    if (fd < 0) {
        fail("%s", path);
    }
    while ((n = read(fd, text + size, sizeof(text) - size)) > 0) {
        size += n;
    }
    close(fd);
    char *copy = memcpy(malloc(size + 1), text, size);
    char **strings = calloc(size + 1, sizeof(*strings));
    for (ssize_t i = 0; i < size; i += strlen(copy + i) + 1) {
        strings[count++] = copy + i;
    }
    return strings;
}

/* Returns whether there was something. */
static int pass_on(int from, int to)
{
    static char data[1 << 16];
    const ssize_t size = read(from, data, sizeof(data));

    for (ssize_t done = 0; done < size;) {
        const ssize_t n = write(to, data + done, size - done);
        if (n <= 0) {
            break;
        }
        done += n;
    }
    return size > 0;
}

/* Runs the command with its output going to the ports, and whatever it leaves behind to the wall.
 * Returns what wait() says of it. */
static int run(char **command, char **environment, const char *folder, const int *ports)
{
    int out[2][2], ended = 0, status = 0;

    for (int i = 0; i < 2; i++) {
        if (pipe2(out[i], O_CLOEXEC | O_NONBLOCK)) {
            fail("pipe");
        }
    }
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        for (int i = 0; i < 2; i++) {
            fcntl(out[i][1], F_SETFL, 0);
            dup2(out[i][1], i + 1);
        }
        dup2(open("/dev/null", O_RDONLY), 0);
        if (chdir(folder)) {
            dprintf(2, "%s: %s\n", folder, strerror(errno));
            _exit(127);
        }
        environ = environment;
        execvp(command[0], command);
        dprintf(2, "%s: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    for (;;) {
        struct pollfd waits[2] = { { out[0][0], POLLIN, 0 }, { out[1][0], POLLIN, 0 } };
        int more = 0, state;
        pid_t who;

        poll(waits, 2, ended ? 0 : 20);
        for (int i = 0; i < 2; i++) {
            more |= pass_on(out[i][0], ports[i]);
        }
        if (ended && !more) {
            return status;
        }
        while ((who = waitpid(-1, &state, WNOHANG)) > 0) {
            if (who == child) {
                ended = 1;
                status = state;
            }
        }
    }
}

int main(void)
{
    int ports[2];

    mount_at("dev", "/dev", "devtmpfs", 0, NULL);
    load_modules();
    status_port = open_port(PORT_STATUS);
    ports[0] = open_port(PORT_OUT);
    ports[1] = open_port(PORT_ERR);

    char **command = read_strings("/command");
    char **environment = read_strings("/environment");
    char **folder = read_strings("/folder");
    make_root();
    loopback_up();
    sethostname("vm", 2);
    signal(SIGPIPE, SIG_IGN);
    const int status = run(command, environment, folder[0], ports);
    dprintf(status_port, "status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    end();
}
