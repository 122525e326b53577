// octet eval --video and --frames: draws the first environment of an evaluation and writes the
// pictures.

#include "cli/cli_video.h"
#include "cli/cli_text.h"
#include "common/oct_reason.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli_signals.h"
#include "common/oct_action_repeat.h"
#include "common/oct_base.h"
#include "common/oct_text.h"
#include "envs/render/render_scene.h"
#include "envs/render/render_video.h"

#define RATE_MAX 50.0 // frames a second; a faster environment is drawn every few steps

struct cli_video {
    cli_video_options options;
    render_scene *scene;
    render_video *out;
    uint8_t *rgb;
    uint32_t width, height;
    uint32_t frames_max;
    bool is_cut;     // the episodes had more frames than frames_max
    uint32_t stride; // steps from one frame to the next
    // Frames a second.
    double rate;
    uint32_t step;  // step of the current episode, from 1 on
    uint32_t ended; // episodes that have ended
};

// Returns the actions a second. A clock of the environment's own counts actions already; otherwise
// the action repeat divides the steps.
static double
steps_per_second(const render_scene *scene, const octet_env_spec *spec, const char *env_options)
{
    double steps = render_scene_steps_per_second(scene);
    return spec->step_seconds > 0 ? steps : steps / oct_action_repeat_of(env_options);
}

static uint32_t
frames_of(double seconds, double rate)
{
    return seconds > 0 ? (uint32_t)fmin(ceil(seconds * rate - 1e-9), UINT32_MAX) : UINT32_MAX;
}

oct_err
cli_video_open(cli_video **out, const cli_video_options *options, const env *e, oct_reason *why)
{
    OCT_ASSERT((options->path == NULL) != (options->folder == NULL));
    cli_video *video = oct_alloc(sizeof(*video));
    video->options = *options;
    video->options.episodes = OCT_MAX(1u, options->episodes);
    oct_err err = render_scene_open(&video->scene, e, options->size[0], options->size[1], why);
    if (err == OCT_OK) {
        double steps = steps_per_second(video->scene, env_spec(e), options->env_options);
        video->stride = (uint32_t)ceil(steps / RATE_MAX - 1e-9);
        video->rate = steps / video->stride;
        video->frames_max = frames_of(options->seconds, video->rate);
        video->width = render_scene_width(video->scene);
        video->height = render_scene_height(video->scene);
        render_video_request request = {.path = options->path,
                                        .folder = options->folder,
                                        .width = video->width,
                                        .height = video->height,
                                        .frames_per_second = video->rate,
                                        .stop = cli_signals_noted()};
        cli_signals_note();
        err = render_video_open(&video->out, &request, why);
    }
    if (err != OCT_OK) {
        cli_video_abandon(video);
        return err;
    }
    video->rgb = oct_alloc((size_t)video->width * video->height * 3);
    *out = video;
    return OCT_OK;
}

oct_err
cli_video_frame(void *arg, env *e, const void *obs, uint32_t ended, oct_reason *why)
{
    cli_video *video = arg;
    video->step = ended == video->ended ? video->step + 1 : 1;
    video->ended = ended;
    if (ended >= video->options.episodes || (video->step - 1) % video->stride != 0) {
        return OCT_OK;
    }
    if (render_video_frames(video->out) == video->frames_max) {
        video->is_cut = true;
        return OCT_OK;
    }
    OCT_TRY(render_scene_draw(video->scene, e, 0, obs, video->rgb, why));
    return render_video_add(video->out, video->rgb, why);
}

static void
video_free(cli_video *video)
{
    render_scene_close(video->scene);
    free(video->rgb);
    free(video);
}

oct_err
cli_video_close(cli_video *video, char *text, size_t text_size, oct_reason *why)
{
    uint32_t frames = render_video_frames(video->out);
    oct_err err = render_video_close(video->out, why);
    if (err == OCT_OK) {
        snprintf(text, text_size, "%s: %u frame%s of %ux%u, %.4g per second, %s%u episode%s",
                 video->options.path != NULL ? video->options.path : video->options.folder, frames,
                 oct_text_plural(frames), video->width, video->height, video->rate,
                 video->is_cut ? "the beginning of " : "", video->options.episodes,
                 oct_text_plural(video->options.episodes));
    }
    video_free(video);
    return err;
}

void
cli_video_abandon(cli_video *video)
{
    if (video != NULL) {
        render_video_abandon(video->out);
        video_free(video);
    }
}
