/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "devices.h"

#include <glib.h>
#include <string.h>

#include "../common/clock.h"
#include "../common/json.h"

#define MIB (UINT64_C(1024) * 1024)
#define MIB_MAX 1024

/* The devices run at least this long, even with a very short recording. */
#define LEAST_NS NSEC_PER_SEC

static const DeviceKind *const kinds[] = {
    &device_sound, &device_sound_raw, &device_inputs, &device_pointer, &device_port,
};

struct Devices {
    GPtrArray *list;            /* Device */
    int64_t start_ns;           /* 0 before */
    bool is_stopped;
};

static const DeviceKind *find_kind(const char *name)
{
    for (unsigned int i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

static char *known_kinds(void)
{
    GString *known = g_string_new("all");

    for (unsigned int i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_string_append_printf(known, ", %s", kinds[i]->name);
    }
    return g_string_free(known, false);
}

static bool is_reported(const Devices *devices, const DeviceKind *kind)
{
    for (unsigned int i = 0; i < devices->list->len; i++) {
        const Device *device = devices->list->pdata[i];

        if (strcmp(device->kind->reported, kind->reported) == 0) {
            return true;
        }
    }
    return false;
}

static void add(Devices *devices, const Guest *guest, const DeviceKind *kind, uint64_t mib)
{
    Device *device = g_malloc0(kind->size);

    device->kind = kind;
    kind->add(device, guest, mib * MIB);
    g_ptr_array_add(devices->list, device);
}

/* One word of the list: NAME or NAME:MIB. NULL, or what is wrong with it. */
static char *add_word(Devices *devices, const Guest *guest, const char *word)
{
    char **parts = g_strsplit(word, ":", 2);
    const DeviceKind *kind = find_kind(parts[0] ? parts[0] : "");
    guint64 mib = kind ? kind->mib : 0;
    char *error = NULL;

    if (!kind) {
        char *known = known_kinds();

        error = g_strdup_printf("--channels %s: not one of %s", word, known);
        g_free(known);
    } else if (is_reported(devices, kind)) {
        error = g_strdup_printf("--channels %s: there can be one %s only", word, kind->reported);
    } else if (parts[1] && !kind->mib) {
        error = g_strdup_printf("--channels %s: there is no size", word);
    } else if (parts[1] && !g_ascii_string_to_unsigned(parts[1], 10, 1, MIB_MAX, &mib, NULL)) {
        error = g_strdup_printf("--channels %s: the size is a number from 1 to %d", word, MIB_MAX);
    } else {
        add(devices, guest, kind, mib);
    }
    g_strfreev(parts);
    return error;
}

Devices *devices_new(const Guest *guest, const char *list, char **error)
{
    Devices *devices = g_new0(Devices, 1);
    char **words = g_strsplit(list, ",", 0);

    devices->list = g_ptr_array_new();
    if (strcmp(list, "all") == 0) {
        for (unsigned int i = 0; i < G_N_ELEMENTS(kinds); i++) {
            if (kinds[i]->in_all) {
                add(devices, guest, kinds[i], kinds[i]->mib);
            }
        }
    } else if (!words[0]) {
        *error = g_strdup("--channels wants a list");
    } else {
        for (char **word = words; *word && !*error; word++) {
            *error = add_word(devices, guest, *word);
        }
    }
    g_strfreev(words);
    return *error ? NULL : devices;
}

void devices_start(Devices *devices)
{
    devices->start_ns = clock_ns();
    for (unsigned int i = 0; i < devices->list->len; i++) {
        Device *device = devices->list->pdata[i];

        if (device->kind->start) {
            device->kind->start(device);
        }
    }
}

void devices_stop(Devices *devices)
{
    devices->is_stopped = true;
    for (unsigned int i = 0; i < devices->list->len; i++) {
        Device *device = devices->list->pdata[i];

        if (device->kind->stop) {
            device->kind->stop(device);
        }
    }
}

bool devices_are_running(const Devices *devices)
{
    return devices->start_ns != 0 && !devices->is_stopped;
}

char *devices_unfinished(const Devices *devices)
{
    GString *names = g_string_new(NULL);

    for (unsigned int i = 0; i < devices->list->len; i++) {
        const Device *device = devices->list->pdata[i];

        if (!device->kind->is_finished(device)) {
            g_string_append_printf(names, "%s%s", names->len ? ", " : "", device->kind->name);
        }
    }
    return g_string_free(names, false);
}

bool devices_are_finished(const Devices *devices)
{
    char *unfinished = devices_unfinished(devices);
    bool all = !*unfinished;

    g_free(unfinished);
    return all && devices->start_ns != 0 && clock_ns() - devices->start_ns >= LEAST_NS;
}

uint64_t devices_progress(const Devices *devices)
{
    uint64_t progress = 0;

    for (unsigned int i = 0; i < devices->list->len; i++) {
        const Device *device = devices->list->pdata[i];

        progress += device->kind->progress ? device->kind->progress(device)
                                           : device->kind->is_finished(device);
    }
    return progress;
}

GVariant *devices_report(const Devices *devices)
{
    GVariantBuilder found;

    g_variant_builder_init(&found, G_VARIANT_TYPE_VARDICT);
    for (unsigned int i = 0; i < devices->list->len; i++) {
        const Device *device = devices->list->pdata[i];

        json_put(&found, device->kind->reported, device->kind->report(device));
    }
    return g_variant_builder_end(&found);
}

void devices_free(Devices *devices)
{
    for (unsigned int i = 0; i < devices->list->len; i++) {
        Device *device = devices->list->pdata[i];

        if (device->kind->clear) {
            device->kind->clear(device);
        }
        g_free(device);
    }
    g_ptr_array_unref(devices->list);
    g_free(devices);
}
