// Rows of an observation or action space of any dtype: sizes, conversions, and checks for finite
// numbers.
#include "envs/env_space.h"

#include <string.h>

uint32_t
env_space_count(const octet_env_space *space)
{
    uint32_t count = 1;
    for (uint32_t d = 0; space->n == 0 && d < space->rank; d++) {
        count *= space->shape[d];
    }
    return count;
}

uint32_t
env_space_bytes(const octet_env_space *space)
{
    static const uint32_t bytes[] = {
        [OCTET_ENV_F32] = 4, [OCTET_ENV_F64] = 8, [OCTET_ENV_U8] = 1, [OCTET_ENV_I32] = 4};
    return space->n > 0 ? 4 : env_space_count(space) * bytes[space->dtype];
}

uint32_t
env_space_dtype(const octet_env_space *space)
{
    return space->n > 0 ? OCTET_ENV_I32 : space->dtype;
}

// A number is not finite when its exponent is all ones. Compares integers, so that the loop
// vectorises.
static bool
numbers_are_finite(uint32_t dtype, const void *numbers, size_t count)
{
    unsigned strange = 0;
    if (dtype == OCTET_ENV_F32) {
        for (size_t k = 0; k < count; k++) {
            uint32_t bits;
            memcpy(&bits, (const char *)numbers + k * sizeof(bits), sizeof(bits));
            strange |= (bits & 0x7f800000u) == 0x7f800000u;
        }
    } else if (dtype == OCTET_ENV_F64) {
        for (size_t k = 0; k < count; k++) {
            uint64_t bits;
            memcpy(&bits, (const char *)numbers + k * sizeof(bits), sizeof(bits));
            strange |= (bits & 0x7ff0000000000000u) == 0x7ff0000000000000u;
        }
    }
    return strange == 0;
}

// Returns true if count indices, stride bytes apart, are in the space.
static bool
indices_are_inside(const octet_env_space *space, const void *rows, uint32_t stride, uint32_t count)
{
    unsigned outside = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index; // a negative index becomes a large one
        memcpy(&index, (const char *)rows + (size_t)i * stride, sizeof(index));
        outside |= index >= space->n;
    }
    return outside == 0;
}

bool
env_space_is_sound(const octet_env_space *space, const void *row)
{
    if (space->n > 0) {
        return indices_are_inside(space, row, 0, 1);
    }
    return numbers_are_finite(env_space_dtype(space), row, env_space_count(space));
}

bool
env_space_rows_are_sound(const octet_env_space *space, const void *rows, uint32_t stride,
                         uint32_t count)
{
    if (space->n > 0) {
        return indices_are_inside(space, rows, stride, count);
    }
    if (stride == env_space_bytes(space)) {
        return numbers_are_finite(env_space_dtype(space), rows,
                                  (size_t)count * env_space_count(space));
    }
    bool sound = true;
    for (uint32_t i = 0; i < count; i++) {
        sound = sound && env_space_is_sound(space, (const char *)rows + (size_t)i * stride);
    }
    return sound;
}

const char *
env_space_fault(const octet_env_space *space)
{
    return space->n > 0 ? "is outside its space" : "is not finite";
}

double
env_space_get(const octet_env_space *space, const void *row, uint32_t k)
{
    switch (env_space_dtype(space)) {
    case OCTET_ENV_F32:
        return (double)((const float *)row)[k];
    case OCTET_ENV_F64:
        return ((const double *)row)[k];
    case OCTET_ENV_U8:
        return ((const uint8_t *)row)[k];
    default:
        return ((const int32_t *)row)[k];
    }
}

void
env_space_put(const octet_env_space *space, void *row, uint32_t k, double value)
{
    switch (env_space_dtype(space)) {
    case OCTET_ENV_F32:
        ((float *)row)[k] = (float)value;
        break;
    case OCTET_ENV_F64:
        ((double *)row)[k] = value;
        break;
    case OCTET_ENV_U8:
        ((uint8_t *)row)[k] = (uint8_t)value;
        break;
    default:
        ((int32_t *)row)[k] = (int32_t)value;
        break;
    }
}

double
env_space_round(const octet_env_space *space, double value)
{
    return env_space_dtype(space) == OCTET_ENV_F32 ? (double)(float)value : value;
}
