//! The end of a stream whose peer may still send.
//!
//! A system that closes a socket resets the stream if bytes from the peer are unread, or arrive later (RFC 1122, section
//! 4.2.2.13), and a reset takes from the peer what it has not read yet. So an end that sends no more first reads, and drops,
//! what the peer still sends. Beneath a negotiated connection its close does that.

use super::machine::Machine;
use crate::arrived::Arrived;
use bertha_core::{Base, Buf, Chunk, Connection, Octets, Runtime};
use futures_util::future::select;
use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

/// Maximum number of pieces that are received from below in one call.
const BURST: usize = 16;

/// Time for which a close waits for the peer's end.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Returns true if the stream below needs it.
pub(super) fn is_needed<Inner: Connection>(inner: &Inner, is_negotiated: bool) -> bool {
    !is_negotiated && inner.base().properties().reliable
}

/// Ends this half of the stream, if the connection below has halves, and drops what the peer sends until `is_end` returns true
/// for the pieces that have arrived, or the stream ends. Waits no longer than five seconds.
pub(super) async fn linger<Inner: Connection<Data: Octets>>(
    inner: &Inner,
    mut pieces: VecDeque<Buf>,
    mut is_end: impl FnMut(&VecDeque<Buf>) -> bool,
) {
    let runtime = inner.base().runtime();
    let deadline = pin!(runtime.sleep_until(runtime.now() + TIMEOUT));
    let dropping = pin!(async {
        if !<Inner::Data as Octets>::HAS_BOUNDS && inner.send(Buf::from(Chunk::end()).into()).await.is_err() {
            return;
        }
        while !is_end(&pieces) {
            pieces.clear();
            let mut arrived = Arrived::<Inner::Data>::new(&mut pieces);
            match inner.recv_batch(&mut arrived, BURST).await {
                Ok(_) if !arrived.has_ended => {}
                _ => return,
            }
        }
    });
    select(dropping, deadline).await;
}

/// Returns true if the peer's end of TLS is among these pieces.
pub(super) fn has_end(machine: &mut Machine, pieces: &VecDeque<Buf>) -> bool {
    pieces.iter().any(|piece| {
        let mut bytes = &piece[..];
        while !bytes.is_empty() {
            if machine.receive(&mut bytes, drop).is_some() {
                return true;
            }
        }
        false
    })
}
