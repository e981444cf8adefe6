/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sound-number.h"

#include <math.h>
#include <stdbool.h>

#define AMPLITUDE_MIN 600.0
#define STEP 1.5

/* Opus delays by 312 of 480 frames: only this part of a packet certainly has its own loudness. */
#define OWN_PART 0.3

/* Written at a packet's begin: two samples that are never adjacent in a tone, the number, its complement. */
#define WRITTEN_FRAMES 2
#define SIGN_LEFT 0x5a17
#define SIGN_RIGHT (-0x5a17)

/* Between packets the loudness changes by at most two steps, as a codec needs time to follow. */
static const unsigned int levels[SOUND_LEVELS] = { 0, 2, 4, 6, 7, 5, 3, 1 };

double sound_number_amplitude(unsigned int number)
{
    return AMPLITUDE_MIN * pow(STEP, levels[number % SOUND_LEVELS]);
}

void sound_number_write(int16_t *samples, unsigned int frames, unsigned int number)
{
    if (frames >= WRITTEN_FRAMES) {
        samples[0] = SIGN_LEFT;
        samples[1] = SIGN_RIGHT;
        samples[2] = number;
        samples[3] = ~number;
    }
}

static bool is_written(const int16_t *samples, unsigned int frames)
{
    return frames >= WRITTEN_FRAMES && samples[0] == SIGN_LEFT && samples[1] == SIGN_RIGHT &&
        samples[2] == (int16_t) ~samples[3];
}

static unsigned int level_of(const int16_t *samples, unsigned int frames)
{
    unsigned int own = frames * OWN_PART;
    unsigned int nearest = 0;
    double least = INFINITY, sum = 0, loudness;

    for (unsigned int i = frames - own; i < frames; i++) {
        sum += (double) samples[2 * i] * samples[2 * i];
    }
    /* the mean square of a sine is half the square of its amplitude */
    loudness = log(sqrt(2 * sum / (own ? own : 1)) + 1);
    for (unsigned int number = 0; number < SOUND_LEVELS; number++) {
        double distance = fabs(loudness - log(sound_number_amplitude(number)));

        if (distance < least) {
            least = distance;
            nearest = number;
        }
    }
    return nearest;
}

unsigned int sound_number_read(const int16_t *samples, unsigned int frames)
{
    return is_written(samples, frames) ? (uint16_t) samples[2] : level_of(samples, frames);
}
