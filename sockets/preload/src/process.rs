//! The state of a process: its descriptors, its places, and where the daemon is.

use crate::place::{Place, Receiving, Sending};
use crate::{memory, real};
use bertha_sockets_machine::Table;
use libc::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU16, AtomicU32, Ordering};

/// The number of descriptors that can be tracked.
pub(crate) const DESCRIPTORS: usize = 1 << 16;

/// The number of sockets that can be tracked.
pub(crate) const PLACES: u32 = 1 << 14;

/// The places that are looked at for a new socket.
const TRIES: u32 = 64;

static TABLE: Table<DESCRIPTORS> = Table::new();

/// The largest descriptor that was tracked, and one more.
static END: AtomicI32 = AtomicI32::new(0);

static PLACES_AT: AtomicPtr<Place> = AtomicPtr::new(null_mut());

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The places that are used in turn: so few that a program with few sockets touches little memory, and so many that a place is not
/// used again at once.
static TURNING: AtomicU32 = AtomicU32::new(1 << 9);

/// The number of descriptors of this process for each place.
static DESCRIPTORS_OF: [AtomicU16; PLACES as usize] = [const { AtomicU16::new(0) }; PLACES as usize];

/// Returns a place by its number.
#[inline]
fn place(number: u32) -> Option<&'static Place> {
    let places = PLACES_AT.load(Ordering::Acquire);
    if places.is_null() || number >= PLACES {
        return None;
    }
    // SAFETY: so many places lie in the mapping, which is never unmapped. Zeros, which it began with, are a place, and everything in it
    // that is not atomic is behind its locks.
    Some(unsafe { &*places.wrapping_add(number as usize) })
}

/// A socket that is tracked.
#[derive(Clone, Copy)]
pub(crate) struct Socket {
    pub(crate) fd: c_int,
    pub(crate) number: u32,
    pub(crate) place: &'static Place,
}

impl Socket {
    /// Returns the socket of a descriptor, if it is tracked. This is all that a call for another descriptor costs.
    #[inline]
    pub(crate) fn of(fd: c_int) -> Option<Self> {
        let number = TABLE.get(fd)?;
        Some(Self { fd, number, place: place(number)? })
    }

    /// Returns the socket of a place, by one of its descriptors.
    pub(crate) fn at(number: u32, fd: c_int) -> Option<Self> {
        Self::of(fd).filter(|socket| socket.number == number)
    }

    /// Returns true if the descriptor is still this socket's.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        TABLE.get(self.fd) == Some(self.number)
    }

    /// Locks the sending half, if the descriptor is still this socket's: its memory may be gone otherwise.
    pub(crate) fn sending(&self) -> Option<Sending<'static>> {
        self.place.sending().ok().filter(|_| self.is_current())
    }

    /// Locks the receiving half, as [`sending`](Self::sending) does the other.
    pub(crate) fn receiving(&self) -> Option<Receiving<'static>> {
        self.place.receiving().ok().filter(|_| self.is_current())
    }

    /// Returns true if no child or parent has the socket, too.
    pub(crate) fn is_ours_alone(&self) -> bool {
        self.place.processes.load(Ordering::SeqCst) == 1
    }

    /// The number of descriptors of this process.
    pub(crate) fn descriptors(&self) -> u16 {
        DESCRIPTORS_OF[self.number as usize].load(Ordering::Relaxed)
    }

    /// Returns the socket of a place that has no descriptor yet.
    pub(crate) fn handed_over(number: u32, fd: c_int) -> Option<Self> {
        Some(Self { fd, number, place: place(number)? })
    }

    /// Tracks another descriptor of the socket.
    pub(crate) fn duplicated(&self, fd: c_int) {
        if TABLE.set(fd, self.number) {
            DESCRIPTORS_OF[self.number as usize].fetch_add(1, Ordering::Relaxed);
            END.fetch_max(fd + 1, Ordering::Relaxed);
        }
    }
}

/// Takes a free place for a socket, of which no descriptor is tracked yet.
pub(crate) fn take_place(fd: c_int) -> Option<Socket> {
    loop {
        let turning = TURNING.load(Ordering::Relaxed);
        let found = take_place_of(turning, fd);
        if found.is_some() || turning >= PLACES {
            return found;
        }
        TURNING.fetch_max(2 * turning, Ordering::Relaxed);
    }
}

