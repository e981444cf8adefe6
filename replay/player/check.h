/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reads recordings as they are read for playing, and writes a line of JSON for each: "file", "valid", then
 * "events", "commands", "bytes" and "seconds", or "error". "-" is standard input. Returns the highest exit status: 0, 1 if a
 * file cannot be opened or the output cannot be written, 2 if a recording is damaged.
 */
int check_recordings(char **files);
