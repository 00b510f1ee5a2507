# SPDX-License-Identifier: BSD-3-Clause
"""What the power can be cut under, in the virtual machine."""

from __future__ import annotations

FILESYSTEMS = ("ext4", "ext4-nojournal", "f2fs", "vfat", "exfat", "xfs")
WORKLOADS = ("files", "log", "database")
