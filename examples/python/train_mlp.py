"""train_mlp.py FOLDER - trains a small network for some steps and records it with Marey.

Writes FOLDER/train_mlp.json.gz, a trace that `marey report`, Perfetto and chrome://tracing
read, and prints where the time went.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import marey

WARM_UP, STEPS = 2, 20
BATCH = 64


class Clusters(Dataset):
    """Points of ten noisy clusters: something that a network can learn."""

    def __init__(self, n_points: int) -> None:
        generator = torch.Generator().manual_seed(1)
        self.labels = torch.randint(0, 10, (n_points,), generator=generator)
        centres = torch.randn(10, 128, generator=generator)
        self.points = centres[self.labels] + 0.5 * torch.randn(n_points, 128, generator=generator)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.points[index], self.labels[index]


def make_network() -> nn.Module:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Dropout(0.1),
                         nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))


def train(network: nn.Module, prof: marey.profile) -> list[float]:
    """Trains for some steps; the loss of each."""
    batches = DataLoader(Clusters(BATCH * (WARM_UP + STEPS)), batch_size=BATCH, shuffle=True,
                         num_workers=1)
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    losses = []
    for points, labels in batches:
        with marey.record_function("forward"):
            loss = loss_of(network(points), labels)
        with marey.record_function("backward"):
            optimizer.zero_grad()
            loss.backward()
        with marey.record_function("update"):
            optimizer.step()
        losses.append(loss.item())
        marey.counter("loss", losses[-1])
        prof.step()
    return losses


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "train_mlp.json.gz"

    # What happens only once is not of interest: the first steps warm up.
    steps = marey.schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1)
    with marey.profile(schedule=steps, record_shapes=True) as prof:
        losses = train(make_network(), prof)
    prof.export_chrome_trace(target, overwrite=True)

    print(f"trained {len(losses)} steps, loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    print()
    print(prof.key_averages().table(row_limit=15, layout="marey"))
    stats = prof.stats
    print(f"{stats.n_records:,} records, {stats.n_lost} lost; times are good to"
          f" {stats.clock_error_ns} ns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
