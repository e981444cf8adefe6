/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is a wake-up ever lost between the guest's ring, the worker, a channel's pipe, the
 * egress, the socket and the client's acks, or its answers to probes?
 *
 *   spin -search stream-wakeup.pml
 *
 * looks at every order of events, for any number of messages in flight that a policy or
 * RedStreamFlow may choose: whether sending stops is decided by chance each time, under
 * the one rule that both keep, that a complete group (the messages between two acks, or up
 * to a probe) is in flight then. What may be held back is decided by chance, too. An end in
 * which not all has been delivered is an error ("invalid end state").
 *
 * Each of these shows that the model can tell, by an error that it finds:
 *   -DNO_FLUSH   push() does not flush when it stops for an ack
 *   -DNO_WATCH   the WRITE watch is dropped though the egress holds bytes
 *   -DNO_GROUP   sending may stop without a complete group in flight
 *   -DNO_BLOCKED the worker does not look at the pipe again after it was full
 *   -DNO_TIMER   what is held back waits for more, and nothing ends that
 *   -DNO_ASK     the timer's push meets a full socket, and nobody asks for WRITE
 *   -DNO_LOOK    the worker sleeps when nothing is held any more, and has not asked the guest
 *
 * The numbers are small on purpose: MAX_PIPE is MAX_PIPE_SIZE, INTERVAL the ack interval,
 * here also larger than the pipe, which the assertion in red-worker.cpp rules out.
 */
#ifndef COMMANDS
#define COMMANDS 7
#endif
#ifndef MAX_PIPE
#define MAX_PIPE 1
#endif
#ifndef INTERVAL
#define INTERVAL 3
#endif
#define BUFFER 2        /* messages that the egress holds */
#define SOCKET 2        /* messages that the socket takes */

byte ring;              /* commands of the guest not yet taken by the worker */
byte fed;               /* commands the guest has put into the ring so far */
bool notify;            /* the worker wants to be told of the next command */
bool told;              /* and was */
bool took;              /* commands, when it looked last */
bool unasked;           /* it found the ring empty after that, and has not said so yet */
byte pipe;              /* items */
bool item;              /* an item was refused in the middle and is repeated */
byte buffer;            /* messages in the egress */
bool held;              /* what is in the pipe and in the egress may wait for the timer */
bool refused;           /* the kernel took less than it was given */
byte line;              /* messages in the socket */
byte since;             /* messages sent since the last complete group */
byte groups;            /* complete groups in flight */
byte acks;              /* acks on their way to the server */
byte received;          /* by the client */
bool watch_write;
bool was_blocked;
bool stopped;           /* push() ended because an ack is missing */

inline kernel_send() {
    do
    :: buffer > 0 && line < SOCKET -> buffer--; line++
    :: else -> break
    od;
    refused = (buffer > 0)
}

inline flush() {
    kernel_send()
}

/* RedStreamEgress::writev with RED_STREAM_MORE */
inline write_message() {
    if
    :: refused -> kernel_send()
    :: else
    fi;
    if
    :: refused -> item = true
    :: else ->
        item = false;
        buffer++;
        since++;
        if
        :: since == INTERVAL -> since = 0; groups++
        :: else
        fi;
        if
        :: buffer == BUFFER -> kernel_send()
        :: else
        fi
    fi
}

/* RedChannelClient::waiting_for_ack */
inline may_stop() {
    if
#ifndef NO_GROUP
    :: groups > 0 -> stopped = true
#else
    :: stopped = true
#endif
    :: stopped = false
    fi
}

/* What ends RedChannelClient::push if nothing is to be held. */
inline finish() {
    held = false;
#ifdef NO_FLUSH
    if
    :: !stopped -> flush(); watch_write = (buffer > 0)
    :: else -> watch_write = false
    fi
#else
    flush();
#ifdef NO_WATCH
    watch_write = false
#else
    watch_write = (buffer > 0)
#endif
#endif
}

/* RedChannelClient::push */
inline push() {
    if
    :: item -> write_message()
    :: !item && !held -> flush()
    :: else
    fi;
    stopped = false;
    do
    :: item || pipe == 0 -> break
    :: else ->
        may_stop();
        if
        :: stopped -> break
        :: else -> pipe--; write_message()
        fi
    od;
    if
    :: !item && (pipe == 0 || stopped) ->
        if
        :: held -> watch_write = false      /* may_keep_tail() */
        :: finish()
        fi
#ifndef NO_ASK
    :: item -> watch_write = true
#endif
    :: else
    fi
}

/* red_process_display */
inline process() {
    was_blocked = false;
    unasked = false;
    took = false;
    do
    :: pipe > MAX_PIPE -> was_blocked = true; break
    :: else ->
        if
        :: ring > 0 ->
            ring--;
            took = true;
            if
            :: pipe == 0 && !item && !refused -> held = true    /* coalesce() */
            :: pipe == 0 || held -> watch_write = true
            :: else
            fi;
            pipe++
        :: ring == 0 && took -> unasked = true; break   /* CMD_RING_POLL_RETRIES */
        :: ring == 0 && !took -> notify = true; break
        fi
    od
}

active proctype worker() {
    /* an iteration of the main loop: the worker's own source, whose check() is always
     * true, and then one thing that is ready */
end:
    do
    :: atomic { told -> told = false; process() }
    :: atomic { watch_write && line < SOCKET -> process(); push() }
    :: atomic {
        acks > 0 -> process();
        acks--;
        groups--;
        watch_write = true;
        push()
    }
#ifndef NO_TIMER
    :: atomic { held -> held = false; process(); push() }
#endif
#ifndef NO_LOOK
    :: atomic { unasked && !held -> process() }
#endif
#ifndef NO_BLOCKED
    :: atomic { was_blocked && pipe <= MAX_PIPE -> process() }
#endif
    od
}

active proctype guest() {
    do
    :: atomic { fed < COMMANDS && ring < 2 ->
        ring++;
        fed++;
        if
        :: notify -> notify = false; told = true
        :: else
        fi
    }
    :: fed == COMMANDS -> break
    od
}

active proctype client() {
    do
    :: atomic { line > 0 ->
        line--;
        received++;
        if
        :: received % INTERVAL == 0 -> acks++
        :: else
        fi
    }
    :: received == COMMANDS -> break
    od
}

init {
    atomic { told = true }
}
