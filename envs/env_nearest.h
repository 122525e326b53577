#ifndef ENVS_ENV_NEAREST_H
#define ENVS_ENV_NEAREST_H

// Returns the name in the NULL-terminated list that is most like word, ignoring case; NULL: none is
// near (at most 5 letters changed). Threads: any.
const char *env_nearest(const char *word, const char *const *names);

#endif // ENVS_ENV_NEAREST_H
