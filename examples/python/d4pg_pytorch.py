"""D4PG (Barth-Maron et al. 2018) in PyTorch on Octet's actors, for the experiments of Octet's own D4PG.

Actors, replay, evaluations, the int8 policy and the run folder are Octet's; what is below learns, on the CPU or on a graphics
card. The run ends at the goal of its preset, a mean return of greedy episodes of the int8 policy: dmc/cheetah_run (625),
pendulum …"""

import argparse
import copy

import numpy as np
import octet
import torch
from torch import nn

TARGET_PERIOD, NORM_MAX, ACTION_NORM_MAX = 100, 40.0, 1.0
COLUMNS = ["observations", "actions", "rewards", "discounts", "next_observations", "importance"]
METRICS = ["loss", "policy_value", "grad_norm", "policy_grad_norm"]


def network(learner, inputs, outputs, hidden=()):
    """The layers that learner.layers describes, for other inputs and outputs: linear, its norm, its activation. hidden:
    other widths; layers beyond the policy's are as its last."""
    activations = {"relu": nn.ReLU, "tanh": nn.Tanh, "elu": nn.ELU, "silu": nn.SiLU, "gelu": nn.GELU, "mish": nn.Mish,
                   "gelu_tanh": lambda: nn.GELU("tanh"), "sigmoid": nn.Sigmoid, "softplus": nn.Softplus,
                   "leaky_relu": nn.LeakyReLU, "relu6": nn.ReLU6, "hard_swish": nn.Hardswish}
    *own, _ = learner.layers
    parts = []
    for k, width in enumerate(hidden or [layer.outputs for layer in own]):
        layer = own[min(k, len(own) - 1)]
        parts += [nn.Linear(inputs, width)]
        parts += [nn.LayerNorm(width)] if layer.layer_norm else []
        parts += [activations[layer.activation]()]
        inputs = width
    return nn.Sequential(*parts, nn.Linear(inputs, outputs))


class Rows:
    """A batch on the device. Its columns are packed, so that they go there by one copy."""

    def __init__(self, batch, device):
        columns = [getattr(batch, name) for name in COLUMNS]
        sizes = [column.size for column in columns]
        self.here = torch.empty(sum(sizes), pin_memory=device.type == "cuda")
        self.there = torch.empty(sum(sizes), device=device)
        for name, column, part in zip(COLUMNS, columns, self.there.split(sizes)):
            setattr(self, name, part.view(column.shape))

    def load(self, batch):
        np.concatenate([getattr(batch, name).ravel() for name in COLUMNS], out=self.here.numpy())
        self.there.copy_(self.here, non_blocking=True)


def cut_rows(slope):
    """The slope of a mean over rows, each row's part cut to ACTION_NORM_MAX."""
    norms = slope.norm(dim=1, keepdim=True) * len(slope)
    return slope * (ACTION_NORM_MAX / norms.clamp(min=ACTION_NORM_MAX))


