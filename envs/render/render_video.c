// Writes frames to a video file through ffmpeg, or to a folder of PNG files.
#include "envs/render/render_video.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "envs/render/render_canvas.h"
#include "envs/render/render_ffmpeg.h"

#define NAME_MAX_BYTES 4096

struct render_video {
    char path[NAME_MAX_BYTES];            // of the video or of the folder
    char unfinished[NAME_MAX_BYTES + 32]; // file that ffmpeg writes until close
    render_ffmpeg *ffmpeg;                // NULL: a folder of frames
    uint32_t width, height;
    uint32_t frames;
    uint32_t made; // folders that open made, at the end of path
};

// ---- a folder of frames

static oct_err
folder_is_free(const char *folder, oct_reason *why)
{
    DIR *entries = oct_file_open_entries(folder);
    if (entries == NULL && errno == ENOENT) {
        return OCT_OK;
    }
    if (entries == NULL) {
        return oct_fail(why, OCT_EIO, "'%s': %s", folder, oct_file_strerror(errno));
    }
    uint32_t names = 0;
    while (names <= 2 && readdir(entries) != NULL) {
        names++;
    }
    (void)closedir(entries);
    if (names > 2) { // more than . and ..
        return oct_refuse(why, "'%s' is not empty; name a new folder for the frames", folder);
    }
    return OCT_OK;
}

static oct_err
folder_open(const char *folder, uint32_t *made, oct_reason *why)
{
    // Only a canvas shows that this build can write pictures.
    render_canvas *canvas;
    OCT_TRY(render_canvas_create(&canvas, 1, 1, why));
    render_canvas_destroy(canvas);
    OCT_TRY(folder_is_free(folder, why));
    if (oct_file_make_folders(folder, made) != OCT_OK) {
        return oct_fail(why, OCT_EIO, "cannot make the folder '%s': %s", folder,
                        oct_file_strerror(errno));
    }
    if (access(folder, W_OK) != 0) {
        return oct_fail(why, OCT_EIO, "cannot write into '%s': %s", folder,
                        oct_file_strerror(errno));
    }
    return OCT_OK;
}

// ---- a video

static const char *
format_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot != NULL && dot != path && dot[-1] != '/') {
        return strcasecmp(dot, ".mp4") == 0 ? "mp4" : strcasecmp(dot, ".gif") == 0 ? "gif" : NULL;
    }
    return NULL;
}

static oct_err
file_open(render_video *video, const render_video_request *request, oct_reason *why)
{
    const char *format = format_of(video->path);
    if (format == NULL) {
        return oct_refuse(why, "'%s': the name of a video ends in .mp4 or .gif", video->path);
    }
    struct stat there;
    if (lstat(video->path, &there) == 0) {
        return oct_refuse(why, "'%s' exists; remove it, or name another file", video->path);
    }
    snprintf(video->unfinished, sizeof(video->unfinished), "%s.tmp.%ld", video->path,
             (long)getpid());
    FILE *file = oct_file_stream(video->unfinished, "wx");
    if (file == NULL) {
        return oct_fail(why, OCT_EIO, "cannot write '%s': %s", video->path,
                        oct_file_strerror(errno));
    }
    (void)fclose(file);
    render_ffmpeg_request wanted = {.path = video->unfinished,
                                    .format = format,
                                    .width = request->width,
                                    .height = request->height,
                                    .frames_per_second = request->frames_per_second,
                                    .stop = request->stop};
    oct_err err = render_ffmpeg_start(&video->ffmpeg, &wanted, why);
    if (err != OCT_OK) {
        (void)oct_file_remove(video->unfinished);
    }
    return err;
}

// ---- both

oct_err
render_video_open(render_video **out, const render_video_request *request, oct_reason *why)
{
    OCT_ASSERT((request->path == NULL) != (request->folder == NULL));
    const char *path = request->path != NULL ? request->path : request->folder;
    if (path[0] == '\0' || strlen(path) >= NAME_MAX_BYTES) {
        return oct_refuse(why, "the name of the %s is empty or too long",
                          request->path != NULL ? "video" : "folder");
    }
    render_video *video = oct_alloc(sizeof(*video));
    snprintf(video->path, sizeof(video->path), "%s", path);
    video->width = request->width;
    video->height = request->height;
    oct_err err = request->path != NULL ? file_open(video, request, why)
                                        : folder_open(path, &video->made, why);
    if (err != OCT_OK) {
        free(video);
        return err;
    }
    *out = video;
    return OCT_OK;
}

oct_err
render_video_add(render_video *video, const uint8_t *rgb, oct_reason *why)
{
    if (video->ffmpeg != NULL) {
        size_t bytes = (size_t)video->width * video->height * 3;
        OCT_TRY(render_ffmpeg_write(video->ffmpeg, rgb, bytes, why));
    } else {
        char name[NAME_MAX_BYTES + 32];
        snprintf(name, sizeof(name), "%s/%06u.png", video->path, video->frames);
        OCT_TRY(render_png_write(name, rgb, video->width, video->height, why));
    }
    video->frames++;
    return OCT_OK;
}

uint32_t
render_video_frames(const render_video *video)
{
    return video->frames;
}

oct_err
render_video_close(render_video *video, oct_reason *why)
{
    oct_err err = OCT_OK;
    if (video->ffmpeg != NULL) {
        err = render_ffmpeg_finish(video->ffmpeg, why);
        if (err == OCT_OK && oct_file_rename(video->unfinished, video->path) != 0) {
            oct_reason_set(why, "cannot write '%s': %s", video->path, oct_file_strerror(errno));
            err = OCT_EIO;
        }
        if (err != OCT_OK) {
            (void)oct_file_remove(video->unfinished);
        }
    }
    free(video);
    return err;
}

void
render_video_abandon(render_video *video)
{
    if (video == NULL) {
        return;
    }
    if (video->ffmpeg != NULL) {
        render_ffmpeg_kill(video->ffmpeg);
        (void)oct_file_remove(video->unfinished);
    }
    oct_file_remove_folders(video->path, video->made); // the frames that were written stay
    free(video);
}
