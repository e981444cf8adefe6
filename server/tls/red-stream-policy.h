/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How streams send: the mode that SPICE_STREAM names. */
#ifndef RED_STREAM_POLICY_H_
#define RED_STREAM_POLICY_H_

#include <string>

#include "push-visibility.h"

/* The mode if SPICE_STREAM names none, unless the build defines another. */
#ifndef RED_STREAM_DEFAULT
#define RED_STREAM_DEFAULT "cork"
#endif

/* A mode.
 *
 *   normal  one system call per message, one TLS record per iovec
 *   cork    TCP_CORK around the messages of a send turn (one call of push())
 */
struct RedStreamPolicy {
    const char *name;
    bool cork;
};

/* Fill @policy from the name of a mode.
 *
 * A name that is unknown is ignored: it is appended to @ignored, in quotes, and @policy stays as
 * it was. Returns true if it was known.
 */
bool red_stream_policy_parse(const char *text, RedStreamPolicy *policy,
                             std::string *ignored = nullptr);

/* The policy of this process: the environment variable SPICE_STREAM, read once,
 * or the default mode. A name that is unknown causes a warning.
 * Any thread.
 */
const RedStreamPolicy *red_stream_policy_get();

#include "pop-visibility.h"

#endif /* RED_STREAM_POLICY_H_ */
