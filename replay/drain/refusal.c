/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "refusal.h"

#include <openssl/err.h>

#include "diag.h"

static char *server_name(const Options *options)
{
    if (options->unix_path != NULL) {
        return g_strdup(options->unix_path);
    }
    return g_strdup_printf("%s:%d", options->host,
                           options->port != 0 ? options->port : options->tls_port);
}

/* The library's event says no more than "TLS error". Why a certificate was rejected is in its log,
 * after the name of the function, all else in OpenSSL's queue of errors, which nobody has emptied
 * yet. */
static const char *tls_reason(void)
{
    static const char verifier[] = "openssl_verify: ";
    const char *said = diag_library_said(verifier);
    const char *queued = ERR_reason_error_string(ERR_peek_error());

    if (diag_library_said("loading ca certs from") != NULL) {
        return "the file of --ca holds no certificate";
    }
    if (said != NULL) {
        return strstr(said, verifier) + strlen(verifier);
    }
    return queued != NULL ? queued : "the server hung up";
}

static char *reason_text(const Channel *channel, SpiceChannelEvent event)
{
    const GError *error = spice_channel_get_error(channel->spice);

    switch (event) {
    case SPICE_CHANNEL_ERROR_TLS:
        return g_strdup_printf("TLS failed: %s", tls_reason());
    case SPICE_CHANNEL_ERROR_AUTH:
        return g_strdup("the server wants a password");
    case SPICE_CHANNEL_ERROR_LINK:
        return g_strdup("the server is no SPICE server, or refused the channel");
    default:
        return g_strdup(error != NULL ? error->message : "the connection broke");
    }
}

char *refusal_text(const Options *options, const Channel *channel, SpiceChannelEvent event)
{
    char *server = server_name(options);
    char *reason = reason_text(channel, event);
    char *text = g_strdup_printf("%s: %s channel: %s", server, channel->name, reason);

    g_free(server);
    g_free(reason);
    return text;
}
