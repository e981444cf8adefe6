/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of libsasl: a mechanism that lets everybody in, and whose blocks, which are counted,
 * hold what they are given behind 16 bytes. For one source of a program. */
#ifndef TEST_SASL_H_
#define TEST_SASL_H_

#include <cstring>

#include <sasl/sasl.h>

#include "test-glib-compat.h"

enum { BLOCK_OVERHEAD = 16, MAX_BLOCK = 1000 };

static unsigned blocks;

int sasl_server_init(const sasl_callback_t *, const char *) { return SASL_OK; }

int sasl_server_new(const char *, const char *, const char *, const char *, const char *,
                    const sasl_callback_t *, unsigned, sasl_conn_t **conn)
{
    *conn = reinterpret_cast<sasl_conn_t *>(&blocks);
    return SASL_OK;
}

int sasl_setprop(sasl_conn_t *, int, const void *) { return SASL_OK; }

int sasl_getprop(sasl_conn_t *, int prop, const void **value)
{
    static const int strength = 64;
    static const unsigned max_block = MAX_BLOCK;

    *value = prop == SASL_SSF ? static_cast<const void *>(&strength) : &max_block;
    return SASL_OK;
}

int sasl_listmech(sasl_conn_t *, const char *, const char *, const char *, const char *,
                  const char **list, unsigned *, int *)
{
    *list = ",ONE,";
    return SASL_OK;
}

int sasl_server_start(sasl_conn_t *, const char *, const char *, unsigned, const char **out,
                      unsigned *size)
{
    *out = nullptr;
    *size = 0;
    return SASL_OK;
}

int sasl_server_step(sasl_conn_t *, const char *, unsigned, const char **, unsigned *)
{
    return SASL_FAIL;
}

int sasl_encode(sasl_conn_t *, const char *input, unsigned size, const char **output,
                unsigned *output_size)
{
    static char block[BLOCK_OVERHEAD + MAX_BLOCK];

    g_assert_cmpuint(size, <=, MAX_BLOCK);
    memcpy(block + BLOCK_OVERHEAD, input, size);
    *output = block;
    *output_size = BLOCK_OVERHEAD + size;
    ++blocks;
    return SASL_OK;
}

int sasl_decode(sasl_conn_t *, const char *, unsigned, const char **, unsigned *)
{
    return SASL_FAIL;
}

const char *sasl_errdetail(sasl_conn_t *) { return ""; }
const char *sasl_errstring(int, const char *, const char **) { return ""; }
void sasl_dispose(sasl_conn_t **) {}

/* What a client says to be let in, behind its choice of SASL: the name's length, the name, and the
 * length of what it has to say. */
static const char test_sasl_answers[] = "\3\0\0\0ONE\1\0\0\0";

#endif /* TEST_SASL_H_ */
