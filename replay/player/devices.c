/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "devices.h"

#include <glib.h>
#include <string.h>

#include "../common/clock.h"
#include "../common/json.h"

#define MIB (UINT64_C(1024) * 1024)
#define SIZE_MAX_UNITS 1024

/* The devices run at least this long, even with a very short recording. */
#define LEAST_NS NSEC_PER_SEC

typedef struct Kind {
    const char *name;           /* on the command line */
    const char *reported;       /* the same for kinds that exclude each other */
    bool in_all;
    uint64_t unit;              /* of the size one may give; 0: none */
    unsigned int units;         /* the default */
    Device *(*make)(const Guest *guest, uint64_t size);
} Kind;

static const Kind kinds[] = {
    { "sound", "sound", true, 0, 0, device_sound_new },
    { "sound-raw", "sound", false, 0, 0, device_sound_raw_new },
    { "inputs", "inputs", true, 0, 0, device_inputs_new },
    { "pointer", "pointer", true, 0, 0, device_pointer_new },
    { "port", "port", true, MIB, 4, device_port_new },
};

typedef struct Entry {
    const Kind *kind;
    uint64_t size;
    Device *device;
} Entry;

struct Devices {
    GArray *entries;            /* Entry, in the order of the list */
    int64_t start_ns;           /* 0 before */
    bool is_stopped;
};

static const Kind *find_kind(const char *name)
{
    for (unsigned int i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static Entry *entry_at(const Devices *devices, unsigned int i)
{
    return &g_array_index(devices->entries, Entry, i);
}

static char *known_kinds(void)
{
    GString *known = g_string_new("all");

    for (unsigned int i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_string_append_printf(known, ", %s", kinds[i].name);
    }
    return g_string_free(known, false);
}

static bool is_reported(const Devices *devices, const Kind *kind)
{
    for (unsigned int i = 0; i < devices->entries->len; i++) {
        if (strcmp(entry_at(devices, i)->kind->reported, kind->reported) == 0) {
            return true;
        }
    }
    return false;
}

static void add_entry(Devices *devices, const Kind *kind, guint64 units)
{
    Entry entry = { .kind = kind, .size = units * kind->unit };

    g_array_append_val(devices->entries, entry);
}

/* One word of the list: NAME or NAME:SIZE. */
static bool parse_word(Devices *devices, const char *word, char **error)
{
    char **parts = g_strsplit(word, ":", 2);
    const Kind *kind = find_kind(parts[0] ? parts[0] : "");
    guint64 units = 0;
    char *known;

    if (!kind) {
        known = known_kinds();
        *error = g_strdup_printf("--channels %s: not one of %s", word, known);
        g_free(known);
    } else if (is_reported(devices, kind)) {
        *error = g_strdup_printf("--channels %s: there can be one %s only", word, kind->reported);
    } else if (parts[1] && (!kind->unit ||
                            !g_ascii_string_to_unsigned(parts[1], 10, 1, SIZE_MAX_UNITS, &units,
                                                        NULL))) {
        *error = g_strdup_printf("--channels %s: %s", word, kind->unit
                                 ? "the size is a number from 1 to " G_STRINGIFY(SIZE_MAX_UNITS)
                                 : "there is no size");
    } else {
        add_entry(devices, kind, parts[1] ? units : kind->units);
    }
    g_strfreev(parts);
    return *error == NULL;
}

static bool parse_list(Devices *devices, const char *list, char **error)
{
    char **words;

    if (strcmp(list, "all") == 0) {
        for (unsigned int i = 0; i < G_N_ELEMENTS(kinds); i++) {
            if (kinds[i].in_all) {
                add_entry(devices, &kinds[i], kinds[i].units);
            }
        }
        return true;
    }
    words = g_strsplit(list, ",", 0);
    if (!words[0]) {
        *error = g_strdup("--channels wants a list");
    }
    for (char **word = words; *word && !*error; word++) {
        parse_word(devices, *word, error);
    }
    g_strfreev(words);
    return *error == NULL;
}

Devices *devices_new(const Guest *guest, const char *list, char **error)
{
    Devices *devices = g_new0(Devices, 1);

    devices->entries = g_array_new(false, false, sizeof(Entry));
    if (!parse_list(devices, list, error)) {
        g_array_unref(devices->entries);
        g_free(devices);
        return NULL;
    }
    for (unsigned int i = 0; i < devices->entries->len; i++) {
        Entry *entry = entry_at(devices, i);

        entry->device = entry->kind->make(guest, entry->size);
    }
    return devices;
}

void devices_start(Devices *devices)
{
    devices->start_ns = clock_ns();
    for (unsigned int i = 0; i < devices->entries->len; i++) {
        Device *device = entry_at(devices, i)->device;

        if (device->funcs->start) {
            device->funcs->start(device);
        }
    }
}

void devices_stop(Devices *devices)
{
    devices->is_stopped = true;
    for (unsigned int i = 0; i < devices->entries->len; i++) {
        Device *device = entry_at(devices, i)->device;

        if (device->funcs->stop) {
            device->funcs->stop(device);
        }
    }
}

bool devices_are_running(const Devices *devices)
{
    return devices->start_ns != 0 && !devices->is_stopped;
}

bool devices_are_finished(const Devices *devices)
{
    for (unsigned int i = 0; i < devices->entries->len; i++) {
        const Device *device = entry_at(devices, i)->device;

        if (!device->funcs->is_finished(device)) {
            return false;
        }
    }
    return devices->start_ns != 0 && clock_ns() - devices->start_ns >= LEAST_NS;
}

char *devices_unfinished(const Devices *devices)
{
    GString *names = g_string_new(NULL);

    for (unsigned int i = 0; i < devices->entries->len; i++) {
        const Entry *entry = entry_at(devices, i);

        if (!entry->device->funcs->is_finished(entry->device)) {
            g_string_append_printf(names, "%s%s", names->len ? ", " : "", entry->kind->name);
        }
    }
    return g_string_free(names, false);
}

uint64_t devices_progress(const Devices *devices)
{
    uint64_t progress = 0;

    for (unsigned int i = 0; i < devices->entries->len; i++) {
        const Device *device = entry_at(devices, i)->device;

        progress += device->funcs->progress ? device->funcs->progress(device)
                                            : device->funcs->is_finished(device);
    }
    return progress;
}

GVariant *devices_report(const Devices *devices)
{
    GVariantBuilder found;

    g_variant_builder_init(&found, G_VARIANT_TYPE_VARDICT);
    for (unsigned int i = 0; i < devices->entries->len; i++) {
        const Entry *entry = entry_at(devices, i);

        json_put(&found, entry->kind->reported, entry->device->funcs->report(entry->device));
    }
    return g_variant_builder_end(&found);
}

void devices_free(Devices *devices)
{
    for (unsigned int i = 0; i < devices->entries->len; i++) {
        Device *device = entry_at(devices, i)->device;

        if (device->funcs->free) {
            device->funcs->free(device);
        } else {
            g_free(device);
        }
    }
    g_array_unref(devices->entries);
    g_free(devices);
}
