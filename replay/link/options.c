/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"
#include "options.h"

#define NS_PER_US 1000
#define US_PER_S UINT64_C(1000000)
#define MILLION 1000000
#define FRAME_MAX (LINK_MTU + TUN_ETHERNET_HEADER)

static const char usage_text[] =
    "Usage: spice-link --ns-a NS --addr-a IP/N --ns-b NS --addr-b IP/N [OPTION]...\n"
    "Joins two network namespaces by a link with a rate, a delay, a queue and losses.\n"
    "All quantities are plain numbers. Example, 20 Mbit/s and 40 ms:\n"
    "    --rate 20000000 --queue 100000 --delay 40000\n"
    "\n"
    "  --ns-a NS, --ns-b NS      namespaces of the ends: a path, or a name in /run/netns\n"
    "  --addr-a IP/N, --addr-b   IPv4 address of each end\n"
    "  --dev-a NAME, --dev-b     name of each end's TUN device (link0, or the next free number)\n"
    "  --rate BITS               per second each way, IP bytes + 14 counted (no limit)\n"
    "  --rate-up BITS            from b to a, where that is another\n"
    "  --queue BYTES             of each direction, drop-tail; with --rate\n"
    "  --queue-up BYTES          from b to a; with --rate-up\n"
    "  --mtu BYTES               of an IP packet, at most (1500)\n"
    "  --delay US                microseconds of the round trip, half of it each way (0)\n"
    "  --jitter US               the round trip takes delay - jitter to delay + jitter (0)\n"
    "  --loss N                  lost packets per million, each way (0)\n"
    "  --burst N                 losses come in runs of this mean length (independent)\n"
    "  --then US:BITS            after so many microseconds the rate is this, 0: nothing gets\n"
    "                            through; may be repeated, in order; counts from SIGUSR1 on\n"
    "  --seed N                  of losses and jitter (1)\n"
    "\n"
    "Prints {\"event\":\"ready\",...} when the link is up and its counters at SIGTERM or SIGINT.\n";

enum {
    NS_A, NS_B, ADDR_A, ADDR_B, DEV_A, DEV_B, THEN,
    RATE, RATE_UP, QUEUE, QUEUE_UP, MTU, DELAY, JITTER, LOSS, BURST, SEED,
    HELP, N_OPTIONS
};

static const struct {
    const char *name;
    const char *expected; /* what a number counts; NULL: not a number */
    uint64_t min;
    uint64_t max;
} known[N_OPTIONS] = {
    [NS_A] = { .name = "ns-a" },
    [NS_B] = { .name = "ns-b" },
    [ADDR_A] = { .name = "addr-a" },
    [ADDR_B] = { .name = "addr-b" },
    [DEV_A] = { .name = "dev-a" },
    [DEV_B] = { .name = "dev-b" },
    [THEN] = { .name = "then" },
    [RATE] = { "rate", "bits per second", 1, SHAPER_RATE_MAX },
    [RATE_UP] = { "rate-up", "bits per second", 1, SHAPER_RATE_MAX },
    [QUEUE] = { "queue", "bytes", FRAME_MAX, SHAPER_QUEUE_MAX },
    [QUEUE_UP] = { "queue-up", "bytes", FRAME_MAX, SHAPER_QUEUE_MAX },
    [MTU] = { "mtu", "bytes", 576, LINK_MTU },
    [DELAY] = { "delay", "microseconds", 0, 10 * US_PER_S },
    [JITTER] = { "jitter", "microseconds", 0, 10 * US_PER_S },
    [LOSS] = { "loss", "packets per million", 0, MILLION },
    [BURST] = { "burst", "packets", 1, MILLION },
    [SEED] = { "seed", "a number", 0, UINT64_MAX },
    [HELP] = { .name = "help" },
};

/* Whether @text is a number of digits up to @end. */
static bool parse_number(const char *text, char end, uint64_t *number)
{
    const size_t length = strspn(text, "0123456789");

    errno = 0;
    *number = strtoull(text, NULL, 10);
    return length > 0 && text[length] == end && errno == 0;
}

