//! The knowledge about a descriptor whose socket the daemon carries.

use crate::{memory, real};
use bertha_sockets_machine::device::Place;
use libc::{c_int, epoll_event};
use std::ptr::null_mut;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering,
};

/// The number of descriptors that can be carried.
const DESCRIPTORS: usize = 1 << 16;

/// The number of sockets of which children know whether they were shut.
const SHUT: u32 = 1 << 16;

/// True if there is a stack.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// The kind of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The kernel has the socket.
    None = 0,
    Connecting = 1,
    Connected = 2,
    /// The connection was not made.
    Failed = 3,
    Listening = 4,
    /// The socket is one of datagrams.
    Datagrams = 5,
}

/// A place that threads may change.
#[derive(Debug)]
struct SharedPlace {
    ip: [AtomicU64; 2],
    port: AtomicU16,
}

/// The knowledge about a descriptor. A child has a copy of it.
#[derive(Debug)]
pub(crate) struct Entry {
    kind: AtomicU8,
    is_ipv6: AtomicBool,
    pub(crate) nodelay: AtomicBool,
    /// True once `connect` has told the program that it is connected, which the kernel does once.
    told: AtomicBool,
    /// The directions that a process of the socket has shut.
    shut: AtomicU32,
    local: SharedPlace,
    peer: SharedPlace,
    /// The set of epoll plus one in which the TCP socket was registered, with the program's data.
    set: AtomicI32,
    events: AtomicU32,
    data: AtomicU64,
}

static ENTRIES: [Entry; DESCRIPTORS] = [const { Entry::new() }; DESCRIPTORS];

/// Memory that children share with their parent: the next number of a socket, and the sockets that were shut.
#[repr(C)]
struct Shared {
    next: AtomicU32,
    is_shut: [AtomicBool; SHUT as usize],
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(null_mut());

fn shared() -> Option<&'static Shared> {
    let shared = SHARED.load(Ordering::Acquire);
    // SAFETY: the pointer is null, or points to a mapping of this size that is never unmapped. Its zeros are a value.
    unsafe { shared.as_ref() }
}

/// Begins to have programs' sockets carried.
pub(super) fn turn_on() {
    // Without memory, connections fail: what a stack is to carry does not go through the kernel instead.
    if let Some(memory) = memory::for_children(size_of::<Shared>()) {
        SHARED.store(memory.as_ptr().cast(), Ordering::Release);
    }
    IS_ON.store(true, Ordering::Release);
}

/// Returns true if sockets are carried.
#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Returns the entry of a descriptor that is carried.
#[inline]
pub(crate) fn of(fd: c_int) -> Option<&'static Entry> {
    if !is_on() {
        return None;
    }
    at(fd).filter(|entry| entry.kind() != Kind::None)
}

fn at(fd: c_int) -> Option<&'static Entry> {
    ENTRIES.get(usize::try_from(fd).ok()?)
}

/// Enters a descriptor. Returns false if it is beyond all that can be carried.
pub(crate) fn enter(fd: c_int, kind: Kind, is_ipv6: bool, local: Place, peer: Place) -> bool {
    let (Some(entry), Some(shared)) = (at(fd), shared()) else { return false };
    let number = shared.next.fetch_add(1, Ordering::Relaxed) % SHUT;
    shared.is_shut[number as usize].store(false, Ordering::Relaxed);
    entry.shut.store(number, Ordering::Relaxed);
    entry.is_ipv6.store(is_ipv6, Ordering::Relaxed);
    entry.told.store(kind != Kind::Connecting, Ordering::Relaxed);
    entry.local.set(local);
    entry.peer.set(peer);
    entry.set_kind(kind);
    true
}

/// Forgets a descriptor that is closed now.
pub(crate) fn forget(fd: c_int) {
    if is_on()
        && let Some(entry) = at(fd)
    {
        entry.set_kind(Kind::None);
        entry.set.store(0, Ordering::Relaxed);
        entry.nodelay.store(false, Ordering::Relaxed);
    }
}

/// Notes that a descriptor has a copy.
pub(crate) fn copied(from: c_int, to: c_int) {
    let (Some(from), Some(to)) = (of(from), at(to)) else { return };
    to.shut.store(from.shut.load(Ordering::Relaxed), Ordering::Relaxed);
    to.is_ipv6.store(from.is_ipv6(), Ordering::Relaxed);
    to.told.store(from.told.load(Ordering::Relaxed), Ordering::Relaxed);
    to.nodelay.store(from.nodelay.load(Ordering::Relaxed), Ordering::Relaxed);
    to.local.set(from.local());
    to.peer.set(from.peer());
    to.set_kind(from.kind());
}

