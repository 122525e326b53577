#!/usr/bin/env python3
"""Writes tests/data/import: small ONNX models by both exporters of PyTorch, observations, and what onnxruntime answers.

usage: make_import_golden.py FOLDER        needs torch, onnx, onnxscript, onnxruntime, numpy

NAME.onnx        the model; NAME.onnx.data its weights, where the exporter writes them apart
NAME.obs.npy     observations [32][...]
NAME.out.npy     the first output, float32"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

ROWS = 32


class Normalised(nn.Module):
    """An actor for legged robots: empirical normalisation, ELU, actions scaled and within bounds by tanh."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.linspace(-3, 20, 6))
        self.register_buffer("std", torch.linspace(0.2, 5, 6))
        self.actor = nn.Sequential(nn.Linear(6, 12), nn.ELU(), nn.Linear(12, 8), nn.ELU(), nn.Linear(8, 2))

    def forward(self, obs):
        return torch.tanh(self.actor((obs - self.mean) / (self.std + 1e-2))) * torch.tensor([2.0, 0.5]) + 0.25


class Clipped(nn.Module):
    """Means without bounds of their own, clipped by the model; log deviations by another layer."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.mu, self.log_std = nn.Linear(16, 3), nn.Linear(16, 3)

    def forward(self, obs):
        x = self.body(obs)
        return torch.clamp(4 * self.mu(x), -1, 2), torch.clamp(self.log_std(x), -20, 2)


def cases():
    yield "tanh", nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2)), (4,), False
    yield "normalised", Normalised(), (6,), False
    yield "normalised_dynamo", Normalised(), (6,), True
    yield "clipped", Clipped(), (5,), False
    yield "conv", nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 3, 2), nn.ReLU(), nn.Flatten(),
                                nn.Linear(3 * 3 * 2, 8), nn.ReLU(), nn.Linear(8, 4), nn.Softmax(-1)), (3, 6, 5), False
    yield "conv_dynamo", nn.Sequential(nn.Conv2d(2, 3, 3), nn.ELU(), nn.Flatten(), nn.Linear(3 * 3 * 2, 4)), (2, 5, 4), True
    yield "norm_dynamo", nn.Sequential(nn.Linear(4, 20), nn.LayerNorm(20), nn.Tanh(), nn.Linear(20, 8), nn.Sigmoid(),
                                       nn.Linear(8, 3)), (4,), True
    yield "silu", nn.Sequential(nn.Linear(3, 4), nn.SiLU(), nn.Linear(4, 2)), (3,), False


def export(model, obs, path, dynamo):
    names = {"input_names": ["obs"], "output_names": ["actions", "log_std"][:2 if isinstance(model, Clipped) else 1]}
    if dynamo:
        shapes = ({0: torch.export.Dim("batch")},)
        torch.onnx.export(model, (obs[:2],), path, dynamo=True, dynamic_shapes=shapes, verbose=False, **names)
    else:
        torch.onnx.export(model, (obs[:1],), path, dynamo=False, dynamic_axes={"obs": {0: "batch"}}, **names)
    # What the exporter notes of its own machine.
    made = onnx.load(path)
    for part in [made, made.graph, *made.graph.node, *made.graph.input, *made.graph.output, *made.graph.value_info,
                 *made.graph.initializer]:
        part.ClearField("metadata_props") if hasattr(part, "metadata_props") else None
        part.ClearField("doc_string") if hasattr(part, "doc_string") else None
    data = path.with_name(path.name + ".data")
    data.unlink(missing_ok=True)
    onnx.save(made, path, save_as_external_data=dynamo, location=data.name, size_threshold=100)
    if dynamo:
        data.chmod(0o644)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, model, shape, dynamo) in enumerate(cases()):
        torch.manual_seed(seed)
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.5)
        obs = torch.randn(ROWS, *shape) * 2
        path = folder / f"{name}.onnx"
        export(model.eval(), obs, path, dynamo)
        out = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"obs": obs.numpy()})
        np.save(folder / f"{name}.obs.npy", obs.numpy())
        np.save(folder / f"{name}.out.npy", out[0])
        print(name, path.stat().st_size, out[0].shape)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
