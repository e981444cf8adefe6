/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pixels of the screen (the primary surface), in memory of the server.
 *
 * A guest's screen is in the guest's own memory. Without this class the server draws there, and
 * reads there what it sends of the screen. But some guests write pixels there before they send
 * the command that draws them (Linux with QXL and a kernel before 4.15, x11spice). What is read
 * there is then newer than what the clients have, a copy within the screen reads pixels that
 * belong to a later command, and what is drawn there late overwrites newer pixels of the guest.
 *
 * So the screen is drawn in a copy. Its pixels depend on the guest's commands only, as those of
 * a client do: after the same commands both are equal, whatever the guest writes, and whenever.
 *
 * The guest may read its memory after it has asked for an update of an area, or for a flush of
 * all surfaces, and when the machine stops. write_back() then writes what the commands since the
 * last time have drawn in that area: no pixel on which no command of the guest has drawn, and no
 * state between two commands. (All pixels within the bounds and the clip of a drawing count as
 * drawn, also those that a mask excludes.)
 *
 * Memory: one screen, and one bit per pixel. To be used from the thread of the display.
 */
#ifndef DISPLAY_SCREEN_H_
#define DISPLAY_SCREEN_H_

#include <memory>
#include <vector>

#include "red-parse-qxl.h"

#include "push-visibility.h"

class DisplayScreen
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @bytes per pixel. @guest: the first line of the guest's pixels, which are @stride bytes
     * apart and remain valid. @is_blank: all of them are 0. */
    DisplayScreen(int width, int height, int bytes, void *guest, ptrdiff_t stride, bool is_blank);
    DisplayScreen(const DisplayScreen &) = delete;
    DisplayScreen &operator=(const DisplayScreen &) = delete;

    /* The first line of the pixels to draw on. They live as long as this. */
    void *line_0() const { return pixels.get(); }
    /* Bytes from one line to the next. */
    int get_stride() const { return stride; }

    /* The guest has drawn @drawable, which may not be rendered yet. */
    void drew(const RedDrawable *drawable);

    /* Write what was drawn in @area to the guest's memory. All drawings there must have been
     * rendered. */
    void write_back(const SpiceRect &area);

private:
    /* pixels per word of drawn */
    enum { WORD = 64 };

    template <typename Use> void for_words(SpiceRect area, Use use);
    void drew(const SpiceRect &where);

    const int width, height, bytes, stride, words;
    uint8_t *const guest;
    const ptrdiff_t guest_stride;
    const std::unique_ptr<uint8_t, void (*)(void *)> pixels;
    /* a bit per pixel: drawn since it was written back */
    std::vector<uint64_t> drawn;
};

#include "pop-visibility.h"

#endif /* DISPLAY_SCREEN_H_ */
