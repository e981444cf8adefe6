/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <arpa/inet.h>
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"
#include "options.h"
#include "units.h"

#define DELAY_MAX (10 * NS_PER_S)
#define CHANGE_AT_MAX (24 * 3600 * NS_PER_S)
#define QUEUE_TIME_MAX (60 * NS_PER_S)
#define QUEUE_DEFAULT_MIN (64 * 1024)
#define MTU_MIN 576
#define FRAME_MAX (LINK_MTU + TUN_ETHERNET_HEADER)

static const char usage_text[] =
    "Usage: spice-link --ns-a NS --addr-a IP/N --ns-b NS --addr-b IP/N [OPTION]...\n"
    "Joins two network namespaces by a link with a rate, a delay, a queue and losses.\n"
    "\n"
    "  --ns-a NS, --ns-b NS      namespaces of the ends: a path, or a name in /run/netns\n"
    "  --addr-a IP/N, --addr-b   IPv4 address of each end\n"
    "  --dev-a NAME, --dev-b     name of each end's TUN device (link0, or the next free number)\n"
    "  --rate 20M                bits a second each way, IP bytes + 14 counted (no limit)\n"
    "  --rate-up 4M              from b to a, where that is another\n"
    "  --mtu 1280                IP bytes of a packet, at most (1500)\n"
    "  --delay 40ms              of the round trip, half of it each way (0)\n"
    "  --jitter 5ms              the round trip takes delay - jitter to delay + jitter (0)\n"
    "  --queue 64K | 50ms        of each direction, drop-tail (rate x delay, 64K at least)\n"
    "  --loss 1%                 of the packets, each way (0)\n"
    "  --burst 4                 losses come in runs of this mean length (independent)\n"
    "  --then 10s:1M             after so long the rate is this, 'out': nothing gets through; may\n"
    "                            be repeated, in order; counts from SIGUSR1 on\n"
    "  --seed N                  of losses and jitter (1)\n"
    "\n"
    "Prints {\"event\":\"ready\",...} when the link is up and its counters at SIGTERM or SIGINT.\n";

/* Defaults that depend on other options. */
typedef struct PendingOptions {
    const char *queue;
    const char *loss_burst;
    uint64_t rate_up; /* 0: as in the other direction */
    uint64_t round_trip;
    uint64_t jitter;
} PendingOptions;

enum {
    OPTION_HELP,
    OPTION_NS_A,
    OPTION_NS_B,
    OPTION_ADDR_A,
    OPTION_ADDR_B,
    OPTION_DEV_A,
    OPTION_DEV_B,
    OPTION_RATE,
    OPTION_RATE_UP,
    OPTION_MTU,
    OPTION_DELAY,
    OPTION_JITTER,
    OPTION_QUEUE,
    OPTION_LOSS,
    OPTION_BURST,
    OPTION_THEN,
    OPTION_SEED,
};

static const struct option long_options[] = {
    { "help", no_argument, NULL, OPTION_HELP },
    { "ns-a", required_argument, NULL, OPTION_NS_A },
    { "ns-b", required_argument, NULL, OPTION_NS_B },
    { "addr-a", required_argument, NULL, OPTION_ADDR_A },
    { "addr-b", required_argument, NULL, OPTION_ADDR_B },
    { "dev-a", required_argument, NULL, OPTION_DEV_A },
    { "dev-b", required_argument, NULL, OPTION_DEV_B },
    { "rate", required_argument, NULL, OPTION_RATE },
    { "rate-up", required_argument, NULL, OPTION_RATE_UP },
    { "mtu", required_argument, NULL, OPTION_MTU },
    { "delay", required_argument, NULL, OPTION_DELAY },
    { "jitter", required_argument, NULL, OPTION_JITTER },
    { "queue", required_argument, NULL, OPTION_QUEUE },
    { "loss", required_argument, NULL, OPTION_LOSS },
    { "burst", required_argument, NULL, OPTION_BURST },
    { "then", required_argument, NULL, OPTION_THEN },
    { "seed", required_argument, NULL, OPTION_SEED },
    { NULL, 0, NULL, 0 },
};

/* Exits with an error unless @valid: @value is one that the option accepts. */
static void require(bool valid, const char *option, const char *value, const char *expected)
{
    if (!valid) {
        errx(EXIT_FAILURE, "--%s %s: %s expected", option, value, expected);
    }
}