fn take_place_of(turning: u32, fd: c_int) -> Option<Socket> {
    for _ in 0..TRIES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed) % turning;
        let place = place(number)?;
        let is_free = place.calls.load(Ordering::Relaxed) == 0
            && place.processes.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_free {
            place.prepare();
            DESCRIPTORS_OF[number as usize].store(0, Ordering::Relaxed);
            return Some(Socket { fd, number, place });
        }
    }
    None
}

/// Takes a descriptor out of the table. Returns its socket, and true if it was the last one.
pub(crate) fn take(fd: c_int) -> Option<(Socket, bool)> {
    let number = TABLE.take(fd)?;
    let socket = Socket { fd, number, place: place(number)? };
    Some((socket, DESCRIPTORS_OF[number as usize].fetch_sub(1, Ordering::AcqRel) == 1))
}

/// Makes the places, once, or takes those that are in a file. Returns false if there are none.
pub(crate) fn make_places(file: Option<c_int>) -> bool {
    if !PLACES_AT.load(Ordering::Relaxed).is_null() {
        return false;
    }
    let places = match file {
        Some(file) => memory::map(file, PLACES_BYTES, null_mut()),
        None => memory::for_children(PLACES_BYTES),
    };
    let Some(places) = places else { return false };
    PLACES_AT.store(places.as_ptr().cast(), Ordering::Release);
    true
}

/// The bytes of all places.
pub(crate) const PLACES_BYTES: usize = size_of::<Place>() * PLACES as usize;

/// Moves a descriptor to those of this library, and returns where it is now.
pub(crate) fn make_own(low: c_int) -> c_int {
    // SAFETY: the command takes a number.
    let high = unsafe { real::fcntl(low, libc::F_DUPFD_CLOEXEC, FIRST_OWN) };
    let own = if high < 0 { low } else { high };
    if high >= 0 {
        // SAFETY: nobody else knows of the descriptor.
        unsafe { real::close(low) };
    }
    set_own(own, true);
    own
}

/// Descriptors of this library lie from here on, so that a program finds its own where it expects them.
pub(crate) const FIRST_OWN: usize = 900;

/// Descriptors of this library.
static OWN: [AtomicBool; DESCRIPTORS] = [const { AtomicBool::new(false) }; DESCRIPTORS];

/// Returns true if a descriptor is this library's.
#[inline]
pub(crate) fn is_own(fd: c_int) -> bool {
    usize::try_from(fd).ok().and_then(|fd| OWN.get(fd)).is_some_and(|own| own.load(Ordering::Relaxed))
}

/// Says whose a descriptor is. Returns false for one that nobody can keep.
pub(crate) fn set_own(fd: c_int, is_own: bool) -> bool {
    let entry = usize::try_from(fd).ok().and_then(|fd| OWN.get(fd));
    END.fetch_max(fd.saturating_add(1), Ordering::Relaxed);
    entry.inspect(|own| own.store(is_own, Ordering::Relaxed)).is_some()
}

/// Returns one more than the largest descriptor of which anything is known.
pub(crate) fn end() -> c_int {
    END.load(Ordering::Relaxed)
}

/// Counts this process out of the sockets that a new program does not inherit.
pub(crate) fn before_exec() {
    for socket in each_socket().filter(is_closed_on_exec) {
        socket.place.processes.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts this process in again.
pub(crate) fn exec_failed() {
    for socket in each_socket().filter(is_closed_on_exec) {
        socket.place.processes.fetch_add(1, Ordering::SeqCst);
    }
}

fn is_closed_on_exec(socket: &Socket) -> bool {
    // SAFETY: the command takes no argument.
    let flags = unsafe { real::fcntl(socket.fd, libc::F_GETFD, 0) };
    flags >= 0 && flags & libc::FD_CLOEXEC != 0
}

/// Returns every descriptor that is tracked.
pub(crate) fn sockets() -> impl Iterator<Item = Socket> {
    let end = usize::try_from(END.load(Ordering::Relaxed)).unwrap_or(0);
    TABLE.iter(end).filter_map(|(fd, number)| Some(Socket { fd, number, place: place(number)? }))
}

/// Returns one descriptor of each socket that is tracked.
pub(crate) fn each_socket() -> impl Iterator<Item = Socket> {
    sockets().filter(|socket| {
        socket.descriptors() <= 1
            || sockets()
                .find(|other| other.number == socket.number)
                .is_some_and(|first| first.fd == socket.fd)
    })
}
