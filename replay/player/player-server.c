/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "player-server.h"

#include <errno.h>
#include <glib.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool check_readable(const char *path, char **error)
{
    if (access(path, R_OK) != 0) {
        *error = g_strdup_printf("%s: %s", path, g_strerror(errno));
        return false;
    }
    return true;
}

/* Why one cannot listen there, NULL if one can. */
static const char *try_to_listen(const struct addrinfo *info)
{
    int one = 1;
    int fd = socket(info->ai_family, info->ai_socktype, info->ai_protocol);
    const char *reason = NULL;

    if (fd < 0) {
        return g_strerror(errno);
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, 1) != 0) {
        reason = g_strerror(errno);
    }
    close(fd);
    return reason;
}

/* The library only logs why it cannot listen; ask the system once more. */
static char *explain_port(const char *address, int port)
{
    struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
    struct addrinfo *info;
    char service[16];
    const char *reason;
    char *line = NULL;
    int ret;

    if (port == 0) {
        return NULL;
    }
    g_snprintf(service, sizeof(service), "%d", port);
    ret = getaddrinfo(address, service, &hints, &info);
    if (ret != 0) {
        return g_strdup_printf("cannot listen on %s port %d: %s", address, port,
                               gai_strerror(ret));
    }
    reason = try_to_listen(info);
    if (reason) {
        line = g_strdup_printf("cannot listen on %s port %d: %s", address, port, reason);
    }
    freeaddrinfo(info);
    return line;
}

static char *explain(const PlayerOptions *options)
{
    char *line = explain_port(options->address, options->port);

    if (!line) {
        line = explain_port(options->address, options->tls_port);
    }
    if (!line && options->unix_path) {
        line = g_strdup_printf("cannot listen on %s", options->unix_path);
    }
    if (!line && options->tls_port) {
        line = g_strdup_printf("the library cannot use %s, %s and %s for TLS", options->tls_cert,
                               options->tls_key, options->tls_ca);
    }
    return line ? line : g_strdup("the library does not start");
}

static bool check_unix_path(const char *path, char **error)
{
    if (strlen(path) >= sizeof(((struct sockaddr_un *) NULL)->sun_path)) {
        *error = g_strdup_printf("%s: too long for a socket's name", path);
        return false;
    }
    if (access(path, F_OK) == 0) {
        /* the library would silently remove it */
        *error = g_strdup_printf("%s: exists already", path);
        return false;
    }
    return true;
}

static bool listen_as_told(SpiceServer *server, const PlayerOptions *options, char **error)
{
    if (options->unix_path) {
        spice_server_set_addr(server, options->unix_path, SPICE_ADDR_FLAG_UNIX_ONLY);
        return check_unix_path(options->unix_path, error);
    }
    spice_server_set_addr(server, options->address, 0);
    if (options->port) {
        spice_server_set_port(server, options->port);
    }
    if (options->tls_port) {
        if (!check_readable(options->tls_ca, error) || !check_readable(options->tls_cert, error) ||
            !check_readable(options->tls_key, error)) {
            return false;
        }
        spice_server_set_tls(server, options->tls_port, options->tls_ca, options->tls_cert,
                             options->tls_key, NULL, NULL, NULL);
    }
    return true;
}

SpiceServer *player_server_new(const PlayerOptions *options, SpiceCoreInterface *core,
                               char **error)
{
    SpiceServer *server = spice_server_new();

    spice_server_set_name(server, "spice-player");
    spice_server_set_noauth(server);
    spice_server_set_image_compression(server, options->compression);
    spice_server_set_jpeg_compression(server, options->jpeg);
    spice_server_set_streaming_video(server, options->streaming);
    if (!listen_as_told(server, options, error)) {
        return NULL;
    }
    if (spice_server_init(server, core) != 0) {
        *error = explain(options);
        return NULL;
    }
    return server;
}
