/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/json.h"

#define STATS_VARIABLE "SPICE_STREAM_STATS"

static gsize stats_start;       /* what a file of the caller's held before */

bool report_prepare_stream_stats(void)
{
    const char *path = getenv(STATS_VARIABLE);
    struct stat st;
    char name[64];
    int fd;

    if (path) {
        stats_start = stat(path, &st) == 0 ? (gsize) st.st_size : 0;
        return true;
    }
    fd = memfd_create("stream-stats", MFD_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return setenv(STATS_VARIABLE, name, true) == 0;
}

/* A list of objects, or null. */
static GVariant *streams(void)
{
    GVariantBuilder found;
    char *text = NULL, **lines = NULL;
    gsize length, count = 0;

    g_variant_builder_init(&found, G_VARIANT_TYPE("av"));
    if (g_file_get_contents(getenv(STATS_VARIABLE), &text, &length, NULL) && length > stats_start) {
        lines = g_strsplit(text + stats_start, "\n", -1);
    }
    for (char **line = lines; line && line[0] && line[1]; line++) {     /* the last one is incomplete or empty */
        GVariant *stream = **line == '{' ? json_gvariant_deserialize_data(*line, -1, NULL, NULL) : NULL;

        if (stream) {
            g_variant_builder_add(&found, "v", stream);
            count++;
        }
    }
    g_strfreev(lines);
    g_free(text);
    if (!count) {
        g_variant_builder_clear(&found);
    }
    return g_variant_new_maybe(G_VARIANT_TYPE("av"), count ? g_variant_builder_end(&found) : NULL);
}

/* Which libspice-server this is, for LD_LIBRARY_PATH decides. */
static GVariant *library(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "spice_server_new");
    Dl_info info;

    return json_text(symbol && dladdr(symbol, &info) ? info.dli_fname : NULL);
}

static GVariant *low_bandwidth(Bandwidth bandwidth)
{
    return g_variant_new_maybe(G_VARIANT_TYPE_BOOLEAN, bandwidth == BANDWIDTH_UNKNOWN
                               ? NULL : g_variant_new_boolean(bandwidth == BANDWIDTH_LOW));
}

bool report_done(const ReportDone *done)
{
    const FeederResult *fed = done->fed;

    return json_print(g_variant_new_parsed(
        "{'event': <'done'>, 'commands': <%t>, 'expected_commands': <%t>, 'seconds': <%d>, 'cpu_user': <%d>,"
        " 'cpu_system': <%d>, 'cpu_feeder_user': <%d>, 'cpu_feeder_system': <%d>, 'low_bandwidth': <%@mb>,"
        " 'library': <%@ms>, 'started_ns': <%x>, 'begun_ns': <%x>, 'fed_ns': <%x>, 'probes': <%@a(uxx)>,"
        " 'bursts': <%@a(txx)>, 'channels': <%@ma{sv}>, 'streams': <%@mav>}",
        fed->commands, done->expected_commands, (done->ended_ns - done->started_ns) / (double) NSEC_PER_SEC,
        done->cpu_user, done->cpu_system, fed->cpu_user, fed->cpu_system, low_bandwidth(done->bandwidth),
        library(), done->started_ns, fed->begun_ns, fed->fed_ns, json_rows("(uxx)", fed->probes),
        json_rows("(txx)", fed->bursts),
        g_variant_new_maybe(G_VARIANT_TYPE_VARDICT, done->channels), streams()));
}
