# SPDX-License-Identifier: BSD-3-Clause
"""What the power can be cut under, in the virtual machine."""

from __future__ import annotations

from ..core.errors import LabError
from ..core.text import meant

USUAL = "ext4,f2fs,vfat,exfat"
FILESYSTEMS = ("ext4", "ext4-nojournal", "f2fs", "vfat", "exfat", "xfs")
WORKLOADS = ("files", "log", "database")

# For what is recorded once, with the size that a device gets if nobody names one: small, but as
# large as mkfs wants it.
RECORDED = {"ext4": "64M", "xfs": "320M", "btrfs": "128M", "f2fs": "64M", "vfat": "64M",
            "exfat": "64M", "ntfs": "64M", "ntfs3": "64M"}


def among(option: str, word: str, allowed: tuple[str, ...]) -> None:
    """LabError for a word that is not allowed."""
    if word not in allowed:
        raise LabError(f"{option} {word}: allowed: {', '.join(allowed)}{meant(word, allowed)}")


def choose(option: str, text: str, allowed: tuple[str, ...]) -> list[str]:
    """The words of "A,B"; LabError for one that is not allowed."""
    words = list(dict.fromkeys(text.split(",")))
    for word in words:
        among(option, word, allowed)
    return words


def mounts_of(texts: list[str], systems: list[str]) -> dict[str, str]:
    """The mount options of each filesystem: "FS:OPTIONS" is for this one, and "OPTIONS" for all.
    LabError if they are for none, or twice for one."""
    found: dict[str, str] = {}
    for text in texts:
        fs, colon, options = text.partition(":")
        own = bool(colon) and fs in RECORDED
        if colon and not own and meant(fs, tuple(RECORDED)):
            raise LabError(f"--mount {text}: there is no filesystem {fs}"
                           f"{meant(fs, tuple(RECORDED))}")
        if own and fs not in systems:
            raise LabError(f"--mount {text}: --fs does not name {fs}")
        for name in [fs] if own else systems:
            if name in found:
                raise LabError(f"--mount {text}: {name} has mount options already")
            found[name] = options if own else text
    return found


# What people write; a kernel may know more, and it decides.
_OPTIONS = {
    "": "async,atime,defaults,diratime,dirsync,lazytime,noatime,nodiratime,relatime,ro,rw,"
        "strictatime,sync",
    "ext4": "auto_da_alloc,barrier,commit,data,delalloc,discard,errors,journal_async_commit,"
            "journal_checksum,noauto_da_alloc,nobarrier,nodelalloc,nodiscard,noload",
    "xfs": "allocsize,discard,inode32,inode64,largeio,logbsize,logbufs,nodiscard,noquota,"
           "norecovery,nouuid,wsync",
    "btrfs": "autodefrag,barrier,commit,compress,compress-force,datacow,datasum,discard,"
             "flushoncommit,max_inline,nobarrier,nodatacow,nodatasum,nodiscard,"
             "notreelog,space_cache,ssd,treelog",
    "f2fs": "active_logs,background_gc,barrier,checkpoint,discard,fastboot,flush_merge,fsync_mode,"
            "inline_data,mode,nobarrier,nodiscard,noflush_merge,noinline_data",
    "vfat": "codepage,discard,dmask,errors,flush,fmask,gid,iocharset,quiet,shortname,uid,umask,"
            "utf8",
    "exfat": "discard,dmask,errors,fmask,gid,iocharset,uid,umask",
    "ntfs": "big_writes,compression,dmask,fmask,gid,norecover,recover,uid,umask",
    "ntfs3": "discard,dmask,fmask,force,gid,iocharset,nohidden,prealloc,sparse,uid,umask",
}


def meant_options(fs: str, options: str) -> str:
    """For the message about a mount that fails: which option somebody may have meant."""
    known = f"{_OPTIONS['']},{_OPTIONS[fs]}".split(",")
    strange = [word.split("=")[0] for word in options.split(",") if word.split("=")[0] not in known]
    return next((f"; {word}{hint}" for word in strange if (hint := meant(word, known))), "")
