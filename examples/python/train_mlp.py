"""train_mlp.py FOLDER - trains a small network for a few steps and records it.

Writes FOLDER/train_mlp.pt.trace.json, a trace as torch.profiler writes it. Then try
`marey report FOLDER/train_mlp.pt.trace.json`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data import DataLoader, TensorDataset

STEPS = 5
BATCH = 64


def make_batches() -> DataLoader:
    """Points of ten noisy clusters: something that a network can learn."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(0, 10, (4096,), generator=generator)
    centres = torch.randn(10, 128, generator=generator)
    points = centres[labels] + 0.5 * torch.randn(4096, 128, generator=generator)
    return DataLoader(TensorDataset(points, labels), batch_size=BATCH, shuffle=True,
                      generator=generator)


def make_network() -> nn.Module:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Dropout(0.1),
                         nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))


def train(network: nn.Module, batches: DataLoader, steps: int) -> list[float]:
    """Trains for some steps; the loss of each."""
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    losses = []
    for _, (points, labels) in zip(range(steps), batches):
        with record_function("train_step"):
            loss = loss_of(network(points), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "train_mlp.pt.trace.json"

    network, batches = make_network(), make_batches()
    train(network, batches, 2)  # what happens only once is not of interest
    # torch's own profiler records here; Marey's recorder is not there yet.
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        losses = train(network, batches, STEPS)
    recorded.export_chrome_trace(str(target))
    print(f"trained {STEPS} steps, loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    print(f"trace: {target} ({target.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
