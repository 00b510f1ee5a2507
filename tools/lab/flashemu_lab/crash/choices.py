# SPDX-License-Identifier: BSD-3-Clause
"""What the power can be cut under, in the virtual machine."""

from __future__ import annotations

FILESYSTEMS = ("ext4", "ext4-nojournal", "f2fs", "vfat", "exfat", "xfs")
WORKLOADS = ("files", "log", "database")

# For what is recorded once, with the size that a device gets if nobody names one: small, but as
# large as mkfs wants it.
RECORDED = {"ext4": "64M", "xfs": "320M", "btrfs": "128M", "f2fs": "64M", "vfat": "64M",
            "exfat": "64M", "ntfs": "64M", "ntfs3": "64M"}
