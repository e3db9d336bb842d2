//! Readiness of a socket with memory, beyond what the kernel knows.

use crate::place::State;
use crate::process::Socket;
use crate::take::{discard_bells, keep_error};
use crate::{kernel, transmit};
use bertha_sockets_machine::{Edge, Receiver, Source};
use std::sync::atomic::Ordering;

/// The bells that may come while they are taken.
const ROUNDS: u32 = 8;

/// Returns true if the ring has bytes for the program.
pub(crate) fn is_ready(socket: Socket) -> bool {
    let Some(mut receiving) = socket.receiving() else { return false };
    match receiving.parts() {
        // A broken ring makes the program read, which then fails.
        Some((receiver, side)) if socket.place.state() == State::Paired => {
            !matches!(receiver.next(side), Ok(Source::Bells(_) | Source::Carrier))
        }
        _ => false,
    }
}

/// Returns true if bytes lie in the ring that the other end does not send again, as it has left the ring by itself.
pub(crate) fn is_left_behind(socket: Socket) -> bool {
    let Some(mut receiving) = socket.receiving() else { return false };
    receiving.parts().is_some_and(|(receiver, side)| {
        receiver.is_left(side) && matches!(receiver.next(side), Ok(Source::Ring))
    })
}

/// Returns true if the ring has bytes of which a waiter for edges has not heard, and counts them as heard.
pub(crate) fn is_news(socket: Socket, edge: &mut Edge) -> bool {
    let Some(mut receiving) = socket.receiving() else { return false };
    match receiving.parts() {
        Some((receiver, side)) if socket.place.state() == State::Paired => {
            !matches!(receiver.next(side), Ok(Source::Bells(_) | Source::Carrier))
                && edge.is_new(side, receiver)
        }
        _ => false,
    }
}

/// Has the other end ring for the next bytes. Returns false if there are bytes.
pub(crate) fn fall_asleep(socket: Socket) -> bool {
    let Some(mut receiving) = socket.receiving() else { return true };
    match receiving.parts() {
        Some((receiver, side)) if socket.place.state() == State::Paired => receiver.fall_asleep(side),
        _ => true,
    }
}

/// Takes the bells, since the kernel has said that the socket is readable, and answers a receiver that rang for the stream. Returns
/// true if there is something to read indeed.
pub(crate) fn is_readable(socket: Socket) -> bool {
    if socket.place.state() != State::Paired {
        return true;
    }
    transmit::answer(socket);
    let Some(mut receiving) = socket.receiving() else { return true };
    let Some((receiver, side)) = receiving.parts() else { return true };
    let mut has_bytes = false;
    for _ in 0..ROUNDS {
        match receiver.next(side) {
            Ok(Source::Bells(0) | Source::Carrier) => break,
            Ok(Source::Ring) if receiver.bells(side) == 0 => {
                has_bytes = true;
                break;
            }
            // Behind bytes a bell may lie still, which would wake the next waiter for nothing.
            Ok(source) => {
                has_bytes |= source == Source::Ring;
                let taken = discard_bells(socket, receiver, side);
                if taken <= 0 {
                    keep_error(socket, taken);
                    break;
                }
            }
            Err(_) => return true,
        }
    }
    has_bytes || has_error(socket) || kernel::events(socket.fd, libc::POLLIN | libc::POLLRDHUP) != 0
}

/// Returns true if the other end rings for the next bytes.
#[inline]
pub(crate) fn is_asleep(socket: Socket) -> bool {
    socket.place.side(false).is_none_or(Receiver::is_asleep)
}

/// Returns true if the kernel has told of an error that the program has not heard of.
#[inline]
pub(crate) fn has_error(socket: Socket) -> bool {
    socket.place.error.load(Ordering::Relaxed) != 0
}