static bool parse_address(const char *text, TunConfig *end)
{
    char address[INET_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    uint64_t prefix = 0;

    if (!slash || (size_t) (slash - text) >= sizeof(address) ||
        !parse_integer(slash + 1, 31, &prefix) || prefix == 0) {
        return false;
    }
    memcpy(address, text, (size_t) (slash - text));
    address[slash - text] = '\0';
    end->prefix = (unsigned) prefix;
    return inet_pton(AF_INET, address, &end->address) == 1;
}

static bool parse_device(const char *text, TunConfig *end)
{
    end->device = text;
    return text[0] != '\0' && strlen(text) < TUN_NAME_SIZE && !strpbrk(text, "/% \t\n:\"\\");
}

/* 10s:1M, 10s:out */
static bool parse_change(const char *text, ShaperConfig *shaper)
{
    const char *colon = strchr(text, ':');
    uint64_t before = shaper->n_changes ? shaper->changes[shaper->n_changes - 1].at : 0;
    ShaperChange *change = &shaper->changes[shaper->n_changes];
    char at[32];

    if (!colon || (size_t) (colon - text) >= sizeof(at) || shaper->n_changes == SHAPER_CHANGES_MAX) {
        return false;
    }
    memcpy(at, text, (size_t) (colon - text));
    at[colon - text] = '\0';
    if (!parse_duration(at, CHANGE_AT_MAX, &change->at) || change->at <= before) {
        return false;
    }
    shaper->n_changes++;
    if (strcmp(colon + 1, "out") == 0) {
        return true;
    }
    return parse_rate(colon + 1, SHAPER_RATE_MAX, &change->rate) && change->rate > 0;
}

static void parse_option(LinkOptions *options, PendingOptions *pending, int option,
                         const char *name, const char *value)
{
    static const char duration[] = "a time such as 40ms or 500us, at most 10s,";
    static const char rate[] = "bits a second such as 20M or 512k, at most 10G,";
    ShaperConfig *shaper = &options->shaper[0]; /* settle_up() derives the other direction from it */
    uint64_t mtu = 0;

    switch (option) {
    case OPTION_HELP:
        fputs(usage_text, stdout);
        exit(EXIT_SUCCESS);
    case OPTION_NS_A:
    case OPTION_NS_B:
        options->end[option - OPTION_NS_A].name_space = value;
        break;
    case OPTION_ADDR_A:
    case OPTION_ADDR_B:
        require(parse_address(value, &options->end[option - OPTION_ADDR_A]), name, value,
                "an address such as 10.77.0.1/24");
        break;
    case OPTION_DEV_A:
    case OPTION_DEV_B:
        require(parse_device(value, &options->end[option - OPTION_DEV_A]), name, value,
                "a device name of up to 15 letters");
        break;
    case OPTION_RATE:
        require(parse_rate(value, SHAPER_RATE_MAX, &shaper->rate) && shaper->rate > 0, name, value,
                rate);
        break;
    case OPTION_RATE_UP:
        require(parse_rate(value, SHAPER_RATE_MAX, &pending->rate_up) && pending->rate_up > 0, name,
                value, rate);
        break;
    case OPTION_MTU:
        require(parse_integer(value, LINK_MTU, &mtu) && mtu >= MTU_MIN, name, value,
                "bytes from 576 to 1500");
        options->end[0].mtu = options->end[1].mtu = (unsigned) mtu;
        break;
    case OPTION_DELAY:
        require(parse_duration(value, DELAY_MAX, &pending->round_trip), name, value, duration);
        break;
    case OPTION_JITTER:
        require(parse_duration(value, DELAY_MAX, &pending->jitter), name, value, duration);
        break;
    case OPTION_QUEUE:
        pending->queue = value;
        break;
    case OPTION_LOSS:
        require(parse_share(value, &shaper->loss), name, value,
                "a share such as 1% or 0.01");
        break;
    case OPTION_BURST:
        pending->loss_burst = value;
        break;
    case OPTION_THEN:
        require(parse_change(value, shaper), name, value,
                "a time later than the one before, and a rate or 'out', such as 10s:1M,");
        break;
    case OPTION_SEED:
        require(parse_integer(value, UINT64_MAX, &options->seed), name, value, "an integer");
        break;
    default:
        /* getopt has printed the error */
        exit(EXIT_FAILURE);
    }
}

static void settle_delay(ShaperConfig *shaper, const PendingOptions *pending)
{
    if (pending->jitter > pending->round_trip) {
        errx(EXIT_FAILURE, "--jitter must not be larger than --delay");
    }
    shaper->delay = pending->round_trip / 2;
    shaper->jitter = pending->jitter / 2;
}

static void settle_queue(ShaperConfig *shaper, const PendingOptions *pending)
{
    const double bytes_per_ns = (double) shaper->rate / 8 / (double) NS_PER_S;
    const char *text = pending->queue;
    uint64_t ns = 0;

    if (!text) {
        double product = bytes_per_ns * (double) pending->round_trip;
        product = product < SHAPER_QUEUE_MAX ? product : SHAPER_QUEUE_MAX;
        shaper->queue = product > QUEUE_DEFAULT_MIN ? (uint64_t) product : QUEUE_DEFAULT_MIN;
        return;
    }
    if (shaper->rate == 0) {
        errx(EXIT_FAILURE, "--queue needs --rate: without a limit nothing waits");
    }
    if (parse_duration(text, QUEUE_TIME_MAX, &ns)) {
        shaper->queue = (uint64_t) (bytes_per_ns * (double) ns);
    } else {
        require(parse_size(text, SHAPER_QUEUE_MAX, &shaper->queue), "queue", text,
                "a size such as 64K or a time such as 50ms");
    }
    if (shaper->queue < FRAME_MAX || shaper->queue > SHAPER_QUEUE_MAX) {
        errx(EXIT_FAILURE, "--queue %s is %llu bytes: from %d (one packet) to %llu are possible",
             text, (unsigned long long) shaper->queue, FRAME_MAX,
             (unsigned long long) SHAPER_QUEUE_MAX);
    }
}

static void settle_loss(ShaperConfig *shaper, const PendingOptions *pending)
{
    uint64_t burst = 0;

    if (!pending->loss_burst) {
        return;
    }
    require(parse_integer(pending->loss_burst, 1000000, &burst) && burst > 0, "burst",
            pending->loss_burst, "a number of packets");
    /* between two runs there is at least one packet that is not lost */
    if (shaper->loss > (double) burst / (double) (burst + 1)) {
        errx(EXIT_FAILURE, "--burst %s is too short for that --loss", pending->loss_burst);
    }
    shaper->loss_burst = (double) burst;
}

/* The direction from b to a. That from a to b is complete except for its queue. */
static void settle_up(LinkOptions *options, const PendingOptions *pending)
{
    options->shaper[1] = options->shaper[0];
    if (pending->rate_up == 0) {
        return;
    }
    if (options->shaper[0].rate == 0) {
        errx(EXIT_FAILURE, "--rate-up needs --rate");
    }
    if (options->shaper[0].n_changes) {
        errx(EXIT_FAILURE, "--rate-up and --then do not go together");
    }
    options->shaper[1].rate = pending->rate_up;
}

void options_parse(LinkOptions *options, int argc, char **argv)
{
    PendingOptions pending = { .queue = NULL };
    int option;
    int index = 0;

    *options = (LinkOptions) { .seed = 1 };
    while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        parse_option(options, &pending, option, long_options[index].name, optarg);
    }
    if (optind < argc) {
        errx(EXIT_FAILURE, "unexpected argument %s", argv[optind]);
    }
    for (int i = 0; i < 2; i++) {
        if (!options->end[i].name_space || options->end[i].prefix == 0) {
            errx(EXIT_FAILURE, "--ns-%c and --addr-%c are needed (--help)", 'a' + i, 'a' + i);
        }
    }
    if (options->shaper[0].n_changes && options->shaper[0].rate == 0) {
        errx(EXIT_FAILURE, "--then needs --rate: without a limit nothing waits");
    }
    settle_delay(&options->shaper[0], &pending);
    settle_loss(&options->shaper[0], &pending);
    settle_up(options, &pending);
    for (int i = 0; i < 2; i++) {
        settle_queue(&options->shaper[i], &pending);
    }
}
