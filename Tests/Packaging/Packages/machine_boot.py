"""A Debian that boots: its own kernel with AppArmor, and systemd, in an emulator. It has no network."""

import re
import shutil
from pathlib import Path

from debian import ROOT
from processes import output

HERE = Path(__file__).resolve().parent
BASE = ROOT / ".build-deb/machine"
FURTHER = ("linux-image-cloud-amd64", "initramfs-tools", "systemd-sysv", "udev", "kmod", "iproute2")
SERVICE = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /trial/machine-trial.sh
StandardOutput=file:/dev/ttyS1
[Install]
WantedBy=multi-user.target
"""
# What would only cost time: nobody logs in, and there is no network to wait for.
MASKED = ("getty@tty1.service", "serial-getty@ttyS0.service", "systemd-networkd-wait-online.service",
          "systemd-timesyncd.service", "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_reap.service")
# An emulated processor is some ten times slower, on a machine that does something else besides.
LONGEST = 1_200


class Machine:
    """Its disk outlives a boot."""

    def __init__(self, folder: Path, files: dict[str, Path]):
        self.folder, self.disk = folder, folder / "disk"
        root = folder / "root"
        output("cp", "-a", BASE, root)
        (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
        (root / "etc/hostname").write_text("machine\n")
        (root / "etc/fstab").write_text("/dev/vda / ext4 defaults 0 1\n")
        units = root / "etc/systemd/system"
        (units / "trial.service").write_text(SERVICE)
        (units / "multi-user.target.wants").mkdir(exist_ok=True)
        (units / "multi-user.target.wants/trial.service").symlink_to("/etc/systemd/system/trial.service")
        for unit in MASKED:
            (units / unit).unlink(missing_ok=True)
            (units / unit).symlink_to("/dev/null")
        (root / "trial").mkdir()
        shutil.copy(HERE / "machine-trial.sh", root / "trial")
        for name, file in files.items():
            shutil.copy(file, root / "trial" / name)
        self.kernel, self.initial = (shutil.copy(next((root / "boot").glob(name)), folder) for name in ("vmlinuz-*", "initrd.img-*"))
        with self.disk.open("wb") as file:
            file.truncate(2 << 30)
        output("mke2fs", "-q", "-t", "ext4", "-d", root, self.disk)
        shutil.rmtree(root)

    def boot(self, trial: str) -> dict[str, str]:
        """What the trial of that name found: `{"started state": "active", …}`."""
        result, console = self.folder / f"{trial}.result", self.folder / f"{trial}.console"
        output(
            "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
            "-m", "1024", "-display", "none", "-no-reboot", "-nic", "none",
            "-kernel", self.kernel, "-initrd", self.initial,
            "-append", f"root=/dev/vda rw console=ttyS0 quiet apparmor=1 security=apparmor trial={trial}",
            "-drive", f"file={self.disk},format=raw,if=virtio,cache=unsafe",
            "-serial", f"file:{console}", "-serial", f"file:{result}", timeout=LONGEST)
        text = result.read_text(errors="replace").replace("\r", "")
        found = dict(re.findall(r"^FACT (\S+ \S+) ?(.*)$", text, re.MULTILINE))
        assert found.pop("end reached", None) == "", text[-4000:] + console.read_text(errors="replace")[-1000:]
        return found
