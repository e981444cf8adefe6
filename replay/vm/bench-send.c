/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a payload costs its sender, by each way that the kernel offers: one way and size a run, a line of JSON.
 *
 *   vm-bench-send sink PORT                            throws away what comes, for ever
 *   vm-bench-send WAY ADDRESS PORT SIZE COUNT
 *
 * The figure is the sender's processor time. In a machine of ./run vm --count a nanosecond is an instruction, of the
 * program and of the kernel in its name. Payloads change their place, as those of a server do; io_uring and kernel TLS
 * are used by system calls, without their libraries, so that nothing is in the figure but the kernel's part. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/errqueue.h>
#include <linux/io_uring.h>
#include <linux/net_tstamp.h>
#include <linux/tls.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define RECORD 16384
#define PLACES 4        /* of a payload */
#define DEPTH 8         /* of the ring */
#define PAYLOAD_MAX (4 << 20)

static int fd;
static uint8_t *memory;
static uint64_t calls, completed, copied, stamped;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "vm-bench-send: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

/* Reads what the kernel tells of earlier sends. */
static void read_errors(int wait)
{
    for (;;) {
        char control[256];
        struct msghdr message = { .msg_control = control, .msg_controllen = sizeof(control) };

        calls++;
        if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            check(errno == EAGAIN, "error queue");
            if (!wait) {
                return;
            }
            struct pollfd error = { fd, 0, 0 };
            check(poll(&error, 1, 5000) == 1, "no completion");
            continue;
        }
        for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
            const struct sock_extended_err *error = (void *) CMSG_DATA(part);

            if (part->cmsg_level != SOL_IP || part->cmsg_type != IP_RECVERR) {
                continue;
            }
            if (error->ee_origin == SO_EE_ORIGIN_ZEROCOPY) {
                const uint32_t count = error->ee_data - error->ee_info + 1;

                completed += count;
                copied += error->ee_code & SO_EE_CODE_ZEROCOPY_COPIED ? count : 0;
            } else if (error->ee_origin == SO_EE_ORIGIN_TIMESTAMPING) {
                stamped++;
            }
        }
        if (wait) {
            return;
        }
    }
}

static void send_flags(const uint8_t *data, size_t size, int flags)
{
    while (size) {
        struct iovec iov = { (void *) data, size };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
        const ssize_t n = sendmsg(fd, &message, flags | MSG_NOSIGNAL);

        calls++;
        if (n < 0 && errno == ENOBUFS) {
            read_errors(1);
            continue;
        }
        check(n > 0, "sendmsg");
        data += n;
        size -= n;
    }
}

static void send_plain(const uint8_t *data, size_t size)
{
    send_flags(data, size, 0);
}

static void begin_zerocopy(void)
{
    check(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &(int) { 1 }, sizeof(int)) == 0, "SO_ZEROCOPY");
}

static void send_zerocopy(const uint8_t *data, size_t size)
{
    send_flags(data, size, MSG_ZEROCOPY);
    read_errors(0);
}

static void end_zerocopy(uint64_t count)
{
    while (completed < count) {
        read_errors(1);
    }
}

static void begin_stamps(void)
{
    const int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY |
                      SOF_TIMESTAMPING_TX_ACK;

    check(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) == 0, "SO_TIMESTAMPING");
}

static void send_stamped(const uint8_t *data, size_t size)
{
    send_flags(data, size, 0);
    read_errors(0);
}

/* Records made by the kernel; nobody has to know the key, for the sink does not decrypt. */
static void begin_ktls(void)
{
    struct tls12_crypto_info_aes_gcm_128 keys = { .info = { TLS_1_3_VERSION, TLS_CIPHER_AES_GCM_128 } };

    check(setsockopt(fd, SOL_TCP, TCP_ULP, "tls", sizeof("tls")) == 0, "TCP_ULP");
    check(setsockopt(fd, SOL_TLS, TLS_TX, &keys, sizeof(keys)) == 0, "TLS_TX");
}

