/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOCKETS_H_
#define SOCKETS_H_

#include <stdint.h>

/*
 * What the process's connections to its clients are doing, asked of the
 * kernel: the library tells nothing of the kind.
 */
typedef struct SocketsState {
    uint64_t unsent;            /* bytes written that the peer has not acknowledged */
    uint64_t moved;             /* bytes acknowledged and received so far */
} SocketsState;

SocketsState sockets_state(void);

#endif /* SOCKETS_H_ */
