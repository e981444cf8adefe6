/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/json.h"

#define STATS_VARIABLE "SPICE_STREAM_STATS"

static off_t stats_start;       /* what a file of the caller's held before */

static bool flush(void)
{
    return fputc('\n', stdout) != EOF && fflush(stdout) == 0;
}

bool report_listening(void)
{
    printf("{\"event\":\"listening\"}");
    return flush();
}

bool report_begun(void)
{
    printf("{\"event\":\"begun\"}");
    return flush();
}

bool report_pause(unsigned int number, uint64_t command)
{
    printf("{\"event\":\"pause\",\"n\":%u,\"command\":%" G_GUINT64_FORMAT "}", number, command);
    return flush();
}

bool report_prepare_stream_stats(void)
{
    const char *path = getenv(STATS_VARIABLE);
    struct stat st;
    char name[64];
    int fd;

    if (path) {
        stats_start = stat(path, &st) == 0 ? st.st_size : 0;
        return true;
    }
    fd = memfd_create("stream-stats", MFD_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return setenv(STATS_VARIABLE, name, true) == 0;
}

static void print_streams(void)
{
    FILE *file = fopen(getenv(STATS_VARIABLE), "re");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    const char *before = "[";

    if (file && fseeko(file, stats_start, SEEK_SET) == 0) {
        while ((length = getline(&line, &size, file)) > 0) {
            if (line[0] == '{' && line[length - 1] == '\n') {
                line[length - 1] = '\0';
                printf("%s%s", before, line);
                before = ",";
            }
        }
    }
    printf("%s", strcmp(before, "[") == 0 ? "null" : "]");
    free(line);
    if (file) {
        fclose(file);
    }
}

/* Which libspice-server this is, for LD_LIBRARY_PATH decides. */
static void print_library(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "spice_server_new");
    Dl_info info;

    if (symbol && dladdr(symbol, &info) && info.dli_fname) {
        char *quoted = json_quoted(info.dli_fname);

        printf("%s", quoted);
        g_free(quoted);
    } else {
        printf("null");
    }
}

static void print_probes(const FeederResult *fed)
{
    printf("[");
    for (unsigned int i = 0; i < fed->n_probes; i++) {
        printf("%s[%u,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT "]", i ? "," : "",
               fed->probes[i].number, fed->probes[i].time_ns, fed->probes[i].due_ns);
    }
    printf("]");
}

static void print_bursts(const FeederResult *fed)
{
    printf("[");
    for (unsigned int i = 0; i < fed->n_bursts; i++) {
        printf("%s[%" G_GUINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT "]",
               i ? "," : "", fed->bursts[i].command, fed->bursts[i].due_ns,
               fed->bursts[i].resumed_ns);
    }
    printf("]");
}

bool report_done(const ReportDone *done)
{
    const FeederResult *fed = done->fed;

    printf("{\"event\":\"done\",\"commands\":%" G_GUINT64_FORMAT, fed->commands);
    printf(",\"expected_commands\":%" G_GUINT64_FORMAT, done->expected_commands);
    printf(",\"seconds\":%.6f", (done->ended_ns - done->started_ns) / (double) NSEC_PER_SEC);
    printf(",\"cpu_user\":%.6f,\"cpu_system\":%.6f", done->cpu_user, done->cpu_system);
    printf(",\"cpu_feeder_user\":%.6f,\"cpu_feeder_system\":%.6f", fed->cpu_user,
           fed->cpu_system);
    printf(",\"low_bandwidth\":%s", done->bandwidth == BANDWIDTH_UNKNOWN ? "null"
                                    : done->bandwidth == BANDWIDTH_LOW ? "true" : "false");
    printf(",\"library\":");
    print_library();
    printf(",\"started_ns\":%" G_GINT64_FORMAT ",\"begun_ns\":%" G_GINT64_FORMAT
           ",\"fed_ns\":%" G_GINT64_FORMAT, done->started_ns, fed->begun_ns, fed->fed_ns);
    printf(",\"probes\":");
    print_probes(fed);
    printf(",\"bursts\":");
    print_bursts(fed);
    printf(",\"end\":\"%s\"", done->marker ? "marker" : "drained");
    printf(",\"channels\":%s", done->channels ? done->channels : "null");
    printf(",\"streams\":");
    print_streams();
    printf("}");
    return flush();
}
