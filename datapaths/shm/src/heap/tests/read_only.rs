//! The kernel refuses all that an application could do to a receive heap.
#![allow(unsafe_code)]

use super::super::*;
use super::MIB;
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, ftruncate, open};
use rustix::io::{Errno, pwrite};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mprotect};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::ptr;

/// Environment variable that tells a process of this program to write.
const WRITER: &str = "BERTHA_SHM_HEAP_WRITER";

const READ: &str = "the writer has read the message";

/// Number of the signal `SIGSEGV`.
const SEGMENTATION_FAULT: i32 = 11;

/// Returns both ends of a heap with a message of zeros, its address, and the region.
fn lent() -> (Lent, Received, u64, Region) {
    let received = Received::new(MIB).unwrap();
    let mut lent = Lent::new(received.base(), MIB).unwrap();
    let mut message = lent.begin(0).unwrap();
    let at = message.reserve(8).unwrap();
    message.finish();
    let region = lent.take_new_regions().remove(0);
    received.add(region.file().try_clone_to_owned().unwrap()).unwrap();
    (lent, received, at, region)
}

#[test]
fn the_kernel_refuses_every_other_writer() {
    let (mut lent, _received, at, region) = lent();
    let file = region.file();
    assert_eq!(pwrite(file, b"x", 0), Err(Errno::PERM));
    assert_eq!(ftruncate(file, 0), Err(Errno::PERM));
    assert_eq!(ftruncate(file, 2 * MIB as u64), Err(Errno::PERM));
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    assert_eq!(fallocate(file, hole, 0, 4096), Err(Errno::PERM));
    // SAFETY: the kernel chooses an address where nothing is mapped.
    let mapped = unsafe { mmap(ptr::null_mut(), MIB, ProtFlags::WRITE, MapFlags::SHARED, file, 0) };
    assert_eq!(mapped, Err(Errno::PERM));
    let page = ptr::with_exposed_provenance_mut((at & !4095) as usize);
    // SAFETY: the page holds a message that nothing refers to, and stays as it is.
    let protected = unsafe { mprotect(page, 4096, MprotectFlags::READ | MprotectFlags::WRITE) };
    assert_eq!(protected, Err(Errno::ACCESS));
    // The file is not writable by another descriptor, either.
    let again = open(format!("/proc/self/fd/{}", file.as_raw_fd()), OFlags::RDWR, Mode::empty()).unwrap();
    assert_eq!(pwrite(&again, b"x", 0), Err(Errno::PERM));
    // The daemon still writes.
    let mut message = lent.begin(0).unwrap();
    let at = message.reserve(8).unwrap();
    message.bytes(at, 8).fill(1);
}

/// This function is no test: it is a process that writes to its receive heap.
#[test]
fn the_writer() {
    if std::env::var(WRITER).is_err() {
        return;
    }
    let (_lent, received, at, _region) = lent();
    // SAFETY: the message is lent, and zeros are a number.
    assert_eq!(unsafe { received.get::<u64>(at) }, Some(&0));
    println!("{READ}");
    // SAFETY: none; the kernel ends the process.
    unsafe { ptr::with_exposed_provenance_mut::<u64>(at as usize).write_volatile(1) };
}

#[test]
fn a_write_ends_the_process() {
    let writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "heap::tests::read_only::the_writer", "--nocapture"])
        .env(WRITER, "yes")
        .output()
        .unwrap();
    assert!(std::string::String::from_utf8_lossy(&writer.stdout).contains(READ), "{writer:?}");
    assert_eq!(writer.status.signal(), Some(SEGMENTATION_FAULT), "{writer:?}");
}
