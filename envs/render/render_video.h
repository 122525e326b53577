#ifndef ENVS_RENDER_RENDER_VIDEO_H
#define ENVS_RENDER_RENDER_VIDEO_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Frames for people: a video (.mp4, .gif), which the ffmpeg in PATH encodes, or a folder of PNG
// files, 000000.png and up.
//
// ffmpeg is started without a shell and writes PATH.tmp.PID, which is renamed to PATH when it is
// complete, so PATH never holds a part of a video. Frames in a folder are whole files, and stay
// even if a later step fails.
//
// Threads: one user at a time. Owns: the ffmpeg process and the unfinished file until close or
// abandon.
typedef struct render_video render_video;

typedef struct render_video_request {
    const char *path;   // ends in .mp4 or .gif, and does not exist; NULL: folder is set
    const char *folder; // does not exist or is empty; NULL: path is set
    uint32_t width, height;
    double frames_per_second;
    const _Atomic(int) *stop; // NULL, or: a value other than 0 ends waiting with OCT_ECLOSED
} render_video_request;

// Errors, with one line in reason:
//   OCT_EINVAL  the name has another extension, is empty or too long, or the file exists, or the
//               folder is not empty
//   OCT_ENOTFOUND  no ffmpeg in PATH, or no cairo in this build
//   OCT_EIO  the file or folder cannot be written, or ffmpeg not started
OCT_CHECKED oct_err render_video_open(render_video **out, const render_video_request *request,
                                      oct_reason *why);
// Adds a frame, rgb[height][width][3]. OCT_EIO: it cannot be written, or ffmpeg has ended (reason
// has its last line); OCT_ECLOSED: stopped.
OCT_CHECKED oct_err render_video_add(render_video *video, const uint8_t *rgb, oct_reason *why);
uint32_t render_video_frames(const render_video *video);
// Waits for ffmpeg and frees the video. On an error only whole frames of a folder stay.
OCT_CHECKED oct_err render_video_close(render_video *video, oct_reason *why);
// Frees the video and removes the unfinished file and the empty folders that open made. NULL is a
// no-op.
void render_video_abandon(render_video *video);

#endif // ENVS_RENDER_RENDER_VIDEO_H