/// Notes a registration with epoll, which ends when a carrier takes the place of the socket.
pub(crate) fn registered(set: c_int, operation: c_int, fd: c_int, event: *const epoll_event) {
    if !is_on() {
        return;
    }
    let Some(entry) = at(fd) else { return };
    let is_set = operation != libc::EPOLL_CTL_DEL && !event.is_null();
    // SAFETY: the kernel has read an event there.
    match is_set.then(|| unsafe { event.read_unaligned() }) {
        Some(event) => {
            entry.events.store(event.events, Ordering::Relaxed);
            entry.data.store(event.u64, Ordering::Relaxed);
            entry.set.store(set + 1, Ordering::Relaxed);
        }
        None => entry.set.store(0, Ordering::Relaxed),
    }
}

/// Takes the registration of a TCP socket back, as the daemon may have the socket a little longer, and makes that of the carrier in its place.
pub(crate) fn register_anew(fd: c_int, operation: c_int) {
    let Some(entry) = at(fd) else { return };
    let set = entry.set.load(Ordering::Relaxed);
    if set > 0 {
        let (events, u64) = (entry.events.load(Ordering::Relaxed), entry.data.load(Ordering::Relaxed));
        let mut event = epoll_event { events, u64 };
        // SAFETY: the event lives until the call returns.
        unsafe { real::epoll_ctl(set - 1, operation, fd, &raw mut event) };
    }
}

impl Entry {
    const fn new() -> Self {
        Self {
            kind: AtomicU8::new(Kind::None as u8),
            is_ipv6: AtomicBool::new(false),
            nodelay: AtomicBool::new(false),
            told: AtomicBool::new(false),
            shut: AtomicU32::new(0),
            local: SharedPlace::new(),
            peer: SharedPlace::new(),
            set: AtomicI32::new(0),
            events: AtomicU32::new(0),
            data: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        match self.kind.load(Ordering::Acquire) {
            1 => Kind::Connecting,
            2 => Kind::Connected,
            3 => Kind::Failed,
            4 => Kind::Listening,
            5 => Kind::Datagrams,
            _ => Kind::None,
        }
    }

    pub(crate) fn set_kind(&self, kind: Kind) {
        self.kind.store(kind as u8, Ordering::Release);
    }

    pub(crate) fn is_ipv6(&self) -> bool {
        self.is_ipv6.load(Ordering::Relaxed)
    }

    pub(crate) fn local(&self) -> Place {
        self.local.get()
    }

    pub(crate) fn set_local(&self, place: Place) {
        self.local.set(place);
    }

    pub(crate) fn peer(&self) -> Place {
        self.peer.get()
    }

    pub(crate) fn set_peer(&self, place: Place) {
        self.peer.set(place);
    }

    /// Notes that `connect` tells the program that it is connected. Returns false if it has before.
    pub(crate) fn tell(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }

    fn flag(&self) -> Option<&'static AtomicBool> {
        shared()?.is_shut.get(self.shut.load(Ordering::Relaxed) as usize)
    }

    /// Returns true if the program, or a child, has ended its direction.
    pub(crate) fn is_shut(&self) -> bool {
        self.flag().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Notes that the program has ended its direction. Returns false if it had before.
    pub(crate) fn shut(&self) -> bool {
        self.flag().is_some_and(|flag| !flag.swap(true, Ordering::Relaxed))
    }

    /// Notes that the program's direction was over before the program ended it.
    pub(crate) fn undo_shut(&self) {
        if let Some(flag) = self.flag() {
            flag.store(false, Ordering::Relaxed);
        }
    }
}

impl SharedPlace {
    const fn new() -> Self {
        Self { ip: [const { AtomicU64::new(0) }; 2], port: AtomicU16::new(0) }
    }

    fn set(&self, place: Place) {
        let (high, low) = place.ip.split_at(8);
        for (word, bytes) in self.ip.iter().zip([high, low]) {
            word.store(bytes.try_into().map_or(0, u64::from_ne_bytes), Ordering::Relaxed);
        }
        self.port.store(place.port, Ordering::Relaxed);
    }

    fn get(&self) -> Place {
        let mut ip = [0; 16];
        for (bytes, word) in ip.chunks_exact_mut(8).zip(&self.ip) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        Place { ip, port: self.port.load(Ordering::Relaxed) }
    }
}
