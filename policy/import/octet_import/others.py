"""Names files of libraries that are not read, and says what to do instead."""

from inert_pickle import Object, named

_LAYERS = "give its layers to octet.import_policy as arrays"
_EXPORT = f"export its actor with torch.onnx.export, or {_LAYERS}"
_JAX = f"{_LAYERS}, kernels transposed"
_PACKAGES = {
    "brax": ("Brax", _JAX), "flax": ("Flax", _JAX), "jax": ("JAX", _JAX), "jaxlib": ("JAX", _JAX), "haiku": ("Haiku", _JAX),
    "optax": ("JAX", _JAX), "rl_games": ("rl_games", _EXPORT), "skrl": ("skrl", _EXPORT), "ray": ("RLlib", _EXPORT),
    "tianshou": ("Tianshou", _EXPORT), "d3rlpy": ("d3rlpy", _EXPORT), "sklearn": ("scikit-learn", _LAYERS),
    "tensorflow": ("TensorFlow", "convert it to ONNX with tf2onnx"), "keras": ("Keras", "export it with model.export(FILE, format='onnx')")}
_ZIPS = {
    "serialized_exported_program.json": "a program of torch.export", "archive_format": "a program of torch.export",
    "model.weights.h5": "a model of Keras", "manifest.ocdbt": "a checkpoint of Orbax (JAX)", "saved_model.pb": "a model of TensorFlow",
    "algorithm_state.pkl": "a checkpoint of RLlib", "replay_buffer.pkl": "a replay buffer"}
_ZIP_ADVICE = {"a program of torch.export": "export the module with torch.onnx.export", "a model of Keras": _PACKAGES["keras"][1],
               "a checkpoint of Orbax (JAX)": _JAX, "a model of TensorFlow": _PACKAGES["tensorflow"][1],
               "a checkpoint of RLlib": _EXPORT, "a replay buffer": "import the model that was saved with it"}


def other_bytes(data):
    """Returns what a file is that is neither a zip nor a pickle, and what to do; None for others."""
    if data[:4] == b"\x89HDF":
        return f"a file of HDF5 (Keras), which is not read: {_PACKAGES['keras'][1]}"
    if data[8:9] == b"{" and int.from_bytes(data[:8], "little") < len(data):
        return "a file of safetensors, which is not read: torch.save(safetensors.torch.load_file(FILE), 'actor.pt') makes such a file"
    if data[4:8] == b"TFL3":
        return "a model of TensorFlow Lite, which is not read: import the ONNX model that it was made of"
    is_map = len(data) > 1 and (0x81 <= data[0] <= 0x8F and 0xA0 <= data[1] <= 0xBF)
    return f"parameters of Flax (msgpack), which are not read: {_JAX}" if is_map else None


def other_zip(names):
    """The same of a zip file, by the names of its files."""
    found = next((_ZIPS[name] for name in (path.rpartition("/")[2] for path in names) if name in _ZIPS), None)
    return found and f"{found}, which is not read: {_ZIP_ADVICE[found]}"


def _keys(value, depth=4):
    """Yields the keys of nested dictionaries and of the states of objects."""
    value = value.state if isinstance(value, Object) else value
    if isinstance(value, dict) and depth > 0:
        for key, part in value.items():
            yield str(key)
            yield from _keys(part, depth - 1)


def _package(value):
    """Returns the package of what a pickle begins with."""
    for _ in range(3):
        if isinstance(value, (list, tuple)) and value:
            value = next((part for part in value if isinstance(part, Object)), value[-1])
    return named(value).partition(".")[0]


def other_value(value):
    """The same of what a pickle describes, by its class or its keys."""
    package, keys = _package(value), set(_keys(value[-1] if isinstance(value, tuple) and value else value))
    if any(key.startswith("a2c_network.") for key in keys) or "actor_mlp" in {key.partition(".")[0] for key in keys}:
        package = "rl_games"
    elif {"log_std_parameter", "state_preprocessor"} & keys or any(key.startswith("net_container.") for key in keys):
        package = "skrl"
    elif "kernel" in keys:
        package = "flax"
    elif {"worker", "default_policy", "policy_states"} & keys:
        package = "ray"
    elif any(key.startswith(("fc_mean.", "fc_mu.")) for key in keys):
        return f"an actor of CleanRL whose layers are not numbered, which is not read: {_EXPORT}"
    if package not in _PACKAGES:
        return None
    name, advice = _PACKAGES[package]
    return f"parameters of {name}, which are not read: {advice}"
