/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-print.h"

#include <stdio.h>

#include "json.h"

#define NSEC_PER_SEC 1e9

static const char *separator;   /* of the JSON list being printed */

static void next_item(void)
{
    printf("%s", separator);
    separator = ",";
}

static void json_count(const char *name, uint64_t count, void *opaque G_GNUC_UNUSED)
{
    next_item();
    printf("\"%s\":%" G_GUINT64_FORMAT, name, count);
}

static void json_primaries(const RecordingFacts *facts)
{
    printf(",\"primaries\":[");
    for (unsigned int i = 0; i < facts->primaries->len; i++) {
        const FactsPrimary *primary = &g_array_index(facts->primaries, FactsPrimary, i);

        printf("%s{\"seconds\":%.3f,\"width\":%u,\"height\":%u,\"stride\":%d,\"format\":%u}",
               i ? "," : "", primary->due / NSEC_PER_SEC, primary->surface.width,
               primary->surface.height, primary->surface.stride, primary->surface.format);
    }
    printf("]");
}

void recording_print_json(const char *file, const RecordingFacts *facts)
{
    printf("{\"file\":");
    json_print_string(file);
    printf(",\"valid\":true,\"bytes\":%" G_GUINT64_FORMAT ",\"packed_bytes\":%" G_GUINT64_FORMAT,
           facts->bytes, facts->packed_bytes);
    printf(",\"seconds\":%.3f,\"events\":%" G_GUINT64_FORMAT ",\"commands\":%" G_GUINT64_FORMAT,
           facts->length / NSEC_PER_SEC, facts->events, facts->commands);
    printf(",\"types\":{");
    separator = "";
    recording_facts_commands(facts, json_count, NULL);
    printf("},\"messages\":{");
    separator = "";
    recording_facts_messages(facts, json_count, NULL);
    printf("},\"images\":{");
    separator = "";
    recording_facts_images(facts, json_count, NULL);
    printf("},\"surfaces\":{\"created\":%" G_GUINT64_FORMAT ",\"live_max\":%u}",
           facts->surface_create, facts->surfaces_live_max);
    printf(",\"draws_on_primary\":%" G_GUINT64_FORMAT, facts->draws_on_primary);
    json_primaries(facts);
    printf("}\n");
}

static void text_count(const char *name, uint64_t count, void *opaque G_GNUC_UNUSED)
{
    printf("  %-30s %9" G_GUINT64_FORMAT "\n", name, count);
}

void recording_print_text(const char *file, const RecordingFacts *facts)
{
    printf("%s: %.1f s, %" G_GUINT64_FORMAT " commands, %" G_GUINT64_FORMAT " events, %"
           G_GUINT64_FORMAT " bytes (%" G_GUINT64_FORMAT " packed)\n", file,
           facts->length / NSEC_PER_SEC, facts->commands, facts->events, facts->bytes,
           facts->packed_bytes);
    printf(" commands\n");
    recording_facts_commands(facts, text_count, NULL);
    printf(" messages\n");
    recording_facts_messages(facts, text_count, NULL);
    printf(" pictures\n");
    recording_facts_images(facts, text_count, NULL);
    printf(" surfaces: %" G_GUINT64_FORMAT " created, at most %u at once; %" G_GUINT64_FORMAT
           " draws on the primary\n", facts->surface_create, facts->surfaces_live_max,
           facts->draws_on_primary);
    for (unsigned int i = 0; i < facts->primaries->len; i++) {
        const FactsPrimary *primary = &g_array_index(facts->primaries, FactsPrimary, i);

        printf(" primary at %.3f s: %ux%u, stride %d, format %u\n", primary->due / NSEC_PER_SEC,
               primary->surface.width, primary->surface.height, primary->surface.stride,
               primary->surface.format);
    }
}
