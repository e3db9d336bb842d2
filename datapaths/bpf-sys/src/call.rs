//! The call `bpf(2)`.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// `BPF_MAP_CREATE`, with [`MapCreation`].
const MAP_CREATE: libc::c_long = 0;
/// `BPF_MAP_UPDATE_ELEM`, with [`Element`].
const MAP_UPDATE_ELEM: libc::c_long = 2;
/// `BPF_MAP_DELETE_ELEM`, with [`Element`].
const MAP_DELETE_ELEM: libc::c_long = 3;
/// `BPF_PROG_LOAD`, with [`Load`].
const PROG_LOAD: libc::c_long = 5;

/// The attributes of `BPF_MAP_CREATE`: the first fields of `union bpf_attr`. The kernel takes the rest as zeros.
#[repr(C)]
pub(crate) struct MapCreation {
    pub(crate) kind: u32,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    pub(crate) max_entries: u32,
    pub(crate) flags: u32,
}

/// The attributes of calls for an element of a map.
#[repr(C)]
struct Element {
    map: u32,
    _padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// The attributes of `BPF_PROG_LOAD`.
#[repr(C)]
struct Load {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
}

/// Creates a map.
pub(crate) fn create_map(map: &MapCreation) -> io::Result<OwnedFd> {
    // SAFETY: the command reads the attributes, which are initialised fields without padding, and which hold
    // no pointer.
    descriptor(unsafe { bpf(MAP_CREATE, map) })
}

/// Sets the value of a key. `key` and `value` have the sizes with which the map was created.
///
/// # Safety
/// `map` is a descriptor of a map whose keys are as long as `key`, and whose values are as long as `value`.
pub(crate) unsafe fn update(map: i32, key: &[u8], value: &[u8]) -> io::Result<()> {
    let element = element(map, key, value.as_ptr() as u64);
    // SAFETY: the command reads a key and a value behind the pointers of `element`, as many bytes as the slices
    // have, which the caller has promised, and which are borrowed until the call returns.
    done(unsafe { bpf(MAP_UPDATE_ELEM, &element) })
}

/// Removes a key.
///
/// # Safety
/// `map` is a descriptor of a map whose keys are as long as `key`.
pub(crate) unsafe fn delete(map: i32, key: &[u8]) -> io::Result<()> {
    let element = element(map, key, 0);
    // SAFETY: the command reads a key behind the pointer of `element`, as many bytes as `key` has, which the
    // caller has promised, and which is borrowed until the call returns. It does not read the value.
    done(unsafe { bpf(MAP_DELETE_ELEM, &element) })
}

fn element(map: i32, key: &[u8], value: u64) -> Element {
    Element { map: map as u32, _padding: 0, key: key.as_ptr() as u64, value, flags: 0 }
}

/// Loads a program of this kind. The verifier writes its findings into `log`, unless that is empty.
pub(crate) fn load(kind: u32, code: &[[u8; 8]], log: &mut [u8]) -> io::Result<OwnedFd> {
    let license = c"Dual MIT/GPL";
    let load = Load {
        kind,
        instructions: code.len() as u32,
        code: code.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: log.len() as u32,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
    };
    // SAFETY: the command reads `instructions` times eight bytes behind `code`, and the license up to its zero;
    // it writes at most `log_size` bytes behind `log`. All three are borrowed until the call returns, the log
    // exclusively.
    descriptor(unsafe { bpf(PROG_LOAD, &load) })
}

/// Makes the call.
///
/// # Safety
/// The pointers in `attributes` are valid for what `command` reads and writes there.
unsafe fn bpf<T>(command: libc::c_long, attributes: &T) -> libc::c_long {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of the attributes; the caller vouches for what they point
    // to.
    unsafe { libc::syscall(libc::SYS_bpf, command, attributes as *const T, size_of::<T>()) }
}

fn done(returned: libc::c_long) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn descriptor(returned: libc::c_long) -> io::Result<OwnedFd> {
    done(returned)?;
    let number = i32::try_from(returned).map_err(io::Error::other)?;
    // SAFETY: the call has returned a new descriptor, which nobody else knows and closes.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
