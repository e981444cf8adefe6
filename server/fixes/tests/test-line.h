/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A guest that draws a line. */
#ifndef TEST_LINE_H_
#define TEST_LINE_H_

#include "test-drawing.h"

#include "push-visibility.h"

enum { LINE = SPICE_PATH_BEGIN | SPICE_PATH_END };

struct LineGuest: DrawingGuest
{
    std::vector<uint32_t> path;

    LineGuest()
    {
        drawable.type = QXL_DRAW_STROKE;
        drawable.u.stroke.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable.u.stroke.brush.u.color = 0xffffff;
        drawable.u.stroke.fore_mode = SPICE_ROPD_OP_PUT;
    }

    /* @points in 1/16 pixels */
    void add(uint32_t flags, const std::vector<QXLPointFix> &points)
    {
        path.push_back(flags);
        path.push_back(points.size());
        for (const auto &point : points) {
            path.push_back(point.x);
            path.push_back(point.y);
        }
    }

    /* @lengths in 1/16 pixels; they live as long as the guest */
    void set_style(const std::vector<QXLFIXED> &lengths, uint8_t more_flags = 0)
    {
        drawable.u.stroke.attr.flags = SPICE_LINE_FLAGS_STYLED | more_flags;
        drawable.u.stroke.attr.style_nseg = lengths.size();
        drawable.u.stroke.attr.style = reinterpret_cast<uintptr_t>(lengths.data());
    }

    void draw()
    {
        const size_t bytes = path.size() * sizeof(path[0]);
        std::vector<uint8_t> command(sizeof(QXLPath) + bytes);
        auto qxl = reinterpret_cast<QXLPath *>(command.data());

        qxl->data_size = qxl->chunk.data_size = bytes;
        memcpy(qxl->chunk.data, path.data(), bytes);
        drawable.u.stroke.path = reinterpret_cast<uintptr_t>(qxl);
        DrawingGuest::draw();
    }
};

#include "pop-visibility.h"

#endif /* TEST_LINE_H_ */
