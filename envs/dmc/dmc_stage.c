// The floor, sky, light and camera with which Control Suite models are rendered.
#include "envs/dmc/dmc_stage.h"

#include <math.h>
#include <pthread.h>

#include "common/oct_base.h"

#define SKY_SIDE    64 // six faces, one below the other
#define FLOOR_SIDE  256
#define SHADOW_SIDE 1024 // MuJoCo's 4096 takes most of the time if the CPU draws

enum { TEXTURE_SKY, TEXTURE_FLOOR, TEXTURES };

#define SKY_BYTES   (SKY_SIDE * SKY_SIDE * 6 * 3)
#define FLOOR_BYTES (FLOOR_SIDE * FLOOR_SIDE * 3)

static mjtByte pixels[SKY_BYTES + FLOOR_BYTES];
static pthread_once_t painted = PTHREAD_ONCE_INIT;

static mjtByte *
pixel_put(mjtByte *at, const double low[3], const double high[3], double share)
{
    for (int k = 0; k < 3; k++) {
        *at++ = (mjtByte)(255 * (low[k] + (high[k] - low[k]) * share) + 0.5);
    }
    return at;
}

// Paints the faces of a cube around the camera: right, left, up, down, front, back. The colour
// depends on the elevation.
static mjtByte *
sky_paint(mjtByte *at)
{
    static const double horizon[3] = {0.82, 0.88, 0.93}, zenith[3] = {0.36, 0.53, 0.72};
    for (int face = 0; face < 6; face++) {
        for (int y = 0; y < SKY_SIDE; y++) {
            for (int x = 0; x < SKY_SIDE; x++) {
                double u = (2 * x + 1.0) / SKY_SIDE - 1, v = 1 - (2 * y + 1.0) / SKY_SIDE;
                double up = face == 2 ? 1 : face == 3 ? -1 : v;
                double side = face == 2 || face == 3 ? sqrt(u * u + v * v) : sqrt(1 + u * u);
                at = pixel_put(at, horizon, zenith, fmax(0, atan2(up, side) / (M_PI / 2)));
            }
        }
    }
    return at;
}

// Paints two by two fields, which multiply the floor's own colour.
static void
floor_paint(mjtByte *at)
{
    static const double dark[3] = {0.8, 0.8, 0.8}, light[3] = {1, 1, 1};
    for (int y = 0; y < FLOOR_SIDE; y++) {
        for (int x = 0; x < FLOOR_SIDE; x++) {
            at = pixel_put(at, dark, light, (x < FLOOR_SIDE / 2) == (y < FLOOR_SIDE / 2));
        }
    }
}

static void
paint(void)
{
    floor_paint(sky_paint(pixels));
}

mjModel
dmc_stage_model(const mjModel *m, uint32_t width, uint32_t height)
{
    static int types[TEXTURES] = {mjTEXTURE_SKYBOX, mjTEXTURE_2D};
    static int heights[TEXTURES] = {6 * SKY_SIDE, FLOOR_SIDE};
    static int widths[TEXTURES] = {SKY_SIDE, FLOOR_SIDE};
    static int starts[TEXTURES] = {0, SKY_BYTES};
    OCT_ASSERT(pthread_once(&painted, paint) == 0);
    mjModel staged = *m;
    staged.ntex = TEXTURES;
    staged.ntexdata = sizeof(pixels);
    staged.tex_type = types;
    staged.tex_height = heights;
    staged.tex_width = widths;
    staged.tex_adr = starts;
    staged.tex_rgb = pixels;
    for (int k = 0; k < 3; k++) { // keeps shadows from being black
        staged.vis.headlight.ambient[k] = 0.35F;
        staged.vis.headlight.diffuse[k] = 0.45F;
    }
    staged.vis.quality.shadowsize = SHADOW_SIDE;
    staged.vis.global.offwidth = (int)width;
    staged.vis.global.offheight = (int)height;
    return staged;
}

void
dmc_stage_camera(mjvCamera *out, const mjModel *m)
{
    mjv_defaultCamera(out);
    int named = mj_name2id(m, mjOBJ_CAMERA, "main");
    if (m->ncam > 0) {
        out->type = mjCAMERA_FIXED;
        out->fixedcamid = named >= 0 ? named : 0;
        return;
    }
    for (int k = 0; k < 3; k++) {
        out->lookat[k] = m->stat.center[k];
    }
    out->distance = 1.5 * m->stat.extent;
    out->azimuth = 90;
    out->elevation = -15;
}

void
dmc_stage_scene(mjvScene *scene, const mjModel *m)
{
    int ground = mj_name2id(m, mjOBJ_GEOM, "floor");
    ground = ground >= 0 ? ground : mj_name2id(m, mjOBJ_GEOM, "ground");
    // Fields of half a metre, and smaller ones for small models.
    float repeat = (float)fmax(1, exp2(1 - round(log2(m->stat.extent))));
    for (int k = 0; k < scene->ngeom; k++) {
        mjvGeom *geom = &scene->geoms[k];
        if (geom->objtype == mjOBJ_GEOM && geom->type == mjGEOM_PLANE && geom->objid == ground) {
            geom->texid = TEXTURE_FLOOR;
            geom->texuniform = 1;
            geom->texrepeat[0] = geom->texrepeat[1] = repeat;
        }
    }
}