class D4PG:
    """critic_hidden: the critic's widths, where they are not the policy's. It never leaves this program."""

    def __init__(self, learner, device="cpu", critic_hidden=()):
        self.device = torch.device(device)
        obs, dim = learner.layers[0].inputs, learner.action_count
        self.low = torch.from_numpy(learner.action_low).to(self.device)
        self.high = torch.from_numpy(learner.action_high).to(self.device)
        self.policy = network(learner, obs, dim).to(self.device)
        self.critic = network(learner, obs + dim, learner.atoms, critic_hidden).to(self.device)
        with torch.no_grad():
            self.policy[-1].weight.mul_(0.01)  # the first actions are near the middle of the box
        self.targets = copy.deepcopy((self.policy, self.critic))
        self.adams = [torch.optim.Adam(net.parameters(), lr=1e-3, fused=True) for net in (self.policy, self.critic)]
        self.range = learner.value_range
        self.support = torch.linspace(*self.range, learner.atoms, device=self.device)
        self.updates = 0
        self.rows = None

    def logits(self, critic, obs, actions):
        return critic(torch.cat((obs, actions), 1))

    @torch.no_grad()
    def wanted(self, rows):
        """The distribution of the n-step return, projected onto the support."""
        policy, critic = self.targets
        p = self.logits(critic, rows.next_observations, torch.tanh(policy(rows.next_observations))).softmax(1)
        atoms = (rows.rewards[:, None] + rows.discounts[:, None] * self.support).clamp_(*self.range)
        places = (atoms - self.support[0]) / (self.support[1] - self.support[0])
        below = places.floor().clamp_(max=len(self.support) - 2)  # each atom is shared by the two beside it
        upper, index = p * (places - below), below.long()
        return torch.zeros_like(p).scatter_add_(1, index, p - upper).scatter_add_(1, index + 1, upper)

    def step(self, which, net, loss):
        self.adams[which].zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), NORM_MAX, foreach=True)
        self.adams[which].step()
        return norm

    def learn(self):
        """One update from self.rows: the priorities of the rows, then METRICS."""
        rows = self.rows
        actions = (rows.actions - self.low) / (self.high - self.low) * 2 - 1
        wanted = self.wanted(rows)
        log_p = self.logits(self.critic, rows.observations, actions).log_softmax(1)
        losses = -(wanted * log_p).sum(1)
        divergence = losses.detach() + (wanted * wanted.clamp(min=1e-30).log()).sum(1)  # KL: the priority
        loss = (rows.importance * losses).mean()
        norm = self.step(1, self.critic, loss)
        for parameter in self.critic.parameters():
            parameter.requires_grad_(False)
        chosen = torch.tanh(self.policy(rows.observations))
        chosen.register_hook(cut_rows)
        value = (self.logits(self.critic, rows.observations, chosen).softmax(1) @ self.support).mean()
        policy_norm = self.step(0, self.policy, -value)
        for parameter in self.critic.parameters():
            parameter.requires_grad_(True)
        return torch.cat((divergence.clamp(min=0), torch.stack((loss.detach(), value.detach(), norm, policy_norm))))

    def update(self, batch):
        self.rows = self.rows or Rows(batch, self.device)
        self.rows.load(batch)
        for adam in self.adams:
            adam.param_groups[0]["lr"] = batch.learning_rate
        result = self.learn().cpu().numpy()
        self.updates += 1
        if self.updates % TARGET_PERIOD == 0:
            self.targets = copy.deepcopy((self.policy, self.critic))
        count = len(batch.rewards)
        return result[:count], dict(zip(METRICS, result[count:]))


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", nargs="?", default="dmc/cheetah_run", metavar="EXPERIMENT", help="a file or a preset")
    parser.add_argument("run_dir", nargs="?", default="d4pg-pytorch", metavar="RUN_FOLDER")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="as octet train --set, such as run.seed=2")
    parser.add_argument("--attach", metavar="RUN_FOLDER", help="learn for an octet-learner that runs already")
    parser.add_argument("--device", default="cpu", help="where updates are made, such as cuda (default: cpu)")
    parser.add_argument("--critic", type=lambda text: [int(width) for width in text.split(",")], default=(),
                        metavar="WIDTH,…", help="the critic's hidden layers (default: those of the policy)")
    return parser.parse_intermixed_args()


def main(arguments):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # far atoms have probabilities near 1e-40, which are slow
    torch.set_float32_matmul_precision("high")
    if arguments.attach:
        learner = octet.Learner.attach(arguments.attach)
    else:
        settings = dict(setting.split("=", 1) for setting in arguments.settings)
        learner = octet.Learner(arguments.experiment, arguments.run_dir, settings)
    with learner:
        agent = D4PG(learner, arguments.device, arguments.critic)
        for batch in learner:
            priorities, metrics = agent.update(batch)
            is_due = agent.updates % learner.publish_period == 0
            learner.update(priorities=priorities, weights=agent.policy if is_due else None, metrics=metrics)
        print(f"{learner.env_id}: {learner.reason} after {agent.updates} updates")


if __name__ == "__main__":
    main(options())
