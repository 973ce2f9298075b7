"""An installation that several people use, as on a hub: its own Jupyter settings, our packages."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from support.lab import Home


@dataclass(frozen=True)
class SharedInstallation:
    """An environment in `folder`, with the packages and extensions of the one that runs."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def made(self) -> SharedInstallation:
        """Make it; Jupyter takes `etc/jupyter` in it for the settings of all its users."""
        words = (sys.executable, "-m", "venv", "--without-pip", str(self.folder))
        subprocess.run(words, check=True, timeout=600)
        (site,) = (self.folder / "lib").glob("python3*/site-packages")
        # As a folder of packages of its own: what is installed to be edited needs its `.pth` files.
        ours = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
        (site / "ours.pth").write_text(ours, encoding="utf-8")
        return self


@dataclass(frozen=True)
class SharedHome(Home):
    """One person's folders, where the programs are those of a shared installation."""

    installation: SharedInstallation

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every process of this person."""
        ours = Path(sys.prefix)
        return super().environment | {
            "JUPYTER_PATH": str(ours / "share" / "jupyter"),
            "JUPYTER_CONFIG_PATH": str(ours / "etc" / "jupyter"),
        }
