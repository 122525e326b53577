#ifndef RENDER_RENDER_VIDEO_H
#define RENDER_RENDER_VIDEO_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// Frames for people: a video (.mp4, .gif) by piping them to the ffmpeg that is found in PATH, or a
// folder of PNG files, 000000.png and up.
//
// ffmpeg is started without a shell and writes PATH.tmp.PID, which gets its name when everything is
// in it: PATH never holds a part of a video. Frames in a folder are whole files and stay, whatever
// happens later.
//
// Threads: one at a time. Owns: the ffmpeg process and the unfinished file until close or abandon.
typedef struct render_video render_video;

typedef struct render_video_request {
    const char *path;   // "….mp4" or "….gif", does not exist yet; NULL: a folder
    const char *folder; // does not exist yet or is empty
    uint32_t width, height;
    double frames_per_second;
    const _Atomic(int) *stop; // NULL, or: not 0 ends waiting with OCT_ECLOSED
} render_video_request;

// Errors, with a line in reason: OCT_EINVAL (another extension, exists already, a size that cannot
// be), OCT_ENOTFOUND (no ffmpeg; no cairo in this build), OCT_EIO (cannot write there).
OCT_CHECKED oct_err render_video_open(render_video **out, const render_video_request *request,
                                      char *reason, size_t reason_size);
// rgb[height][width][3]. OCT_EIO: cannot write, or ffmpeg has ended (with its last line).
OCT_CHECKED oct_err render_video_add(render_video *video, const uint8_t *rgb, char *reason,
                                     size_t reason_size);
uint32_t render_video_frames(const render_video *video);
// Waits for ffmpeg and frees the video. On an error nothing is left of it (but whole frames).
OCT_CHECKED oct_err render_video_close(render_video *video, char *reason, size_t reason_size);
// Frees the video, and removes what was begun. NULL is a no-op.
void render_video_abandon(render_video *video);

#endif // RENDER_RENDER_VIDEO_H
