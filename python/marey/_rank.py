"""Which process of a distributed job this is."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Rank:
    """A rank and the size of its job; None is not known."""

    __slots__ = ("json", "rank", "world_size")

    def __init__(
        self,
        rank: int | None = None,
        world_size: int | None = None,
        json: str | None = None,
    ) -> None:
        self.rank = rank
        self.world_size = world_size
        self.json = json
        """What torch.profiler writes as distributedInfo."""


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


def _of_environment() -> Rank:
    """As a launcher such as torchrun tells it."""
    rank, world_size = _number("RANK"), _number("WORLD_SIZE")
    if rank is None:
        return Rank()
    size = "" if world_size is None else f', "world_size": {world_size}'
    return Rank(rank, world_size, f'{{"rank": {rank}{size}}}')


def _of_torch(distributed: Any) -> Rank:
    import json

    rank, world_size = distributed.get_rank(), distributed.get_world_size()
    backend = distributed.get_backend()
    info = {"backend": backend, "rank": rank, "world_size": world_size}
    # What not every torch has is left out where it is missing.
    if hasattr(distributed, "get_pg_count"):
        info["pg_count"] = distributed.get_pg_count()
    configs = getattr(distributed.distributed_c10d, "_get_all_pg_configs", None)
    if configs is not None:
        info["pg_config"] = configs()
    if backend == "nccl":
        info["nccl_version"] = ".".join(str(n) for n in sys.modules["torch"].cuda.nccl.version())
    return Rank(rank, world_size, json.dumps(info, default=str))


def find_rank() -> Rank:
    """From torch.distributed if it is set up, else from RANK and WORLD_SIZE. Imports nothing
    of torch."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is not None:
        try:
            if distributed.is_available() and distributed.is_initialized():
                return _of_torch(distributed)
        except Exception:
            pass  # half imported, torn down in this moment, or a warning that is an error
    return _of_environment()