/* Records made here, as many as there are in one call. */
static void send_user_tls(const uint8_t *data, size_t size)
{
    static uint8_t records[PAYLOAD_MAX + PAYLOAD_MAX / RECORD * 64 + 64];
    static EVP_CIPHER_CTX *cipher;
    static const uint8_t key[16], nonce[12];
    uint8_t *out = records;

    if (!cipher) {
        cipher = EVP_CIPHER_CTX_new();
        EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), NULL, key, nonce);
    }
    while (size) {
        const size_t n = size < RECORD ? size : RECORD;
        int length;

        EVP_EncryptInit_ex(cipher, NULL, NULL, NULL, nonce);
        EVP_EncryptUpdate(cipher, NULL, &length, out, 5);
        EVP_EncryptUpdate(cipher, out + 5, &length, data, n);
        EVP_EncryptUpdate(cipher, out + 5 + n, &length, (const uint8_t *) "\x17", 1);
        EVP_EncryptFinal_ex(cipher, out + 6 + n, &length);
        EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, 16, out + 6 + n);
        out += n + 22;
        data += n;
        size -= n;
    }
    send_flags(records, out - records, 0);
}

static struct {
    int fd;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask, waiting;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
} ring;

static void begin_ring(void)
{
    struct io_uring_params params = { 0 };

    ring.fd = syscall(SYS_io_uring_setup, 2 * DEPTH, &params);
    check(ring.fd >= 0, "io_uring_setup");
    const size_t sq = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    const size_t cq = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    uint8_t *base = mmap(NULL, sq > cq ? sq : cq, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQ_RING);
    ring.sqes = mmap(NULL, params.sq_entries * sizeof(*ring.sqes), PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
                     IORING_OFF_SQES);
    check(base != MAP_FAILED && (void *) ring.sqes != MAP_FAILED, "ring");
    ring.sq_tail = (void *) (base + params.sq_off.tail);
    ring.sq_mask = (void *) (base + params.sq_off.ring_mask);
    ring.sq_array = (void *) (base + params.sq_off.array);
    ring.cq_head = (void *) (base + params.cq_off.head);
    ring.cq_tail = (void *) (base + params.cq_off.tail);
    ring.cq_mask = (void *) (base + params.cq_off.ring_mask);
    ring.cqes = (void *) (base + params.cq_off.cqes);
}

/* Submits what is there and waits until all has been sent; of memory that the kernel still reads it takes note. */
static void run_ring(void)
{
    unsigned submitted = ring.waiting;

    while (ring.waiting) {
        check(syscall(SYS_io_uring_enter, ring.fd, submitted, 1, IORING_ENTER_GETEVENTS, NULL, 0) >= 0,
              "io_uring_enter");
        calls++;
        submitted = 0;
        unsigned head = *ring.cq_head;
        while (head != __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE)) {
            const struct io_uring_cqe *event = &ring.cqes[head++ & *ring.cq_mask];

            if (event->flags & IORING_CQE_F_NOTIF) {
                completed++;
                copied += event->res < 0;       /* IORING_NOTIF_USAGE_ZC_COPIED, where it is reported */
            } else {
                errno = -event->res;
                check(event->res > 0 && (uint64_t) event->res == event->user_data, "send by io_uring");
                ring.waiting--;
            }
        }
        __atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
    }
}

static void add_to_ring(int opcode, const uint8_t *data, size_t size, int last)
{
    const unsigned tail = *ring.sq_tail, index = tail & *ring.sq_mask;

    ring.sqes[index] = (struct io_uring_sqe) {
        .opcode = opcode, .fd = fd, .addr = (uintptr_t) data, .len = size, .user_data = size,
        .msg_flags = MSG_NOSIGNAL | MSG_WAITALL, .flags = last ? 0 : IOSQE_IO_LINK,
    };
    ring.sq_array[index] = index;
    __atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
    ring.waiting++;
}

static void send_ring(const uint8_t *data, size_t size)
{
    add_to_ring(IORING_OP_SEND, data, size, 1);
    run_ring();
}

