"""Lightning's own labels are events of ours: it marks its hooks and steps by torch's record_function,
which anyone who records sees. Skipped where Lightning is not installed."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import marey.profiler

PACKAGES = "lightning.pytorch", "pytorch_lightning"
LABEL = "[pl]["


def lightning() -> Any:
    for name in PACKAGES:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return importlib.import_module(name)
    pytest.skip("Lightning is not installed")


@pytest.mark.filterwarnings("ignore")
def test_labels_of_a_training_are_recorded(tmp_path: Path) -> None:
    pl = lightning()

    class Module(pl.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)

        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            return self.layer(batch).sum()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    with marey.profiler.profile() as prof:
        trainer = pl.Trainer(
            max_steps=3, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
            profiler=pl.profilers.PyTorchProfiler(dirpath=tmp_path, filename="theirs"),
        )  # fmt: skip
        trainer.fit(Module(), torch.utils.data.DataLoader(torch.ones(6, 4), batch_size=2))
    labels = [e for e in prof.events() if (e.name or "").startswith(LABEL)]
    names = [e.name for e in labels]
    assert {e.kind for e in labels} == {"annotation"}
    (step,) = {name for name in names if "training_step" in name and "Strategy" in name}
    assert names.count(step) == 3
    operators = [e for e in prof.events() if e.name == "aten::addmm"]
    assert len(operators) == 3
    assert all(step in {parent.name for parent in parents(e)} for e in operators)


def parents(event: Any) -> list[Any]:
    found = []
    while event.parent is not None:
        event = event.parent
        found.append(event)
    return found
