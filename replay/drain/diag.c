/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "diag.h"

#include <stdio.h>

/* A broken session can cause a warning per message; the first warnings have the reason. */
#define WARNINGS_KEPT 32

static bool diag_verbose = false;
static char *warnings[WARNINGS_KEPT];
static unsigned num_warnings = 0;
static GMutex warnings_lock; /* GStreamer's threads log as well */

static const char *find_message(const GLogField *fields, gsize num_fields)
{
    for (gsize i = 0; i < num_fields; i++) {
        if (g_strcmp0(fields[i].key, "MESSAGE") == 0) {
            return fields[i].value;
        }
    }
    return NULL;
}

static GLogWriterOutput write_log(GLogLevelFlags level, const GLogField *fields,
                                  gsize num_fields, gpointer opaque)
{
    const char *message = find_message(fields, num_fields);

    if (message != NULL && (level & (G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL))) {
        g_mutex_lock(&warnings_lock);
        if (num_warnings < WARNINGS_KEPT) {
            warnings[num_warnings++] = g_strdup(message);
        }
        g_mutex_unlock(&warnings_lock);
    }
    if (diag_verbose || (level & G_LOG_LEVEL_ERROR)) {
        return g_log_writer_default(level, fields, num_fields, opaque);
    }
    return G_LOG_WRITER_HANDLED;
}

void diag_init(bool verbose)
{
    diag_verbose = verbose;
    g_log_writer_default_set_use_stderr(TRUE);
    g_log_set_writer_func(write_log, NULL, NULL);
}

void diag_error(const char *format, ...)
{
    va_list args;
    char *message;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    g_strdelimit(message, "\r\n", ' ');
    fprintf(stderr, "spice-drain: %s\n", message);
    g_free(message);
}

const char *diag_library_said(const char *text)
{
    const char *found = NULL;

    g_mutex_lock(&warnings_lock);
    for (unsigned i = 0; i < num_warnings && found == NULL; i++) {
        if (strstr(warnings[i], text) != NULL) {
            found = warnings[i];
        }
    }
    g_mutex_unlock(&warnings_lock);
    return found;
}
