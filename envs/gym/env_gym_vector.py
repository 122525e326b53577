"""Vector environments of others, stepped as vectors. This text follows env_gym_worker.py in the same program, and starts it.

An id is that of a vector environment if it is registered with a `vector_entry_point` and no `entry_point`, if the option
vectorization_mode='vector_entry_point' asks for the former, or if its entry point returns a VectorEnv.

A host that accepts rows which only begin an episode (autoreset 2) steps one vector with all its environments
(VectorWorker). Any other host needs the first observation in the step that ends an episode, or resets each environment by
itself, which not every vector can do: it gets one vector of one environment for each of its own (One).
"""

MODE_KEY, MODE = "vectorization_mode", "vector_entry_point"


def opened(name, arguments, count):
    """Returns a VectorEnv with count environments if the name stands for one, else an Env."""
    arguments = dict(arguments)
    mode = arguments.pop(MODE_KEY, None)
    if mode not in (None, MODE):
        raise ValueError(f"option {MODE_KEY}={mode!r}: allowed is {MODE!r}, which steps all environments of a process as one "
                         "vector")
    module, _, own = name.rpartition(":")
    if module:
        importlib.import_module(module)
    spec = gymnasium.registry.get(own) or spec_of_class(module, own)
    if mode or (spec and spec.entry_point is None and spec.vector_entry_point is not None):
        return gymnasium.make_vec(name, num_envs=count, vectorization_mode=MODE, **arguments)
    if spec and takes_count(spec.entry_point):
        env = creator_of(spec.entry_point)(**{**spec.kwargs, **arguments, "num_envs": count})
        if is_vector(env):
            return env
        env.close()
    try:
        env = gymnasium.make(name if spec is None or own in gymnasium.registry else spec, **arguments)
    except TypeError as error:
        if "gymnasium.Env" not in str(error):
            raise
        raise TypeError(f"{error} An entry point that returns a VectorEnv has a parameter num_envs.") from None
    return env.unwrapped if is_vector(env.unwrapped) else env


def spec_of_class(module, name):
    """Returns what gymnasium.make takes for a class of the module that is not registered under its name."""
    kind = getattr(sys.modules.get(module), name, None)
    is_registered = any(spec.name == name for spec in gymnasium.registry.values())
    if is_registered or not (isinstance(kind, type) and issubclass(kind, (gymnasium.Env, gymnasium.vector.VectorEnv))):
        return None
    return gymnasium.envs.registration.EnvSpec(id=name, entry_point=kind)


def takes_count(entry_point):
    try:
        return "num_envs" in inspect.signature(creator_of(entry_point)).parameters
    except (TypeError, ValueError):
        return False


def creator_of(entry_point):
    """Returns the callable that an entry point is, or names as "MODULE:NAME"."""
    if callable(entry_point):
        return entry_point
    module, _, name = entry_point.partition(":")
    return getattr(importlib.import_module(module), name)


def is_vector(env):
    return isinstance(env, gymnasium.vector.VectorEnv) or hasattr(env, "single_action_space")


def autoreset_of(vector):
    """Returns "NextStep", "SameStep" or "Disabled"; Gymnasium takes the first where a vector does not say it."""
    mode = (getattr(vector, "metadata", None) or {}).get("autoreset_mode")
    return str(getattr(mode, "value", mode or "NextStep"))


