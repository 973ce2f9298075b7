"""What to do about a missing layer, on the machine where it is missing.

The same refusal has different causes: a setting of the distribution, a container,
an old kernel. A wrong remedy costs an instructor an evening. So the settings are
read, and where the cause cannot be known, the remedy offers alternatives.
"""

from __future__ import annotations

from pathlib import Path

# A setting, the value that forbids ordinary users to make namespaces, and the one that allows it.
_SWITCHES = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("user/max_user_namespaces", "0", "15000"),
)
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")
_IN_A_CONTAINER = (
    "start the container so that it may make namespaces (`docker run --cap-add SYS_ADMIN "
    "--security-opt apparmor=unconfined`), which weakens the container itself"
)
MOVE = (
    "move what can be read away from the interpreter and its environment, which every worker reads"
)
USER = (
    "grade as an ordinary user, or as a root that can switch its workers to another user "
    "(not within a user namespace that maps only root)"
)
LIMITS = "grade on Linux, where a process can be given limits"
OWN_LIMITS = "raise it in the shell that grades (`ulimit -a` shows all), or have it raised for you"
CONFINEMENT = (
    "grade as an ordinary user, or where namespaces are allowed; `attn doctor` says what is missing"
)
REPORT = "run `attn doctor`; if it shows nothing missing, report it with this message"


def remedy(layer: str, reason: str, system: Path = Path("/")) -> str:
    """Return what to do about `layer` (namespaces, landlock, seccomp), missing for `reason`.

    `system` is the root of the machine whose switches are read.
    """
    if layer == "namespaces":
        return _namespaces(system)
    if layer == "landlock":
        return _landlock(reason)
    if "pyseccomp" in reason:
        return "`pip install pyseccomp`, which talks to libseccomp"
    return "install libseccomp (`apt install libseccomp2`) and `pip install pyseccomp`"


def _namespaces(system: Path) -> str:
    for name, forbids, allows in _SWITCHES:
        switch = system / "proc/sys" / name
        if switch.is_file() and switch.read_text("ascii").strip() == forbids:
            return f"allow user namespaces (`sysctl {name.replace('/', '.')}={allows}`)"
    if any((system / name.lstrip("/")).exists() for name in _CONTAINERS):
        return _IN_A_CONTAINER
    return "allow user namespaces for this user, or grade as root outside a container"


def _landlock(reason: str) -> str:
    if "switched off" in reason:
        return "switch Landlock on (kernel parameter `lsm=landlock,...`, then the other names)"
    return "use a kernel with Landlock (Linux 5.13 or newer, and not hidden by the container)"
