"""The torch of this process: its collector, and the ranges of compiled models.

torch is never imported for its own sake: if the program imports it later, the collector is
attached then.

torch's fast ranges, those of compiled models, reach no collector: they are made only while
torch's own profiler says that it is on, and they tell global hooks nothing unless it is. So
while a session runs the flag is set and a type of ours stands in for torch's. As long as
torch's profiler really is on, all is as torch has it: then its own ranges reach us too.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from _weakref import ref

from marey import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_lock = RLock()


# ---- when a module is imported ---------------------------------------------------------------------


class _Loader:
    """Loads a module as its own loader does, then calls. All else that can be asked of a loader,
    its own one answers: who only looks for the module sees this one."""

    def __init__(self, loader: Any, then: Callable[[], None]) -> None:
        self._loader = loader
        self._then = then

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # of a copy that is not made yet
            raise AttributeError(name)
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()


class _Finder:
    """Finds a module as the others do, once, to hear of it when it is loaded."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self.name = name
        self._then = then

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name:
            return None
        for finder in sys.meta_path:
            # Python passes over a finder of the old kind too, or asks it when this one is done.
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find_spec and find_spec(name, path, target)
            if spec is not None:
                # A namespace has no loader, and one of the old kind is not to be told from ours.
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self._heard)  # type: ignore[assignment]
                return spec
        return None

    def _heard(self) -> None:
        """A failed import is not heard of: it may be tried again."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        try:
            self._then()
        except Exception as error:
            warn(f"cannot adapt to {self.name}: {error}")


def _when_loaded(name: str, then: Callable[[], None]) -> None:
    """Now, if the module is there whole."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if name in sys.modules and not getattr(spec, "_initializing", False):
        then()
        return
    with _lock:
        if not any(isinstance(f, _Finder) and f.name == name for f in sys.meta_path):
            sys.meta_path.insert(0, _Finder(name, then))  # type: ignore[arg-type]


def warn(message: str, stacklevel: int = 3) -> None:
    """Where a warning is an error it is only printed: what it is about must not fail."""
    import warnings

    try:
        warnings.warn(message, stacklevel=stacklevel)
    except Warning:
        if sys.stderr is not None:
            print(f"marey: {message}", file=sys.stderr)


# ---- the collector -------------------------------------------------------------------------------------


def is_imported() -> bool:
    """torch is there whole: a thread may be importing it just now."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "autograd")


def uses_gpu() -> bool:
    """The program has set torch up for a GPU. Asks torch, and sets nothing up."""
    cuda: Any = sys.modules.get("torch.cuda")
    try:
        return bool(cuda is not None and cuda.is_initialized())
    except Exception:
        return False  # a torch that is half gone at the end of the program


def is_importable() -> bool:
    import importlib.util

    try:
        return importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


_is_attached = False


def attach() -> None:
    """Builds the collector if need be and loads it, once a process. Imports torch.

    Raises CollectorError, or what the loader says.
    """
    global _is_attached
    if _is_attached:
        return
    from marey import _build

    path = _build.find() or _build.build()
    _core.collector_load(os.fspath(path))
    _is_attached = True


class Wish:
    """As long as it lives, the collector is attached when the program imports torch."""

    n_alive = 0

    def __init__(self) -> None:
        Wish.n_alive += 1
        _when_loaded("torch", _attach_if_wished)

    def __del__(self) -> None:
        Wish.n_alive -= 1

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, of whatever kind, is counted too."""
        return Wish, ()


def attach_or_tell() -> None:
    """The program goes on without it."""
    from marey._warn import tell

    try:
        attach()
    except Exception as error:
        tell(f"operators of torch are not recorded: {error}")


def _attach_if_wished() -> None:
    """Building takes a while: a profile that is gone is no reason for it."""
    if Wish.n_alive == 0:
        return
    attach_or_tell()
    _arrange_ranges()


# ---- ranges that torch's own observers see ----------------------------------------------------------------


class SeenRange:
    """A range of torch's, for an observer of torch's; the collector has it as any of the program's.
    Where there is no collector, ours is beside it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._own = None if _is_attached else _core.record_function(name)
        self._handle: Any = None

    def __enter__(self) -> SeenRange:
        if self._own is not None:
            self._own.__enter__()
        autograd: Any = sys.modules["torch"].autograd
        # As torch's record_function, and without the operator that it calls.
        self._handle = autograd._record_function_with_args_enter(self._name)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.modules["torch"].autograd._record_function_with_args_exit(self._handle)  # type: ignore[attr-defined]
        if self._own is not None:
            self._own.__exit__(None, None, None)


def step_range(name: str, is_observed: bool) -> _core.record_function | SeenRange:
    """A range, not entered yet. is_observed: an observer of torch's is to see it too."""
    return SeenRange(name) if is_observed and is_imported() else _core.record_function(name)


# ---- torch.compile ---------------------------------------------------------------------------------------


