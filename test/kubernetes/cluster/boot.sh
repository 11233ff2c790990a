#!/usr/bin/env bash
# The first process of a test node: gives it a file system of its own where nodes keep theirs, and waits for the end.
# `boot.sh DIRECTORY NAME`, in mount, PID and UTS namespaces that were just made; DIRECTORY is the node's disk.
set -euo pipefail
disk=$1
hostname "$2"
mkdir -p "$disk"/{etc,etc-work,opt,var-lib,var-log,kernel}

# What the machine's /etc has, and what is written on top of it.
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$disk/etc,workdir=$disk/etc-work" /etc
mount --bind "$disk/opt" /opt
mount --bind "$disk/var-lib" /var/lib
mount --bind "$disk/var-log" /var/log
mount -t tmpfs tmpfs /run
mkdir -p /opt/cni/bin /etc/cni/net.d /run/netns /run/lock
# As EKS' images have them.
cp /usr/lib/cni/* /opt/cni/bin/
# Mounts that a container's runtime makes there must reach the containers.
mount --make-rshared /

# kubelet writes these settings unless they are so already, and they are the whole machine's.
while read -r setting value; do
  [ -e "/proc/sys/$setting" ] || continue
  echo "$value" >"$disk/kernel/${setting//\//-}"
  mount --bind "$disk/kernel/${setting//\//-}" "/proc/sys/$setting"
done <<END
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END

touch "$disk/booted"
# It inherits orphans, as init does, and reaps them.
while :; do
  sleep 3600 &
  wait $! || true
done