/* Several payloads by one call: what a server with much to say at once would do. */
static void send_ring_batch(const uint8_t *data, size_t size)
{
    add_to_ring(IORING_OP_SEND, data, size, ring.waiting == DEPTH - 1);
    if (ring.waiting == DEPTH) {
        run_ring();
    }
}

static void send_ring_zerocopy(const uint8_t *data, size_t size)
{
    add_to_ring(IORING_OP_SEND_ZC, data, size, 1);
    run_ring();
}

static const struct way {
    const char *name;
    void (*begin)(void);
    void (*send)(const uint8_t *data, size_t size);
    void (*end)(uint64_t count);
} ways[] = {
    { "sendmsg", NULL, send_plain, NULL },
    { "zerocopy", begin_zerocopy, send_zerocopy, end_zerocopy },
    { "timestamps", begin_stamps, send_stamped, NULL },
    { "io_uring", begin_ring, send_ring, NULL },
    { "io_uring-8", begin_ring, send_ring_batch, NULL },
    { "io_uring-zerocopy", begin_ring, send_ring_zerocopy, NULL },
    { "user-tls", NULL, send_user_tls, NULL },
    { "ktls", begin_ktls, send_plain, NULL },
};

static struct sockaddr_in address_of(const char *host, const char *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

    check(inet_pton(AF_INET, host, &address.sin_addr) == 1, host);
    return address;
}

__attribute__((noreturn))
static void sink(const char *port)
{
    const struct sockaddr_in address = address_of("0.0.0.0", port);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    static char dummy[1 << 20];

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int) { 1 }, sizeof(int));
    check(bind(listener, (const void *) &address, sizeof(address)) == 0 && listen(listener, 8) == 0, port);
    puts("ready");
    fflush(stdout);
    for (;;) {
        const int peer = accept(listener, NULL, NULL);

        check(peer >= 0, "accept");
        while (recv(peer, dummy, sizeof(dummy), MSG_TRUNC) > 0) {
        }
        close(peer);
    }
}

static uint64_t processor_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv)
{
    const struct way *way = NULL;

    if (argc == 3 && strcmp(argv[1], "sink") == 0) {
        sink(argv[2]);
    }
    for (size_t i = 0; argc == 6 && i < sizeof(ways) / sizeof(*ways); i++) {
        if (strcmp(argv[1], ways[i].name) == 0) {
            way = &ways[i];
        }
    }
    if (!way || atoi(argv[4]) < 1 || atoi(argv[4]) > PAYLOAD_MAX || atoi(argv[5]) < DEPTH) {
        fprintf(stderr, "usage: vm-bench-send sink PORT | WAY ADDRESS PORT SIZE COUNT\n");
        return 2;
    }
    const struct sockaddr_in address = address_of(argv[2], argv[3]);
    const size_t size = atoi(argv[4]);
    const uint64_t count = atoi(argv[5]) / DEPTH * DEPTH;

    memory = mmap(NULL, PLACES * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    check(memory != MAP_FAILED, "memory");
    memset(memory, 1, PLACES * size);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(fd, (const void *) &address, sizeof(address)) == 0, "connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int) { 1 }, sizeof(int));
    if (way->begin) {
        way->begin();
    }
    for (uint64_t i = 0; i < DEPTH; i++) {      /* what is done once is not counted */
        way->send(memory + i % PLACES * size, size);
    }
    calls = 0;
    const uint64_t before = processor_time();
    for (uint64_t i = 0; i < count; i++) {
        way->send(memory + i % PLACES * size, size);
    }
    const uint64_t spent = processor_time() - before;
    if (way->end) {
        way->end(count);
    }
    printf("{\"way\": \"%s\", \"size\": %zu, \"count\": %" PRIu64 ", \"calls\": %" PRIu64 ", \"spent\": %" PRIu64 ", "
           "\"completed\": %" PRIu64 ", \"copied\": %" PRIu64 ", \"stamped\": %" PRIu64 "}\n",
           way->name, size, count, calls, spent, completed, copied, stamped);
    return 0;
}
