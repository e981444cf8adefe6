/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* spice-x-watch WIDTH HEIGHT FILE: looks at $DISPLAY's window of that size every 10 ms, as spice-drain --screen does at what it has
 * drawn, and logs what has changed, until SIGTERM or SIGINT. Pointers are not seen. */
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>

#include "../common/clock.h"
#include "tiles.h"

#define LOOK_NS 10000000

static volatile sig_atomic_t is_over;

static void on_signal(int number)
{
    (void) number;
    is_over = 1;
}

static XImage *shared_image(Display *x, XShmSegmentInfo *segment, unsigned width, unsigned height)
{
    int screen = DefaultScreen(x);
    XImage *image = XShmQueryExtension(x) ?
        XShmCreateImage(x, DefaultVisual(x, screen), (unsigned) DefaultDepth(x, screen), ZPixmap,
                        NULL, segment, width, height) : NULL;

    if (!image || image->bits_per_pixel != 32 || image->byte_order != LSBFirst) {
        errx(EXIT_FAILURE, "the X server must have MIT-SHM and 32 bits a pixel");
    }
    segment->shmid = shmget(IPC_PRIVATE, (size_t) image->bytes_per_line * height, IPC_CREAT | 0600);
    segment->shmaddr = image->data = segment->shmid < 0 ? NULL : shmat(segment->shmid, NULL, 0);
    if (segment->shmid < 0 || segment->shmaddr == (void *) -1 || !XShmAttach(x, segment)) {
        errx(EXIT_FAILURE, "no shared memory");
    }
    XSync(x, False);
    shmctl(segment->shmid, IPC_RMID, NULL);
    return image;
}

/* Where a viewer puts its window is for it and a window manager to say. */
static Window window_of(Display *x, int width, int height)
{
    Window root, parent, *children = NULL, found = None;
    unsigned count = 0;

    XQueryTree(x, DefaultRootWindow(x), &root, &parent, &children, &count);
    for (unsigned i = 0; i < count && found == None; i++) {
        XWindowAttributes has;
        if (XGetWindowAttributes(x, children[i], &has) && has.map_state == IsViewable &&
            has.width == width && has.height == height) {
            found = children[i];
        }
    }
    XFree(children);
    if (found == None) {
        errx(EXIT_FAILURE, "no window of %d x %d pixels", width, height);
    }
    return found;
}

/* Tells of the tiles that differ from the copy, and renews that. */
static void touch_changed(Tiles *tiles, const XImage *image, char *copy)
{
    const int row = TILE_SIZE * 4;

    for (int y = 0; y < image->height; y++) {
        const char *now = image->data + (size_t) y * image->bytes_per_line;
        char *before = copy + (size_t) y * image->bytes_per_line;
        if (memcmp(now, before, (size_t) image->width * 4) == 0) {
            continue;
        }
        for (int x = 0; x < image->width * 4; x += row) {
            int part = image->width * 4 - x < row ? image->width * 4 - x : row;
            if (memcmp(now + x, before + x, (size_t) part) != 0) {
                tiles_touch(tiles, x / 4, y, 1, 1);
            }
        }
        memcpy(before, now, (size_t) image->width * 4);
    }
}

int main(int argc, char **argv)
{
    const struct sigaction action = { .sa_handler = on_signal };
    XShmSegmentInfo segment = { .readOnly = False };

    if (argc != 4 || atoi(argv[1]) <= 0 || atoi(argv[2]) <= 0) {
        errx(EXIT_FAILURE, "usage: spice-x-watch WIDTH HEIGHT FILE");
    }
    Display *x = XOpenDisplay(NULL);
    if (!x) {
        errx(EXIT_FAILURE, "$DISPLAY cannot be opened");
    }
    Tiles *tiles = tiles_new(argv[3]);
    if (!tiles) {
        err(EXIT_FAILURE, "%s", argv[3]);
    }
    Window window = window_of(x, atoi(argv[1]), atoi(argv[2]));
    XImage *image = shared_image(x, &segment, (unsigned) atoi(argv[1]), (unsigned) atoi(argv[2]));
    char *copy = calloc((size_t) image->height, (size_t) image->bytes_per_line);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);

    tiles_touch(tiles, 0, 0, image->width, image->height);
    while (!is_over) {
        int64_t began = clock_ns();
        XShmGetImage(x, window, image, 0, 0, AllPlanes);
        touch_changed(tiles, image, copy);
        tiles_look(tiles,
                   &(TilePixels) { (const uint8_t *) image->data, image->width, image->height,
                                   image->bytes_per_line }, began);
        int64_t left = began + LOOK_NS - clock_ns();
        if (left > 0) {
            nanosleep(&(struct timespec) { .tv_nsec = left }, NULL);
        }
    }
    if (!tiles_free(tiles)) {
        errx(EXIT_FAILURE, "%s: not all could be written", argv[3]);
    }
    return EXIT_SUCCESS;
}
