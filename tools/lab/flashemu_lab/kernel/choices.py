# SPDX-License-Identifier: BSD-3-Clause
"""What can be chosen for a kernel in the time of the device, before one is there."""

# Filesystems of a life; none: the device is left as it is.
FILESYSTEMS = ("ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat", "ntfs", "ntfs3", "none")
