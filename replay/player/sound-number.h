/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SOUND_NUMBER_H_
#define SOUND_NUMBER_H_

#include <stdint.h>

/*
 * A number in each packet of sound, as loudness, so that it outlives a lossy
 * codec: the client library shows no packet's time, and the server leaves out
 * packets that it is too late for. Packets are counted 0 to
 * SOUND_NUMBERS - 1, over and over; one whose predecessors were left out is
 * told from its neighbours while fewer than SOUND_NUMBERS are missing.
 *
 * A packet is a number of frames, each two samples of 16 bits, left and right.
 */

#define SOUND_NUMBERS 8

/* The greatest sample of the tone in a packet of that number. */
double sound_number_amplitude(unsigned int number);

/*
 * The number of a packet as it came, perhaps through Opus, which delays by part
 * of a packet: its end says what it is.
 */
unsigned int sound_number_of(const int16_t *samples, unsigned int frames);

#endif /* SOUND_NUMBER_H_ */
