//! Sockets that a new program gets with all that is known of them, as a forked child does, since their streams have other users, too.
//!
//! The new program gets them in a table at a descriptor of a known number, the first that is free of a few, if it runs under this library.
//! One that does not has none of the sockets, and a few descriptors of which it knows nothing.

use crate::process::{self, FIRST_OWN, PLACES_BYTES, Socket};
use crate::visit::Own;
use crate::{errno, kernel, memory, real};
use libc::{c_int, c_uint};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The descriptors that may be the table.
const TABLES: Range<c_int> = FIRST_OWN as c_int - 8..FIRST_OWN as c_int;

/// The descriptor of the table, where there is one.
static TABLE: AtomicI32 = AtomicI32::new(NOWHERE);

const NOWHERE: c_int = -1;

/// The first word of a table: a name, and the version of all that lies in the places.
const NAME: u64 = u64::from_le_bytes(*b"bersoc\x01\x01");

/// The sockets that are handed over at once, at most.
const MOST: u64 = 64;

/// The words of a table before its sockets: the name, the bytes of the places, and their file.
type Head = [u64; 3];

/// The words of a socket: the program's descriptor, that of the socket meanwhile, its place, and the file with a copy of its memory, or the
/// largest number if the place has another descriptor before.
type Entry = [u64; 4];

const NO_FILE: u64 = u64::MAX;

/// The file of the places plus one, or zero.
static PLACES: AtomicI32 = AtomicI32::new(0);

/// True while a thread makes a table.
static IS_MADE: AtomicBool = AtomicBool::new(false);

/// Makes the file in which the places are, or takes that of the program before, of which this one is a part.
pub(crate) fn places() -> Option<c_int> {
    let inherited = find().and_then(|[_, _, file]| c_int::try_from(file).ok());
    let file = match inherited {
        Some(file) => file,
        None => {
            let file = memory::file()?;
            // SAFETY: the call takes numbers.
            if unsafe { libc::ftruncate(file.0, PLACES_BYTES as libc::off_t) } < 0 {
                return None;
            }
            process::make_own(file.keep())
        }
    };
    if file < FIRST_OWN as c_int {
        // The program has so few descriptors that this would be one of its own.
        process::set_own(file, false);
        // SAFETY: the descriptor is this library's.
        unsafe { real::close(file) };
        return None;
    }
    // SAFETY: the command takes a number.
    unsafe { real::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC as usize) };
    process::set_own(file, true);
    PLACES.store(file + 1, Ordering::Relaxed);
    Some(file)
}

/// Returns true for the file of the places, which a program that closes all descriptors does not mean.
pub(crate) fn is_kept(fd: c_int) -> bool {
    PLACES.load(Ordering::Relaxed) == fd.wrapping_add(1) && fd >= 0
}

/// Leaves a descriptor of which the program makes one of its own.
pub(crate) fn lost(fd: c_int) {
    if !is_kept(fd) {
        return;
    }
    // SAFETY: the command takes a number.
    let moved = unsafe { real::fcntl(fd, libc::F_DUPFD_CLOEXEC, FIRST_OWN) };
    let is_moved = moved >= 0 && process::set_own(moved, true);
    PLACES.store(if is_moved { moved + 1 } else { 0 }, Ordering::Relaxed);
}

/// Closes the descriptors of a range but for the file of the places.
pub(crate) fn around(first: c_uint, last: c_uint, close: impl Fn(c_uint, c_uint) -> c_int) -> c_int {
    let kept = c_uint::try_from(PLACES.load(Ordering::Relaxed) - 1).unwrap_or(c_uint::MAX);
    if kept == c_uint::MAX || !(first..=last).contains(&kept) {
        return close(first, last);
    }
    let before = if first < kept { close(first, kept - 1) } else { 0 };
    let behind = if kept < last { close(kept + 1, last) } else { 0 };
    before.min(behind)
}

/// Hands a socket over to the program that is called next. Its stream is [severed](crate::evict::sever).
pub(crate) fn give(socket: Socket) -> bool {
    let kept = errno::last();
    let is_given = (IS_MADE.load(Ordering::Relaxed) || begin()) && put(socket).is_some();
    errno::set(kept);
    is_given
}

/// Makes the table.
fn begin() -> bool {
    // SAFETY: the command takes no argument.
    let is_free = |fd: &c_int| unsafe { real::fcntl(*fd, libc::F_GETFD, 0) } < 0;
    let Some(free) = TABLES.rev().find(is_free) else { return false };
    let places = PLACES.load(Ordering::Relaxed) - 1;
    if places < 0 || IS_MADE.swap(true, Ordering::Relaxed) {
        return false;
    }
    let made = memory::file().and_then(|table| {
        let places = copy(places)?;
        // SAFETY: the first descriptor is this library's, and the second nobody's.
        let is_there = unsafe { real::dup3(table.0, free, 0) } == free;
        TABLE.store(if is_there { free } else { NOWHERE }, Ordering::Relaxed);
        let is_there = is_there && write(free, &[NAME, size(), places.0.cast_unsigned().into()]);
        is_there.then(|| places.keep())
    });
    if made.is_none() {
        end(false);
    }
    made.is_some()
}

/// The bytes of the places, by which another version is told.
fn size() -> u64 {
    PLACES_BYTES as u64
}