static bool parse_address(const char *text, TunConfig *end)
{
    char address[INET_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    uint64_t prefix;

    if (!slash || (size_t) (slash - text) >= sizeof(address) ||
        !parse_number(slash + 1, '\0', &prefix) || prefix == 0 || prefix > 31) {
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

static bool parse_change(const char *text, ShaperConfig *shaper)
{
    const uint64_t before = shaper->n_changes ? shaper->changes[shaper->n_changes - 1].at : 0;
    ShaperChange *change = &shaper->changes[shaper->n_changes];
    uint64_t us;

    if (shaper->n_changes == SHAPER_CHANGES_MAX || !parse_number(text, ':', &us) ||
        us > 24 * 3600 * US_PER_S || us * NS_PER_US <= before ||
        !parse_number(strchr(text, ':') + 1, '\0', &change->rate)) {
        return false;
    }
    change->at = us * NS_PER_US;
    shaper->n_changes++;
    return change->rate <= SHAPER_RATE_MAX;
}

/* An option that is not a number. */
static void parse_text(LinkOptions *options, int option, const char *text)
{
    const char *expected = NULL;

    switch (option) {
    case NS_A:
    case NS_B:
        options->end[option - NS_A].name_space = text;
        break;
    case ADDR_A:
    case ADDR_B:
        if (!parse_address(text, &options->end[option - ADDR_A])) {
            expected = "an address such as 10.77.0.1/24";
        }
        break;
    case DEV_A:
    case DEV_B:
        if (!parse_device(text, &options->end[option - DEV_A])) {
            expected = "a device name of up to 15 letters";
        }
        break;
    case THEN:
        if (!parse_change(text, &options->shaper[0])) {
            expected = "microseconds, more than of the change before, and bits per second or 0 (nothing gets "
                       "through), such as 10000000:1000000,";
        }
        break;
    case HELP:
        fputs(usage_text, stdout);
        exit(EXIT_SUCCESS);
    default:
        /* getopt has printed the error */
        exit(EXIT_FAILURE);
    }
    if (expected) {
        errx(EXIT_FAILURE, "--%s %s: %s expected", known[option].name, text, expected);
    }
}

static void check(const LinkOptions *options, const uint64_t *number)
{
    for (int i = 0; i < 2; i++) {
        if (!options->end[i].name_space || options->end[i].prefix == 0) {
            errx(EXIT_FAILURE, "--ns-%c and --addr-%c are needed (--help)", 'a' + i, 'a' + i);
        }
    }
    if (!number[RATE] && (number[QUEUE] || number[RATE_UP] || options->shaper[0].n_changes)) {
        errx(EXIT_FAILURE, "--%s needs --rate: without a limit nothing waits",
             number[QUEUE] ? "queue" : number[RATE_UP] ? "rate-up" : "then");
    }
    if (number[RATE] && !number[QUEUE]) {
        errx(EXIT_FAILURE, "--rate needs --queue");
    }
    if (!number[RATE_UP] != !number[QUEUE_UP]) {
        errx(EXIT_FAILURE, "--rate-up and --queue-up need each other");
    }
    if (number[RATE_UP] && options->shaper[0].n_changes) {
        errx(EXIT_FAILURE, "--rate-up and --then do not go together");
    }
    if (number[JITTER] > number[DELAY]) {
        errx(EXIT_FAILURE, "--jitter must not be larger than --delay");
    }
    /* between two runs there is at least one packet that is not lost */
    if (number[BURST] && number[LOSS] * (number[BURST] + 1) > number[BURST] * MILLION) {
        errx(EXIT_FAILURE, "--burst %u is too short for that --loss", (unsigned) number[BURST]);
    }
}

void options_parse(LinkOptions *options, int argc, char **argv)
{
    struct option long_options[N_OPTIONS + 1] = { 0 };
    uint64_t number[N_OPTIONS] = { [MTU] = LINK_MTU, [SEED] = 1 };
    ShaperConfig *down = &options->shaper[0];
    int i;

    for (i = 0; i < N_OPTIONS; i++) {
        long_options[i] = (struct option) { known[i].name, i == HELP ? no_argument : required_argument,
                                            NULL, i };
    }
    *options = (LinkOptions) { 0 };
    while ((i = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (i >= N_OPTIONS || !known[i].expected) {
            parse_text(options, i, optarg);
        } else if (!parse_number(optarg, '\0', &number[i]) || number[i] < known[i].min ||
                   number[i] > known[i].max) {
            errx(EXIT_FAILURE, "--%s %s: %s from %llu to %llu expected", known[i].name, optarg,
                 known[i].expected, (unsigned long long) known[i].min,
                 (unsigned long long) known[i].max);
        }
    }
    if (optind < argc) {
        errx(EXIT_FAILURE, "unexpected argument %s", argv[optind]);
    }
    check(options, number);
    options->seed = number[SEED];
    options->end[0].mtu = options->end[1].mtu = (unsigned) number[MTU];
    down->rate = number[RATE];
    down->queue = number[QUEUE];
    down->delay = number[DELAY] * NS_PER_US / 2;
    down->jitter = number[JITTER] * NS_PER_US / 2;
    down->loss = (double) number[LOSS] / MILLION;
    down->loss_burst = (double) number[BURST];
    options->shaper[1] = *down;
    if (number[RATE_UP]) {
        options->shaper[1].rate = number[RATE_UP];
        options->shaper[1].queue = number[QUEUE_UP];
    }
}
