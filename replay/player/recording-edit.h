/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_EDIT_H_
#define RECORDING_EDIT_H_

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A new recording from an old one. */

#define EDIT_NO_LIMIT UINT64_MAX

typedef struct TrimRange {
    bool by_command;            /* else by nanoseconds since the first event */
    uint64_t from;              /* the first that is wanted */
    uint64_t to;                /* the first that is not, or EDIT_NO_LIMIT */
} TrimRange;

/*
 * Keeps the range, and of what comes before it all that can leave something
 * behind on a surface, in an image cache or as a cursor: every command, and the
 * messages that create or destroy surfaces. These are played at once, and then
 * the range at its own pace. So the picture at every point of the range is the
 * original's, at the price of the bytes before it. Nothing after the range is
 * kept. Memory holds one event at a time and a timeline. False with *error set,
 * one line, and *is_damaged telling whether the input is at fault.
 */
bool recording_trim(const char *in, const TrimRange *range, const char *out, char **error,
                    bool *is_damaged);

#endif /* RECORDING_EDIT_H_ */
