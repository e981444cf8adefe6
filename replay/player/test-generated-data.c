/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "pattern.h"
#include "../common/sound-number.h"

#define FRAMES 480              /* 10 ms, a packet of Opus */
#define PACKETS 64
#define TONE_HZ 1500
#define RATE 48000

static int16_t tone[PACKETS * FRAMES * 2];

static void make_tone(void)
{
    for (unsigned int i = 0; i < PACKETS * FRAMES; i++) {
        double sample = sound_number_amplitude(i / FRAMES) * sin(2 * G_PI * TONE_HZ * i / RATE);

        tone[2 * i] = tone[2 * i + 1] = sample;
    }
}

static void test_as_played(void)
{
    for (unsigned int i = 0; i < PACKETS; i++) {
        g_assert_cmpuint(sound_number_read(tone + i * FRAMES * 2, FRAMES), ==, i % SOUND_LEVELS);
    }
}

/* As Opus gives it back: 312 frames late, and somewhat louder or softer. */
static void test_late_and_distorted(void)
{
    int16_t packet[FRAMES * 2];

    for (unsigned int i = 1; i < PACKETS; i++) {
        const int16_t *late = tone + (i * FRAMES - 312) * 2;

        for (unsigned int j = 0; j < FRAMES * 2; j++) {
            packet[j] = late[j] * (i % 2 ? 1.1 : 0.9);
        }
        g_assert_cmpuint(sound_number_read(packet, FRAMES), ==, i % SOUND_LEVELS);
    }
}

static void test_silence_is_a_number_too(void)
{
    int16_t packet[FRAMES * 2] = { 0 };

    g_assert_cmpuint(sound_number_read(packet, FRAMES), ==, 0);
    g_assert_cmpuint(sound_number_read(packet, 0), ==, 0);
}

static void test_written(void)
{
    const unsigned int numbers[] = { 0, 7, 8, 12345, SOUND_NUMBERS - 1 };
    int16_t packet[FRAMES * 2];

    for (unsigned int i = 0; i < G_N_ELEMENTS(numbers); i++) {
        memcpy(packet, tone, sizeof(packet));
        sound_number_write(packet, FRAMES, numbers[i]);
        g_assert_cmpuint(sound_number_read(packet, FRAMES), ==, numbers[i]);
        sound_number_write(packet, 1, 3);       /* no room: nothing is written */
        g_assert_cmpuint(sound_number_read(packet, FRAMES), ==, numbers[i]);
    }
}

static void test_pattern_does_not_depend_on_pieces(void)
{
    uint8_t whole[10000], pieces[10000];
    Pattern pattern;

    pattern_init(&pattern);
    pattern_fill(&pattern, whole, sizeof(whole));
    pattern_init(&pattern);
    for (size_t at = 0, size = 1; at < sizeof(pieces); at += size, size = size * 3 % 1000 + 1) {
        size = MIN(size, sizeof(pieces) - at);
        pattern_fill(&pattern, pieces + at, size);
    }
    g_assert_cmpmem(whole, sizeof(whole), pieces, sizeof(pieces));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    make_tone();
    g_test_add_func("/sound-number/as-played", test_as_played);
    g_test_add_func("/sound-number/late-and-distorted", test_late_and_distorted);
    g_test_add_func("/sound-number/silence", test_silence_is_a_number_too);
    g_test_add_func("/sound-number/written", test_written);
    g_test_add_func("/pattern/pieces", test_pattern_does_not_depend_on_pieces);
    return g_test_run();
}
