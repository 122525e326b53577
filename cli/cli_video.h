#ifndef CLI_CLI_VIDEO_H
#define CLI_CLI_VIDEO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_reason.h"
#include "envs/env.h"

// Records the first episodes of environment 0 of an evaluation, as a video file or as PNG frames.
//
// While a recording is open, the signals that stop a command (cli_signals.h) are only noted, so
// that the file is completed; a second one ends the process at once. Threads: main thread, one at a
// time. Owns: its output, until close or abandon.
typedef struct cli_video cli_video;

typedef struct cli_video_options {
    const char *path;        // --video; NULL: not given
    const char *folder;      // --frames; NULL: not given
    uint32_t size[2];        // width and height in pixels; 0: chosen by the environment
    uint32_t episodes;       // 0: one
    double seconds;          // greatest length of the video; 0: all of the episodes
    const char *env_options; // options of e: an action repeat makes fewer frames a second
} cli_video_options;

// Opens a recording. e: an environment like the one to be shown; not kept. Errors: reason gets one
// line.
OCT_CHECKED oct_err cli_video_open(cli_video **out, const cli_video_options *options, const env *e,
                                   oct_reason *why);
// A callback of actor_evaluate that adds one frame, until the episodes have ended. arg: the
// cli_video.
OCT_CHECKED oct_err cli_video_frame(void *arg, env *e, const void *obs, uint32_t ended,
                                    oct_reason *why);
// Completes the file, writes one line about it to text, and frees the video.
OCT_CHECKED oct_err cli_video_close(cli_video *video, char *text, size_t text_size,
                                    oct_reason *why);
void cli_video_abandon(cli_video *video); // removes what was written; NULL is a no-op

#endif // CLI_CLI_VIDEO_H
