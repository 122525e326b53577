#ifndef ENVS_ENV_NEAREST_H
#define ENVS_ENV_NEAREST_H

// The name of the NULL-terminated list that is most like word, upper and lower case alike; NULL:
// none is near (5 letters changed, at most). Threads: any.
const char *env_nearest(const char *word, const char *const *names);

#endif // ENVS_ENV_NEAREST_H
