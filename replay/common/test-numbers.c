/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one end writes into sound and drawings, the other reads. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "marker.h"
#include "sound-number.h"

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

static void test_markers(void)
{
    static const struct {
        MarkerKind kind;
        int numbers;
    } kinds[] = { { MARKER_PROBE, 3600 }, { MARKER_PAUSE, 60 }, { MARKER_END, 1 } };

    for (unsigned int i = 0; i < G_N_ELEMENTS(kinds); i++) {
        for (int number = 0; number < 2 * kinds[i].numbers; number++) {
            MarkerArea area = marker_area(kinds[i].kind, number);
            Marker marker = marker_read(area);

            g_assert_cmpint(marker.kind, ==, kinds[i].kind);
            g_assert_cmpint(marker.number, ==, number % kinds[i].numbers);
            g_assert_cmpint(area.left + area.width, <, MARKER_PRIMARY_MIN);
            g_assert_cmpint(area.top + area.height, <, MARKER_PRIMARY_MIN);
        }
    }
}

static void test_other_areas_are_no_markers(void)
{
    static const MarkerArea others[] = {
        { 0, 0, 320, 240 }, { 1, 1, 1, 20 }, { 1, 1, 20, 1 }, { 1, 1, 62, 20 }, { 1, 1, 20, 62 },
        { 1, 2, 20, 20 }, { 2, 1, 20, 20 }, { 5, 1, 20, 62 }, { 5, 1, 62, 63 }, { 5, 0, 20, 63 },
        { 3, 1, 63, 63 }, { 3, 1, 61, 61 }, { -1, -1, -1, -1 },
    };

    for (unsigned int i = 0; i < G_N_ELEMENTS(others); i++) {
        g_assert_cmpint(marker_read(others[i]).kind, ==, MARKER_NONE);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    make_tone();
    g_test_add_func("/sound-number/as-played", test_as_played);
    g_test_add_func("/sound-number/late-and-distorted", test_late_and_distorted);
    g_test_add_func("/sound-number/silence", test_silence_is_a_number_too);
    g_test_add_func("/sound-number/written", test_written);
    g_test_add_func("/marker/markers", test_markers);
    g_test_add_func("/marker/others", test_other_areas_are_no_markers);
    return g_test_run();
}
