/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

typedef struct Unit {
    const char *name;
    double factor;
} Unit;

/* Splits "12.5ms" into 12.5 and "ms"; NULL if it does not start with a number. */
static const char *split_number(const char *text, double *number)
{
    size_t length = strspn(text, "0123456789.");
    char *end = NULL;

    *number = strtod(text, &end);
    /* strtod also knows signs, exponents, hexadecimal, infinity: none is meant here */
    return length > 0 && end == text + length ? end : NULL;
}

static bool parse_units(const char *text, const Unit *units, double max, double *value)
{
    double number = 0;
    const char *name = split_number(text, &number);

    if (!name) {
        return false;
    }
    for (const Unit *unit = units; unit->name; unit++) {
        if (strcmp(name, unit->name) == 0 && number * unit->factor <= max) {
            *value = number * unit->factor;
            return true;
        }
    }
    return false;
}

static bool parse_whole_units(const char *text, const Unit *units, uint64_t max, uint64_t *value)
{
    double number = 0;

    if (!parse_units(text, units, (double) max, &number)) {
        return false;
    }
    *value = (uint64_t) (number + 0.5);
    return true;
}

bool parse_rate(const char *text, uint64_t max, uint64_t *bits_per_second)
{
    static const Unit units[] = {
        { "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { NULL, 0 },
    };

    return parse_whole_units(text, units, max, bits_per_second);
}

bool parse_duration(const char *text, uint64_t max, uint64_t *ns)
{
    static const Unit units[] = {
        { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { NULL, 0 },
    };

    if (strcmp(text, "0") == 0) {
        *ns = 0;
        return true;
    }
    return parse_whole_units(text, units, max, ns);
}

bool parse_size(const char *text, uint64_t max, uint64_t *bytes)
{
    static const Unit units[] = {
        { "", 1 }, { "K", 1024 }, { "M", 1024 * 1024 }, { NULL, 0 },
    };

    return parse_whole_units(text, units, max, bytes);
}

bool parse_share(const char *text, double *share)
{
    static const Unit units[] = {
        { "", 1 }, { "%", 0.01 }, { NULL, 0 },
    };

    return parse_units(text, units, 1, share);
}

bool parse_integer(const char *text, uint64_t max, uint64_t *value)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
        return false;
    }
    errno = 0;
    uint64_t number = strtoull(text, NULL, 10);
    if (errno != 0 || number > max) {
        return false;
    }
    *value = number;
    return true;
}
