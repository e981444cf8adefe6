/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHECK_H_
#define CHECK_H_

/*
 * Reads recordings as they are read for playing, and says of each as a line of JSON whether it is whole: "file", "valid",
 * then "events", "commands", "bytes" and "seconds", or "error". "-" is standard input. Returns the gravest exit status: 0,
 * 1 if a file cannot be opened or the output not be written, 2 if one is damaged.
 */
int check_recordings(char **files);

#endif /* CHECK_H_ */
