//! Waits that look at rings before the kernel has them wait: a round trip through two rings takes less time than one system call.

use crate::process::Socket;
use crate::ready;
use crate::time::nanoseconds;
use bertha_sockets_machine::Spins;
use std::hint;

/// The time for which a wait looks at rings: about that in which the kernel wakes a thread, so that a wait takes twice its time at most.
const NANOSECONDS: i128 = 20_000;

/// The looks between two looks at the clock.
const LOOKS: u32 = 8;

/// The spins of the waits for several sockets at once in this process.
static SEVERAL: Spins = Spins::new();

/// Looks for bytes of a socket. Returns true if there are some.
pub(crate) fn for_one(socket: Socket) -> bool {
    spin(&socket.place.spins, || ready::is_ready(socket))
}

/// Looks for bytes of any of several sockets, as `is_ready` does. Returns true if there are some.
pub(crate) fn for_several(is_ready: impl FnMut() -> bool) -> bool {
    spin(&SEVERAL, is_ready)
}

fn spin(spins: &Spins, mut is_ready: impl FnMut() -> bool) -> bool {
    if !spins.begins() {
        return false;
    }
    let end = nanoseconds() + NANOSECONDS;
    let is_there = loop {
        let is_there = (0..LOOKS).any(|_| {
            hint::spin_loop();
            is_ready()
        });
        if is_there || nanoseconds() > end {
            break is_there;
        }
    };
    spins.ended(is_there);
    is_there
}
