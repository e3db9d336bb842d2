//! Processes with an io_uring, which reads and writes past this library: they get no rings.
//!
//! One that is made by libc's `syscall` is seen then, and the sockets go back before. Others are made by an instruction of the program itself,
//! of which a library hears nothing. So each socket is kept from its ring if there is one by then, among the descriptors, or if code of the
//! process could make one later.

mod code;

use crate::anonymous::is_named;
use crate::process::{self, Socket};
use crate::real;
use crate::visit::Own;
use libc::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Returns true if the process has an io_uring, or may have one later, as far as is known without a look.
pub(crate) fn is_known() -> bool {
    IS_KNOWN.load(Ordering::Relaxed)
}

/// Records that the process makes an io_uring.
pub(crate) fn is_made() {
    IS_KNOWN.store(true, Ordering::Relaxed);
}

/// Returns true if the process has an io_uring, or may have one later.
pub(crate) fn is_there() -> bool {
    if !is_known() && (code::makes_one() || is_open()) {
        is_made();
    }
    is_known()
}

/// Room for entries of a folder.
#[repr(C, align(8))]
struct Entries([u8; 1024]);

/// Looks for one among the descriptors. Where the kernel does not list them, there may be one.
fn is_open() -> bool {
    let (here, flags) = (libc::AT_FDCWD as usize, (libc::O_RDONLY | libc::O_CLOEXEC) as usize);
    let path = c"/proc/self/fd".as_ptr().addr();
    // SAFETY: the path ends by a zero.
    let folder = unsafe { real::syscall(libc::SYS_openat, here, path, flags, 0, 0, 0) };
    let Ok(folder @ 0..) = c_int::try_from(folder) else { return true };
    let folder = Own(folder);
    let mut entries = Entries([0; 1024]);
    let mut next = 0;
    loop {
        // Sockets with places are none of it, and may be many.
        while Socket::of(next).is_some() {
            next += 1;
        }
        // The place of a number in the folder is behind those of the folder itself and of the one above.
        // SAFETY: the call takes numbers.
        unsafe { libc::lseek(folder.0, libc::off_t::from(next) + 2, libc::SEEK_SET) };
        let (to, room) = (entries.0.as_mut_ptr().addr(), entries.0.len());
        // SAFETY: the buffer has this room.
        let read = unsafe { real::syscall(libc::SYS_getdents64, folder.0 as usize, to, room, 0, 0, 0) };
        let Some(mut rest) = usize::try_from(read).ok().and_then(|read| entries.0.get(..read)) else {
            return true;
        };
        if rest.is_empty() {
            return false;
        }
        while let Some((fd, behind)) = entry(rest) {
            if Socket::of(fd).is_none() && !process::is_own(fd) && is_named(fd, b"anon_inode:[io_uring]") {
                return true;
            }
            (next, rest) = (fd + 1, behind);
        }
    }
}

/// Reads the number of an entry. Returns what lies behind the entry, too.
fn entry(entries: &[u8]) -> Option<(c_int, &[u8])> {
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let length = u16::from_ne_bytes(entries.get(LENGTH..LENGTH + 2)?.try_into().ok()?);
    let (entry, behind) = entries.split_at_checked(length.into())?;
    let digits = entry.get(NAME..)?.iter().take_while(|digit| digit.is_ascii_digit());
    let number = digits.fold(0, |number: c_int, digit| number.wrapping_mul(10) + c_int::from(digit - b'0'));
    Some((number, behind))
}
