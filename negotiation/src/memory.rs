//! The memory of the machine, from which bounds are derived.

use std::sync::OnceLock;

/// Bytes of memory where the system tells no number.
const UNKNOWN: usize = 1 << 30;

/// The memory that this process may use, in bytes: that of the machine, or of its control group if that has less. Asked for once.
pub(crate) fn bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let machine = std::fs::read_to_string("/proc/meminfo").ok();
        let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
        let machine = machine.as_deref().and_then(total).unwrap_or(UNKNOWN);
        group.and_then(|bytes| bytes.trim().parse().ok()).map_or(machine, |group: usize| group.min(machine))
    })
}

/// The line `MemTotal` of the system's account.
fn total(account: &str) -> Option<usize> {
    let line = account.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: usize = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_the_system_is_read() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert!(bytes() >= 1 << 20);
    }
}
