"""What `marey run` puts before the program's own sitecustomize, in each Python that it starts.

It takes itself out of the way, begins to record, and then imports the program's own
sitecustomize under this name; if there is none, it fails as the import of a missing one does,
which Python expects.
"""

import sys


def _stand_aside() -> None:
    folder = __file__.rpartition("/")[0]
    sys.path[:] = [path for path in sys.path if path != folder]
    sys.path_importer_cache.pop(folder, None)
    del sys.modules["sitecustomize"]


def _begin() -> None:
    try:
        from marey import _run
    except ImportError:
        return  # another Python, without the package
    _run.begin()


_stand_aside()
_begin()

import sitecustomize  # noqa: E402, F401