def _let_compiler_pass_ranges() -> None:
    """A with statement of record_function in a compiled function is passed over, as torch's
    own is; else the compiler would give the function up."""
    variables = sys.modules["torch._dynamo.variables.torch"]
    contexts = sys.modules["torch._dynamo.variables.ctx_manager"]
    kind: Any = variables.TorchCtxManagerClassVariable
    former = kind.call_function

    def call_function(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.value is _core.record_function:
            return contexts.NullContextVariable()
        return former(self, *args, **kwargs)

    kind.call_function = call_function
    variables.supported_ctx_manager_classes[_core.record_function] = None


def adapt_compiler() -> None:
    """When the program brings torch's compiler in."""
    _when_loaded("torch._dynamo", _let_compiler_pass_ranges)


# ---- ranges of compiled models -----------------------------------------------------------------------


class _Ranges:
    """What is in place of what. Written under the lock, but for the users."""

    users: set[Any]  # a weak reference to each, which takes itself out
    original: Any = None  # torch's type, while ours stands in for it
    is_hooked = False
    torchs: dict[str, Any]  # torch's functions that ours stand before; kept for late callers
    is_fork_handled = False
    holders: list[dict[str, Any]]  # members of the modules that have the type
    n_seen = 0  # modules that were looked at; new ones come behind them


_Ranges.users = set()
_Ranges.torchs = {}
_Ranges.holders = []


def _find_holders() -> None:
    """torch itself, and the modules that imported the type by its name."""
    n_modules = len(sys.modules)
    if n_modules < _Ranges.n_seen:
        _Ranges.holders, _Ranges.n_seen = [], 0
    for module in list(sys.modules.values())[_Ranges.n_seen :]:
        try:
            members = getattr(module, "__dict__", None)
        except Exception:  # noqa: BLE001 - a program may put anything there
            continue
        if isinstance(members, dict) and "_RecordFunctionFast" in members:
            _Ranges.holders.append(members)
    _Ranges.n_seen = n_modules


def _swap(old: Any, new: Any) -> None:
    _find_holders()
    for members in _Ranges.holders:
        if members.get("_RecordFunctionFast") is old:
            members["_RecordFunctionFast"] = new


def _stand_in(profiler: Any) -> None:
    native = sys.modules.get("torch._C._profiler")
    if _Ranges.original is not None or native is None or profiler._is_profiler_enabled:
        return
    original = getattr(native, "_RecordFunctionFast", None)
    if original is None:
        return
    _Ranges.original = original
    _swap(original, _core.OpRange)
    profiler._is_profiler_enabled = True


def _stand_aside(profiler: Any) -> None:
    if _Ranges.original is None:
        return
    _swap(_core.OpRange, _Ranges.original)
    _Ranges.original = None
    profiler._is_profiler_enabled = False


def _on_torchs_start() -> None:
    """torch's own profiler starts."""
    with _lock:
        _stand_aside(sys.modules["torch.autograd.profiler"])
    _Ranges.torchs["_run_on_profiler_start"]()


def _on_torchs_stop() -> None:
    """It has stopped."""
    _Ranges.torchs["_run_on_profiler_stop"]()
    _arrange_ranges()


_HOOKS = {
    "_run_on_profiler_start": _on_torchs_start,
    "_run_on_profiler_stop": _on_torchs_stop,
}


def _hook(profiler: Any) -> None:
    _Ranges.is_hooked = True  # first: what is interrupted here is taken back
    for name, ours in _HOOKS.items():
        if name in vars(profiler):
            _Ranges.torchs[name] = getattr(profiler, name)
            setattr(profiler, name, ours)


def _unhook(profiler: Any) -> None:
    for name, ours in _HOOKS.items():
        # Who came after us keeps its place, and calls torch's through ours.
        if vars(profiler).get(name) is ours:
            setattr(profiler, name, _Ranges.torchs[name])
    _Ranges.is_hooked = False


def _arrange_ranges() -> None:
    """Brings all in the place that the users ask for. Nothing is done twice, so that what was
    interrupted may be done again."""
    profiler: Any = sys.modules.get("torch.autograd.profiler")
    if profiler is None or not hasattr(profiler, "_is_profiler_enabled"):
        return
    with _lock:
        if _Ranges.users:
            if not _Ranges.is_hooked:
                _hook(profiler)
            _stand_in(profiler)
        elif _Ranges.is_hooked:
            _stand_aside(profiler)
            _unhook(profiler)


def _forget_users() -> None:
    """In a forked child, where no session runs."""
    global _lock
    _lock = RLock()
    _Ranges.users.clear()
    _arrange_ranges()


def begin_ranges(user: object) -> None:
    """Its session runs from now on."""
    with _lock:
        if not _Ranges.is_fork_handled:
            os.register_at_fork(after_in_child=_forget_users)
            _Ranges.is_fork_handled = True
        # Each is one call of C, which no signal's handler interrupts, also where a user is gone.
        _Ranges.users.add(ref(user, _Ranges.users.discard))
        _arrange_ranges()


def end_ranges(user: object) -> None:
    """Its session has ended. Once more if this was interrupted."""
    _Ranges.users.discard(ref(user))
    with _lock:
        if not _Ranges.users:
            _arrange_ranges()
