//! Code that makes an io_uring without libc's `syscall`, as `liburing` does: an instruction with the number of the call in it, 425, and soon behind it
//! the call.

use libc::{c_int, c_void, dl_phdr_info, size_t};
use std::ptr::from_mut;
use std::slice;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Instructions that put the number into the register of the call, the byte of them that is looked for, and the call.
#[cfg(target_arch = "x86_64")]
const NUMBERED: (&[&[u8]], u8, &[u8]) =
    (&[&[0xb8, 0xa9, 1, 0, 0], &[0x48, 0xc7, 0xc0, 0xa9, 1, 0, 0]], 0xa9, &[0x0f, 0x05]);
#[cfg(target_arch = "aarch64")]
const NUMBERED: (&[&[u8]], u8, &[u8]) =
    (&[&[0x28, 0x35, 0x80, 0x52], &[0x28, 0x35, 0x80, 0xd2]], 0x35, &[1, 0, 0, 0xd4]);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const NUMBERED: (&[&[u8]], u8, &[u8]) = (&[], 0, &[]);

/// The bytes in which the call lies: its arguments go into registers meanwhile.
const NEAR: usize = 64;

/// The bytes that are looked at in one go.
const CHUNK: usize = 4 << 20;

/// The bytes of a page at least.
const PAGE: usize = 4096;

/// The objects that were looked at, with all that were ever loaded and unloaded by then.
static LOOKED_AT: AtomicUsize = AtomicUsize::new(0);
static LOADED: AtomicU64 = AtomicU64::new(0);
static UNLOADED: AtomicU64 = AtomicU64::new(0);

/// A look at objects, which stand in the order in which they were loaded.
struct Look {
    at: usize,
    has_one: bool,
}

/// Returns true if code of this process may make an io_uring. Looks at objects that were loaded since the last look.
pub(super) fn makes_one() -> bool {
    let mut look = Look { at: 0, has_one: false };
    // SAFETY: the function gets this value, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(each), from_mut(&mut look).cast()) };
    look.has_one
}

unsafe extern "C" fn each(object: *mut dl_phdr_info, _: size_t, look: *mut c_void) -> c_int {
    // SAFETY: libc gives an object for the call.
    let object = unsafe { &*object };
    // SAFETY: this is the value of `makes_one`.
    let look = unsafe { &mut *look.cast::<Look>() };
    if look.at == 0 {
        if UNLOADED.swap(object.dlpi_subs, Ordering::Relaxed) != object.dlpi_subs {
            LOOKED_AT.store(0, Ordering::Relaxed);
        }
        if LOADED.swap(object.dlpi_adds, Ordering::Relaxed) == object.dlpi_adds
            && LOOKED_AT.load(Ordering::Relaxed) > 0
        {
            return 1;
        }
    }
    look.at += 1;
    if LOOKED_AT.fetch_max(look.at, Ordering::Relaxed) < look.at {
        look.has_one = has_one(object);
    }
    look.has_one.into()
}

fn has_one(object: &dl_phdr_info) -> bool {
    const NEEDED: u32 = libc::PF_R | libc::PF_X;
    // SAFETY: so many segments are described there.
    let segments = unsafe { slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
    let is_code = |segment: &&libc::Elf64_Phdr| {
        segment.p_type == libc::PT_LOAD && segment.p_flags & NEEDED == NEEDED && segment.p_filesz > 0
    };
    segments.iter().filter(is_code).any(|segment| {
        let start = (object.dlpi_addr + segment.p_vaddr) as usize;
        let end = start + segment.p_filesz as usize;
        // An instruction may lie on the border of two chunks.
        (start..end).step_by(CHUNK).any(|at| may_make_one(at, end.min(at + CHUNK + NEAR) - at))
    })
}

/// Returns true for code that makes an io_uring, and for what is no memory any more.
fn may_make_one(start: usize, len: usize) -> bool {
    let mut pages = [0_u8; CHUNK / PAGE + 2];
    // SAFETY: the call takes a number.
    let page = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
    let first = start - start % page.max(PAGE);
    // SAFETY: the call looks whether there is memory, and has room for a byte for each page.
    let is_there = unsafe {
        let first = std::ptr::without_provenance_mut(first);
        libc::mincore(first, start + len - first.addr(), pages.as_mut_ptr())
    };
    // SAFETY: these are bytes of code that are mapped as long as libc keeps the object, and which a process does not change.
    is_there != 0
        || is_numbered(unsafe { slice::from_raw_parts(std::ptr::with_exposed_provenance(start), len) })
}

fn is_numbered(code: &[u8]) -> bool {
    let (moves, byte, call) = NUMBERED;
    let mut from = 0;
    while let Some(at) = find(&code[from..], byte).map(|at| from + at) {
        let is_move = moves.iter().any(|bytes| {
            let before = bytes.iter().position(|first| *first == byte).unwrap_or(0);
            at >= before && code[at - before..].starts_with(bytes)
        });
        if is_move && code[at..].windows(call.len()).take(NEAR).any(|bytes| bytes == call) {
            return true;
        }
        from = at + 1;
    }
    false
}

/// Returns the place of the first such byte.
fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    // SAFETY: so many bytes lie there.
    let found = unsafe { libc::memchr(bytes.as_ptr().cast(), byte.into(), bytes.len()) };
    (!found.is_null()).then(|| found.addr() - bytes.as_ptr().addr())
}