def item_of(space, batch, i):
    """Returns the part of environment i of observations of all environments."""
    if isinstance(space, spaces.Dict):
        return {key: item_of(part, batch[key], i) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(item_of(part, its, i) for part, its in zip(space.spaces, batch, strict=True))
    return batch[i]


def info_of(infos, i):
    """Returns the values of environment i of a vector's info, whose keys with a leading underscore say who has one."""
    if not isinstance(infos, dict):  # an array of dictionaries
        return infos[i] or {}
    info = {}
    for key, values in infos.items():
        has_own = infos.get(f"_{key}")
        if isinstance(values, dict):
            info[key] = info_of(values, i)
        elif hasattr(values, "__len__") and len(values) > i and (has_own is None or has_own[i]):
            info[key] = values[i]
    return info


class Vector:
    """A VectorEnv behind one interface: seeds in the form that its reset takes, and its resets of some environments."""

    def __init__(self, vector, count):
        if vector.num_envs != count:
            raise ValueError(f"a vector of {vector.num_envs} environments, where {count} were asked for by num_envs")
        self.vector, self.count, self.mode = vector, count, autoreset_of(vector)
        if self.mode not in ("NextStep", "SameStep", "Disabled"):  # each would read the ends of episodes wrongly
            raise ValueError(f"metadata['autoreset_mode'] is {self.mode!r}; allowed are those of gymnasium.vector.AutoresetMode")
        self.obs_space, self.action_space = vector.single_observation_space, vector.single_action_space
        # Vectors of EnvPool have their own way of resetting some of their environments.
        self.is_pool = "env_id" in inspect.signature(vector.reset).parameters
        known = tuple(getattr(gymnasium.vector, kind) for kind in ("SyncVectorEnv", "AsyncVectorEnv"))
        self.resets_some = self.is_pool or self.mode == "Disabled" or (
            isinstance(vector.unwrapped, known) and hasattr(gymnasium.vector, "AutoresetMode"))
        self.spec = getattr(vector.spec, "config", vector.spec)  # where EnvPool has its limit

    def reset(self, seeds):
        """Resets all. Some vectors take a list of seeds, some an array, some only the first of consecutive ones."""
        if None in seeds:
            return parts_of(self.vector.reset(), "reset", ("observation", "info"))[0]
        error = None
        for given in (seeds, np.array(seeds), seeds[0]):
            try:
                return parts_of(self.vector.reset(seed=given), "reset", ("observation", "info"))[0]
            except (TypeError, ValueError, AssertionError, gymnasium.error.Error) as own:
                error = error or own
        raise error

    def reset_some(self, mask):
        """Resets the environments of the mask; the rows of the others are undefined."""
        if not self.is_pool:
            return self.vector.reset(options={"reset_mask": mask})[0]
        rows = np.flatnonzero(mask)
        some = self.vector.reset(rows.astype(np.int32))[0]
        batch = np.zeros((self.count, *some.shape[1:]), some.dtype)
        batch[rows] = some
        return batch

    def step(self, actions):
        return parts_of(self.vector.step(actions), "step", STEP_PARTS)

    def close(self):
        self.vector.close()


class One:
    """A vector of one environment as an environment."""

    begun = None  # the first observation of the next episode, where the step of the end had it

    def __init__(self, vector):
        self.its = Vector(vector, 1)
        self.observation_space, self.action_space, self.spec = self.its.obs_space, self.its.action_space, self.its.spec

    def reset(self, *, seed=None):
        row, self.begun = self.begun, None
        if row is None or seed is not None:
            row = item_of(self.observation_space, self.its.reset([seed]), 0)
        return row, {}

    def step(self, action):
        obs, reward, terminated, truncated, infos = self.its.step(np.asarray(action)[None])
        has_next = self.its.mode == "SameStep" and (terminated[0] or truncated[0])
        info = info_of(infos, 0)
        row = item_of(self.observation_space, obs, 0)
        self.begun = copy.deepcopy(row) if has_next else None
        row = info["final_obs"] if has_next else row
        return row, reward[0], terminated[0], truncated[0], info.get("final_info", {}) if has_next else info

    def close(self):
        self.its.close()


class VectorWorker(Worker):
    """Steps one vector with all environments. BEGINS marks the rows in which the vector only began an episode."""

    def open(self, first):
        self.vector = Vector(first, self.count)
        self.began = np.zeros(self.count, bool)  # an episode has ended, and the vector's next step begins one
        return self.vector.obs_space, self.vector.action_space, self.vector.spec

    def made(self):
        with PATIENCE:
            return Vector(opened(self.name, self.arguments, self.count), self.count)

    def close_all(self):
        vector, self.vector = self.vector, None
        with contextlib.suppress(Exception), PATIENCE:
            if vector is not None:
                vector.close()

    def rows_take(self, batch, which):
        """Copies observations of these environments."""
        shape = self.obs_shape
        if shape.n or shape.flat:
            for i in which:
                self.obs[i] = shape.row(item_of(shape.space, batch, i))
            return
        rows = exact(shape.space, batch) if shape.dtype == U8 else array_of(batch, NUMPY[shape.dtype])
        if rows.shape != (self.count, *shape.shape) and not (rows.shape == (self.count,) and shape.shape == (1,)):
            raise ValueError(f"observations of shape {rows.shape}, but the space of each environment says {shape.shape}")
        self.obs[which] = rows.reshape(self.obs.shape)[which]

    def begin_all(self):
        with PATIENCE:
            batch = self.vector.reset([None if seed is None else seed_of(seed) for seed in self.next_seeds])
        self.rows_take(batch, np.arange(self.count))
        self.next_seeds = [None] * self.count
        self.sums, self.counts = np.zeros(self.count), np.zeros(self.count, np.int32)
        self.began[:] = False

    def reset(self):
        which = np.flatnonzero(self.mask)
        try:
            if self.vector is None:
                self.vector = self.made()
            if len(which) == self.count:
                for i in which:
                    self.seed_take(i)
                self.begin_all()
            elif self.vector.resets_some:
                self.begin_some(which)
            else:
                raise ValueError("this vector environment cannot begin the episode of one of its environments")
        except Exception as error:  # whatever the user's code raises
            self.say(which[0], error)
            self.flags[which] = 0
            return self.refusal()
        self.flags[which] = OBS_IS_RESET
        return b"k"

    def begin_some(self, which):
        """Begins episodes in these environments only."""
        mask = np.zeros(self.count, bool)
        mask[which] = True
        with PATIENCE:
            batch = self.vector.reset_some(mask)
        self.rows_take(batch, which)
        self.sums[which], self.counts[which], self.began[which] = 0, 0, False

    def actions(self):
        shape = self.action_shape
        if shape.sides:
            return np.stack([self.action_of(i) for i in range(self.count)])
        if shape.n:
            return (self.action + shape.start).astype(self.vector.vector.action_space.dtype)
        return self.numbers_of(self.action)

    def ends_take(self, ended, infos):
        """Writes what belongs to the ends of episodes. The next episodes begin now if the vector can begin some."""
        has_next = self.vector.mode == "SameStep"
        for i in ended:
            info = info_of(infos, i)
            self.final[i] = self.obs_shape.row(info["final_obs"]) if has_next else self.obs[i]
            info = info.get("final_info", {}) if has_next else info
            self.metrics_take(i, info)
            self.returns[i], self.lengths[i] = self.sums[i], self.counts[i]
        self.sums[ended], self.counts[ended] = 0, 0
        if not has_next and self.vector.resets_some:
            self.begin_some(ended)
            has_next = True
        if has_next:
            self.flags[ended] |= OBS_IS_RESET
        else:
            self.began[ended] = True

    def advance_all(self):
        """Steps the vector, and writes rows, rewards and flags of all environments."""
        PATIENCE.check()
        with PATIENCE:
            obs, reward, terminated, truncated, infos = self.vector.step(self.actions())
        self.rows_take(obs, np.arange(self.count))
        self.reward[:] = array_of(reward, np.float64)
        if np.any((np.abs(self.reward) > FLOAT_MAX) & np.isfinite(self.reward)):
            raise ValueError("step returned a reward that is beyond float32")
        self.flags[:] = TERMINATED * np.asarray(terminated, bool) + TRUNCATED * np.asarray(truncated, bool)
        self.flags[self.began], self.reward[self.began] = BEGINS, 0
        self.sums += self.reward
        self.counts += ~self.began
        self.began[:] = False
        ended = np.flatnonzero(self.flags & (TERMINATED | TRUNCATED))
        if len(ended):
            self.ends_take(ended, infos)

    def fail_all(self, error):
        """The vector has raised: the episodes of all its environments have failed, and a new vector begins others."""
        self.say(0, error)
        self.close_all()
        self.flags[:], self.reward[:], self.returns[:], self.lengths[:] = FAILED | TRUNCATED, 0, 0, 0
        self.obs[:], self.final[:], self.metrics[:] = 0, 0, np.nan
        if PATIENCE.is_over:
            return
        try:
            self.vector = self.made()
            for i in range(self.count):
                self.seed_renewed(i)
            self.begin_all()
            self.flags[:] |= OBS_IS_RESET
        except Exception as own:
            self.say(0, own)
            self.close_all()

    def step(self):
        try:
            if self.vector is None:
                raise RuntimeError("the vector environment could not be opened again")
            self.advance_all()
        except Exception as error:
            self.fail_all(error)
        return b"k"


def worker_of(name, count, seed, autoreset, options):
    """Opens the environments. Returns the Worker or VectorWorker that steps them."""
    arguments = arguments_of(options)
    metric_names = metrics_of(arguments.pop(METRICS_KEY, None))
    takes_vectors = autoreset == 2
    first = opened(name, arguments, count if takes_vectors else 1)
    kind = VectorWorker if takes_vectors and is_vector(first) else Worker
    return kind(first, name, count, seed, autoreset > 0, arguments, metric_names)


serve()
