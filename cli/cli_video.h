#ifndef CLI_CLI_VIDEO_H
#define CLI_CLI_VIDEO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envs/env.h"

// What an evaluation looks like: the first episodes of its environment 0, as a video file or as PNG
// frames.
//
// While one is open, the signals that stop (cli_signals.h) are noted; a second one ends the process
// at once. Threads: main thread, one at a time. Owns: what it writes to, until close or abandon.
typedef struct cli_video cli_video;

typedef struct cli_video_options {
    const char *path;        // of --video, or NULL
    const char *folder;      // of --frames, or NULL
    uint32_t width, height;  // 0: what suits the environment
    uint32_t episodes;       // 0: one
    double seconds;          // of the video, at most; 0: as long as the episodes are
    const char *env_options; // of e; with an action repeat there are fewer frames a second
} cli_video_options;

// e: an environment like the one that is to be looked at; not kept. Errors: with a line in reason.
OCT_CHECKED oct_err cli_video_open(cli_video **out, const cli_video_options *options, const env *e,
                                   char *reason, size_t reason_size);
// A look of actor_evaluate: one frame, while the episodes last. arg: the cli_video.
OCT_CHECKED oct_err cli_video_frame(void *arg, env *e, const void *obs, uint32_t ended,
                                    char *reason, size_t reason_size);
// Completes the file, says so in one line of text, and frees the video.
OCT_CHECKED oct_err cli_video_close(cli_video *video, char *text, size_t text_size, char *reason,
                                    size_t reason_size);
void cli_video_abandon(cli_video *video); // removes what was begun; NULL is a no-op

#endif // CLI_CLI_VIDEO_H
