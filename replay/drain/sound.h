/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The playback channel, whose packets are counted and timed. */

#ifndef DRAIN_SOUND_H_
#define DRAIN_SOUND_H_

#include <spice-client.h>

typedef struct Playback Playback;

Playback *playback_new(SpiceChannel *channel);
void playback_free(Playback *playback);
int64_t playback_packets(const Playback *playback);

/* An object: packets, bytes of decoded samples, rate of frames in Hz, and stamps, the number of each packet
 * (../player/sound-number.h) with the time it came in ns. */
GVariant *playback_report(const Playback *playback);

#endif /* DRAIN_SOUND_H_ */
