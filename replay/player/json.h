/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef JSON_H_
#define JSON_H_

/* Prints text as a JSON string, quotes included. */
void json_print_string(const char *text);

#endif /* JSON_H_ */