/// Copies a descriptor to one that the new program gets.
fn copy(fd: c_int) -> Option<Own> {
    // SAFETY: the command takes a number.
    let copy = unsafe { real::fcntl(fd, libc::F_DUPFD, FIRST_OWN) };
    (copy >= 0).then_some(Own(copy))
}

fn put(socket: Socket) -> Option<()> {
    let has_other = entries().any(|[_, _, number, _]| number == u64::from(socket.number));
    if entries().count() as u64 >= MOST {
        return None;
    }
    let memory = if has_other { None } else { Some(copy_of(socket)?) };
    let carrier = copy(socket.fd)?;
    let word = |fd: c_int| u64::from(fd.cast_unsigned());
    let file = memory.as_ref().map_or(NO_FILE, |file| word(file.0));
    if !write(table(), &[word(socket.fd), word(carrier.0), socket.number.into(), file]) {
        return None;
    }
    carrier.keep();
    memory.map(Own::keep);
    if !has_other {
        // The new program, which is counted before this one can end.
        socket.place.processes.fetch_add(1, Ordering::SeqCst);
    }
    Some(())
}

/// Copies the memory of a socket, of which nothing that counts changes any more.
fn copy_of(socket: Socket) -> Option<Own> {
    let file = memory::file()?;
    let receiving = socket.receiving()?;
    for words in socket.place.memory.words().chunks(512) {
        let mut copied = [0; 512];
        copied.iter_mut().zip(words).for_each(|(to, from)| *to = from.load(Ordering::Relaxed));
        if !write(file.0, &copied[..words.len()]) {
            return None;
        }
    }
    drop(receiving);
    copy(file.0)
}

fn write(file: c_int, words: &[u64]) -> bool {
    let bytes = size_of_val(words);
    // SAFETY: the buffer has so many bytes.
    unsafe { real::write(file, words.as_ptr().cast(), bytes) == bytes as isize }
}

/// Ends the table behind the call, which made a new program or did not.
pub(crate) fn end(is_taken: bool) {
    if !IS_MADE.load(Ordering::Relaxed) {
        return;
    }
    let kept = errno::last();
    for [fd, carrier, number, file] in entries() {
        // SAFETY: the command takes a number.
        unsafe { real::fcntl(fd as c_int, libc::F_SETFD, 0) };
        if let Some(socket) = Socket::handed_over(number as u32, fd as c_int)
            && !is_taken
            && file != NO_FILE
        {
            socket.place.processes.fetch_sub(1, Ordering::SeqCst);
        }
        close(carrier, file);
    }
    if let Some([_, _, places]) = head() {
        drop(Own(places as c_int));
    }
    drop(Own(TABLE.swap(NOWHERE, Ordering::Relaxed)));
    IS_MADE.store(false, Ordering::Relaxed);
    errno::set(kept);
}

fn close(carrier: u64, file: u64) {
    drop(Own(carrier as c_int));
    if file != NO_FILE {
        drop(Own(file as c_int));
    }
}

fn read<const N: usize>(at: usize) -> Option<[u64; N]> {
    let mut words = [0; N];
    // SAFETY: the buffer has this length.
    let read = unsafe { libc::pread(table(), words.as_mut_ptr().cast(), 8 * N, at as libc::off_t) };
    (read == 8 * N as isize).then_some(words)
}

fn table() -> c_int {
    TABLE.load(Ordering::Relaxed)
}

/// Looks for a table that the program before has left.
fn find() -> Option<Head> {
    let found = TABLES.rev().find_map(|fd| {
        TABLE.store(fd, Ordering::Relaxed);
        head()
    });
    if found.is_none() {
        TABLE.store(NOWHERE, Ordering::Relaxed);
    }
    found
}

/// Reads the head of the table, if there is one.
fn head() -> Option<Head> {
    // SAFETY: the command takes no argument. A file of another kind has no seals.
    let is_memory = unsafe { real::fcntl(table(), libc::F_GET_SEALS, 0) } >= 0;
    let head = if is_memory { read(0) } else { None };
    head.filter(|[name, bytes, _]| (*name, *bytes) == (NAME, size()))
}

fn entries() -> impl Iterator<Item = Entry> {
    (0..MOST as usize).map_while(|at| read(size_of::<Head>() + at * size_of::<Entry>()))
}

/// Takes the sockets that the program before has handed over.
pub(crate) fn take() {
    if head().is_none() || PLACES.load(Ordering::Relaxed) == 0 {
        return;
    }
    for [fd, carrier, number, file] in entries() {
        if let Some(socket) = Socket::handed_over(number as u32, fd as c_int) {
            take_one(socket, carrier as c_int, file);
        }
        close(carrier, file);
    }
    drop(Own(TABLE.swap(NOWHERE, Ordering::Relaxed)));
}

fn take_one(socket: Socket, carrier: c_int, file: u64) {
    // The place has a descriptor already if its memory is mapped.
    let is_mapped = match file {
        NO_FILE => socket.descriptors() > 0,
        file => socket.place.memory.map_again(file as c_int),
    };
    if !is_mapped {
        // The stream has an end rather than wrong bytes.
        kernel::reset(carrier);
        if file != NO_FILE {
            socket.place.processes.fetch_sub(1, Ordering::SeqCst);
        }
    }
    // SAFETY: the new program has nothing at a descriptor that it is to inherit.
    let is_there = unsafe { real::dup3(carrier, socket.fd, 0) } >= 0;
    if is_there && is_mapped {
        socket.duplicated(socket.fd);
    }
}
