#ifndef ENVS_RENDER_RENDER_FFMPEG_H
#define ENVS_RENDER_RENDER_FFMPEG_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// The ffmpeg in PATH as a child process that reads raw frames and writes one file. It has a process
// group of its own, so that Ctrl-C reaches only octet, which then ends it. Its messages are kept.
//
// Threads: one user at a time. Owns: the process.
typedef struct render_ffmpeg render_ffmpeg;

typedef struct render_ffmpeg_request {
    const char *path;   // overwritten
    const char *format; // "mp4" or "gif"
    uint32_t width, height;
    double frames_per_second;
    const _Atomic(int) *stop; // NULL, or: a value other than 0 ends waiting with OCT_ECLOSED
} render_ffmpeg_request;

// Starts ffmpeg. OCT_ENOTFOUND: PATH has no ffmpeg; OCT_EIO: it cannot be started; with one line in
// reason.
OCT_CHECKED oct_err render_ffmpeg_start(render_ffmpeg **out, const render_ffmpeg_request *request,
                                        oct_reason *why);
// Writes bytes of frames, rgb24. OCT_EIO: ffmpeg has ended (reason has its last line); OCT_ECLOSED:
// stopped.
OCT_CHECKED oct_err render_ffmpeg_write(render_ffmpeg *ffmpeg, const uint8_t *bytes, size_t count,
                                        oct_reason *why);
// Ends the frames, waits for ffmpeg to end, and frees it in any case. Errors as
// render_ffmpeg_write.
OCT_CHECKED oct_err render_ffmpeg_finish(render_ffmpeg *ffmpeg, oct_reason *why);
void render_ffmpeg_kill(render_ffmpeg *ffmpeg); // ends ffmpeg at once and frees it

#endif // ENVS_RENDER_RENDER_FFMPEG_H
