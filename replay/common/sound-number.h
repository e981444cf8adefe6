/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOUND_NUMBER_H_
#define SOUND_NUMBER_H_

#include <stdint.h>

/*
 * A number in each packet of sound: the client library shows no packet's time,
 * and the server leaves out packets that it is too late for.
 *
 * A packet is a number of frames, each two samples of 16 bits, left and right.
 * In sound that is not compressed the first frames say its number. Otherwise
 * its loudness does, which outlives a lossy codec: packets are counted 0 to
 * SOUND_LEVELS - 1, over and over, and one is told from its neighbours as long
 * as fewer than SOUND_LEVELS in a row are left out.
 */

#define SOUND_LEVELS 8
#define SOUND_NUMBERS 65536     /* that can be written */

/* The greatest sample of the tone in a packet of that number. */
double sound_number_amplitude(unsigned int number);

/* Writes the number over the first frames of a packet. */
void sound_number_write(int16_t *samples, unsigned int frames, unsigned int number);

/*
 * The number of a packet as it came: the one written, or else its loudness,
 * read at its end, for Opus delays by part of a packet.
 */
unsigned int sound_number_read(const int16_t *samples, unsigned int frames);

#endif /* SOUND_NUMBER_H_ */
