"""D4PG (Barth-Maron et al. 2018) in PyTorch on Octet's actors, for the experiments of Octet's own D4PG.

usage: d4pg_pytorch.py [EXPERIMENT [RUN_FOLDER [KEY=VALUE...]]]     as octet train, such as run.seed=2
       d4pg_pytorch.py --attach RUN_FOLDER                           learns for an octet-learner that runs already

Actors, replay, evaluations, the int8 policy and the run folder are Octet's; what is below learns. The run ends at the
goal of its preset, a mean return of greedy episodes of the int8 policy: dmc/cheetah_run (625), pendulum …"""

import copy
import sys

import octet
import torch
from torch import nn

TARGET_PERIOD, NORM_MAX = 100, 40.0


def network(learner, inputs, outputs):
    """The layers that learner.layers describes, for other inputs and outputs: linear, its norm, its activation."""
    activations = {"tanh": nn.Tanh, "elu": nn.ELU, "relu": nn.ReLU}
    parts = []
    for layer in learner.layers[:-1]:
        parts += [nn.Linear(inputs, layer.outputs)]
        parts += [nn.LayerNorm(layer.outputs)] if layer.layer_norm else []
        parts += [activations[layer.activation]()]
        inputs = layer.outputs
    return nn.Sequential(*parts, nn.Linear(inputs, outputs))


class D4PG:
    def __init__(self, learner):
        obs, dim = learner.layers[0].inputs, learner.action_count
        self.low, self.high = torch.from_numpy(learner.action_low), torch.from_numpy(learner.action_high)
        self.policy, self.critic = network(learner, obs, dim), network(learner, obs + dim, learner.atoms)
        with torch.no_grad():
            self.policy[-1].weight.mul_(0.01)  # the first actions are near the middle of the box
        self.targets = copy.deepcopy((self.policy, self.critic))
        self.adams = [torch.optim.Adam(net.parameters(), lr=1e-3, fused=True) for net in (self.policy, self.critic)]
        self.range = learner.value_range
        self.support = torch.linspace(*self.range, learner.atoms)
        self.updates = 0

    def logits(self, critic, obs, actions):
        return critic(torch.cat((obs, actions), 1))

    @torch.no_grad()
    def wanted(self, batch):
        """The distribution of the n-step return, projected onto the support."""
        policy, critic = self.targets
        next_obs = torch.from_numpy(batch.next_observations)
        p = self.logits(critic, next_obs, torch.tanh(policy(next_obs))).softmax(1)
        rewards, discounts = torch.from_numpy(batch.rewards), torch.from_numpy(batch.discounts)
        atoms = (rewards[:, None] + discounts[:, None] * self.support).clamp_(*self.range)
        places = (atoms - self.support[0]) / (self.support[1] - self.support[0])
        below = places.floor().clamp_(max=len(self.support) - 2)  # each atom is shared by the two beside it
        upper, index = p * (places - below), below.long()
        return torch.zeros_like(p).scatter_add_(1, index, p - upper).scatter_add_(1, index + 1, upper)

    def step(self, which, net, loss, rate):
        self.adams[which].param_groups[0]["lr"] = rate
        self.adams[which].zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), NORM_MAX, foreach=True)
        self.adams[which].step()
        return norm

    def update(self, batch):
        obs = torch.from_numpy(batch.observations)
        actions = (torch.from_numpy(batch.actions) - self.low) / (self.high - self.low) * 2 - 1
        wanted = self.wanted(batch)
        log_p = self.logits(self.critic, obs, actions).log_softmax(1)
        losses = -(wanted * log_p).sum(1)
        divergence = losses.detach() + (wanted * wanted.clamp(min=1e-30).log()).sum(1)  # KL: the priority
        loss = (torch.from_numpy(batch.importance) * losses).mean()
        norm = self.step(1, self.critic, loss, batch.learning_rate)
        for parameter in self.critic.parameters():
            parameter.requires_grad_(False)
        value = (self.logits(self.critic, obs, torch.tanh(self.policy(obs))).softmax(1) @ self.support).mean()
        policy_norm = self.step(0, self.policy, -value, batch.learning_rate)
        for parameter in self.critic.parameters():
            parameter.requires_grad_(True)
        self.updates += 1
        if self.updates % TARGET_PERIOD == 0:
            self.targets = copy.deepcopy((self.policy, self.critic))
        return divergence.clamp(min=0), {"loss": loss.detach(), "policy_value": value.detach(), "grad_norm": norm,
                                         "policy_grad_norm": policy_norm}


def main(arguments):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # far atoms have probabilities near 1e-40, which are slow
    if arguments[:1] == ["--attach"]:
        learner = octet.Learner.attach(arguments[1])
    else:
        experiment, folder, *settings = [*arguments, *["dmc/cheetah_run", "d4pg-pytorch"][len(arguments):]]
        learner = octet.Learner(experiment, folder, dict(setting.split("=", 1) for setting in settings))
    with learner:
        agent = D4PG(learner)
        for batch in learner:
            priorities, metrics = agent.update(batch)
            is_due = agent.updates % learner.publish_period == 0
            learner.update(priorities=priorities, weights=agent.policy if is_due else None, metrics=metrics)
        print(f"{learner.env_id}: {learner.reason} after {agent.updates} updates")


if __name__ == "__main__":
    print(__doc__) if "--help" in sys.argv else main(sys.argv[1:])
