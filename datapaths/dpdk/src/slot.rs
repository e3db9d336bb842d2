//! Cards by their slots: the addresses of PCI devices, such as `0000:00:10.0`.

use crate::failure::failure;
use bertha_core::{Error, ErrorKind};
use std::fs::{File, read_link, read_to_string};
use std::io;
use std::path::{Path, PathBuf};

/// Drivers of the kernel that leave a card to programs.
const FREE: [&str; 3] = [VFIO, "uio_pci_generic", "igb_uio"];

/// The driver of the kernel for machines with an IOMMU.
const VFIO: &str = "vfio-pci";

/// Returns the slot that a device names, with its domain; `None` if the device is a virtual one.
pub(crate) fn slot(device: &str) -> Option<String> {
    let name = device.split(',').next()?;
    let (rest, function) = name.split_once('.')?;
    let mut numbers: Vec<_> = rest.split(':').collect();
    if numbers.len() == 2 {
        numbers.insert(0, "0000");
    }
    let is_hex = |text: &str, len| text.len() == len && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let [domain, bus, device] = numbers[..] else { return None };
    let is_slot = is_hex(domain, 4) && is_hex(bus, 2) && is_hex(device, 2) && is_hex(function, 1);
    is_slot.then(|| format!("{domain}:{bus}:{device}.{function}").to_ascii_lowercase())
}

/// Returns the reason why a program can't have the card that `device` names, as the system tells it.
pub(crate) fn obstacle(device: &str) -> Option<Error> {
    let slot = slot(device)?;
    obstacle_below(&slot, Path::new("/"), |file| File::options().read(true).write(true).open(file).map(drop))
}

/// Returns true if the card at a slot has a driver of the kernel that leaves it to programs without an IOMMU.
pub(crate) fn needs_hugepages(slot: &str) -> bool {
    needs_hugepages_below(slot, Path::new("/"))
}

fn needs_hugepages_below(slot: &str, root: &Path) -> bool {
    driver(&card(slot, root)).is_some_and(|driver| FREE.contains(&&*driver) && driver != VFIO)
}

fn card(slot: &str, root: &Path) -> PathBuf {
    root.join("sys/bus/pci/devices").join(slot)
}

/// Returns the kernel's driver of a card.
fn driver(card: &Path) -> Option<String> {
    let driver = read_link(card.join("driver")).ok()?;
    Some(driver.file_name()?.to_string_lossy().into_owned())
}

/// Returns the file by which `vfio-pci` gives a card to programs.
fn vfio_group(card: &Path, root: &Path) -> Option<PathBuf> {
    let group = read_link(card.join("iommu_group")).ok()?;
    Some(root.join("dev/vfio").join(group.file_name()?))
}

/// `opens` opens a file to read and write.
fn obstacle_below(slot: &str, root: &Path, opens: impl Fn(&Path) -> io::Result<()>) -> Option<Error> {
    let card = card(slot, root);
    let refused = |kind, what: String| Some(failure(kind, format!("the card at the slot {slot}: {what}")));
    if !card.exists() {
        return refused(ErrorKind::Unavailable, "there is none; `lspci -D` lists the slots".into());
    }
    let Some(driver) = driver(&card) else {
        let what = "it has no driver; bind it to vfio-pci, or to uio_pci_generic".into();
        return refused(ErrorKind::Unavailable, what);
    };
    if !FREE.contains(&&*driver) {
        let what =
            format!("the kernel's driver `{driver}` has it; bind it to vfio-pci, or to uio_pci_generic");
        return refused(ErrorKind::Unavailable, what);
    }
    let pages = read_to_string(root.join("proc/sys/vm/nr_hugepages")).unwrap_or_default();
    if driver != VFIO && matches!(pages.trim(), "" | "0") {
        let what = format!(
            "a card behind `{driver}` reads and writes memory by physical addresses, which needs hugepages: reserve some in \
             /proc/sys/vm/nr_hugepages, and pass no --no-huge in `eal`"
        );
        return refused(ErrorKind::Exhausted, what);
    }
    let group = vfio_group(&card, root).filter(|_| driver == VFIO)?;
    opens(&group).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied).then(|| {
        let what = format!(
            "this user has no rights on {}: give them with `chown`, and raise the limit of locked memory (`ulimit -l`)",
            group.display()
        );
        failure(ErrorKind::Unavailable, format!("the card at the slot {slot}: {what}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, remove_dir_all, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn slots_are_told_from_virtual_devices() {
        for (device, expected) in [
            ("0000:00:10.0", Some("0000:00:10.0")),
            ("3B:00.1,mprq_en=1", Some("0000:3b:00.1")),
            ("net_memif0,role=client", None),
            ("net_af_packet0,iface=va.7", None),
            ("0000:00:1g.0", None),
            ("", None),
        ] {
            assert_eq!(slot(device).as_deref(), expected, "{device}");
        }
    }

    #[test]
    fn each_obstacle_has_its_own_words() {
        let root = std::env::temp_dir().join(format!("bertha-slots-{}", std::process::id()));
        let card = root.join("sys/bus/pci/devices/0000:00:10.0");
        let said = |pages: &str, driver: Option<&str>| {
            create_dir_all(root.join("proc/sys/vm")).unwrap();
            write(root.join("proc/sys/vm/nr_hugepages"), pages).unwrap();
            if let Some(driver) = driver {
                let place = root.join("sys/bus/pci/drivers").join(driver);
                create_dir_all(&card).unwrap();
                create_dir_all(&place).unwrap();
                let _ = std::fs::remove_file(card.join("driver"));
                symlink(place, card.join("driver")).unwrap();
            }
            let denied = |_: &Path| Err(io::ErrorKind::PermissionDenied.into());
            let error = obstacle_below("0000:00:10.0", &root, denied);
            error.map(|error| error.context().to_owned()).unwrap_or_default()
        };
        assert!(said("0", None).contains("there is none"));
        create_dir_all(&card).unwrap();
        assert!(said("0", None).contains("it has no driver"));
        assert!(said("0", Some("e1000e")).contains("the kernel's driver `e1000e` has it"));
        assert!(said("0\n", Some("uio_pci_generic")).contains("needs hugepages"));
        assert_eq!(said("320\n", Some("uio_pci_generic")), "");
        assert!(needs_hugepages_below("0000:00:10.0", &root));
        assert_eq!(said("0", Some("vfio-pci")), "");
        assert!(!needs_hugepages_below("0000:00:10.0", &root));
        symlink("/sys/kernel/iommu_groups/7", card.join("iommu_group")).unwrap();
        assert!(said("0", Some("vfio-pci")).contains("dev/vfio/7"));
        assert!(obstacle_below("0000:00:10.0", &root, |_| Ok(())).is_none());
        remove_dir_all(&root).unwrap();
    }
}
