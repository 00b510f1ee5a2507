# SPDX-License-Identifier: BSD-3-Clause
"""What can be chosen for a kernel, before one is there."""

# Filesystems of a life in the time of the device; none: the device is left as it is.
FILESYSTEMS = ("ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat", "ntfs", "ntfs3", "none")
# Which kernel it is, in the words of `flashemu verify --kernel`; timed.chosen says what they mean.
KERNELS = ("auto", "timed", "vm")
