#ifndef RENDER_RENDER_FFMPEG_H
#define RENDER_RENDER_FFMPEG_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// The ffmpeg of PATH as a child that reads raw frames and writes one file. It is a process group of
// its own (Ctrl-C reaches only octet, which then ends it), its messages are caught.
//
// Threads: one at a time. Owns: the process.
typedef struct render_ffmpeg render_ffmpeg;

typedef struct render_ffmpeg_request {
    const char *path;   // written over
    const char *format; // "mp4", "gif"
    uint32_t width, height;
    double frames_per_second;
    const _Atomic(int) *stop; // NULL, or: not 0 ends waiting
} render_ffmpeg_request;

// OCT_ENOTFOUND: there is no ffmpeg; OCT_EIO: it cannot be started.
OCT_CHECKED oct_err render_ffmpeg_start(render_ffmpeg **out, const render_ffmpeg_request *request,
                                        char *reason, size_t reason_size);
// OCT_EIO: it has ended (its last line), OCT_ECLOSED: stopped.
OCT_CHECKED oct_err render_ffmpeg_write(render_ffmpeg *ffmpeg, const uint8_t *bytes, size_t count,
                                        char *reason, size_t reason_size);
// No more frames come: waits for its end and frees it. Errors as render_ffmpeg_write.
OCT_CHECKED oct_err render_ffmpeg_finish(render_ffmpeg *ffmpeg, char *reason, size_t reason_size);
void render_ffmpeg_kill(render_ffmpeg *ffmpeg); // frees it

#endif // RENDER_RENDER_FFMPEG_H
