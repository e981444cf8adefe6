/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/*
 * Numbers sound packets: the client library hides the time of a packet, and the
 * server drops late ones.
 *
 * A packet has frames of two samples of 16 bits, left and right. Uncompressed,
 * its first frames hold the number. Compressed, its loudness does, which
 * survives a lossy codec: numbers wrap at SOUND_LEVELS, so a packet is
 * identified if fewer than SOUND_LEVELS in a row were dropped.
 */

#define SOUND_LEVELS 8
#define SOUND_NUMBERS 65536     /* numbers that can be written */

/* Amplitude of the tone in a packet with that number. */
double sound_number_amplitude(unsigned int number);

/* Writes the number over the first frames of a packet. */
void sound_number_write(int16_t *samples, unsigned int frames, unsigned int number);

/*
 * The number of a received packet: the written one, or from its loudness, which
 * is read at the packet's end, as Opus delays by part of a packet.
 */
unsigned int sound_number_read(const int16_t *samples, unsigned int frames);
