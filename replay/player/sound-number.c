/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sound-number.h"

#include <math.h>

#define AMPLITUDE_MIN 600.0
#define STEP 1.5

/* Opus is behind by 312 of 480 frames: only this part of a packet is surely its own. */
#define OWN_PART 0.3

/* From packet to packet the loudness changes by two steps at most: a codec needs time, too. */
static const unsigned int levels[SOUND_NUMBERS] = { 0, 2, 4, 6, 7, 5, 3, 1 };

double sound_number_amplitude(unsigned int number)
{
    return AMPLITUDE_MIN * pow(STEP, levels[number % SOUND_NUMBERS]);
}

unsigned int sound_number_of(const int16_t *samples, unsigned int frames)
{
    unsigned int own = frames * OWN_PART;
    unsigned int nearest = 0;
    double least = INFINITY, sum = 0, loudness;

    for (unsigned int i = frames - own; i < frames; i++) {
        sum += (double) samples[2 * i] * samples[2 * i];
    }
    /* of a sine, the mean square is half the square of the amplitude */
    loudness = log(sqrt(2 * sum / (own ? own : 1)) + 1);
    for (unsigned int number = 0; number < SOUND_NUMBERS; number++) {
        double distance = fabs(loudness - log(sound_number_amplitude(number)));

        if (distance < least) {
            least = distance;
            nearest = number;
        }
    }
    return nearest;
}
