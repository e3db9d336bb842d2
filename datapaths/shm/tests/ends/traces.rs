//! Traces that connections leave in a process.

use std::fs;

/// Returns the number of mappings and open files of shared memory that this process has.
pub(crate) fn shared_memory() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mapped = maps.lines().filter(|line| line.contains("memfd:bertha-shm")).count();
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    mapped + open.filter(|file| file.to_string_lossy().contains("memfd:bertha-shm")).count()
}
