/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes that the process has allocated, for tests that look for leaks. */
#ifndef TEST_ALLOCATED_H_
#define TEST_ALLOCATED_H_

#include <cstddef>
#include <functional>

#include <glib.h>

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
#include <malloc.h>

static inline size_t test_allocated()
{
    const auto info = mallinfo2();

    /* large blocks are mapped */
    return info.uordblks + info.hblkhd;
}

/* @run may leave less than @limit bytes more allocated than there were. Under AddressSanitizer
 * malloc does not tell, and the leak is found at the end. */
static inline void test_allocates_less(size_t limit, const std::function<void()> &run)
{
    const size_t before = test_allocated();

    run();
    g_assert_cmpuint(test_allocated(), <, before + limit);
}
#else
static inline void test_allocates_less(size_t, const std::function<void()> &)
{
    g_test_skip("the C library does not tell what is allocated");
}
#endif

#endif /* TEST_ALLOCATED_H_ */
