//! Messages of a handshake that a server sends once.

use crate::deadline::within;
use crate::wire::{self, Kind, Refusal, RefusalKind, Tag};
use bertha_core::{Base, Buf, Connection};
use std::pin::pin;
use std::time::Duration;

/// The text for a client that finds no room.
pub(super) const BUSY: &str = "the server has more clients than it can hold at the moment; try again later";

/// Tells a client that there is no room for it. `id` is that of its offer, or 0 if none was read.
pub(super) async fn turn_away<C: Connection<Data = Buf>>(base: &C, id: u64) {
    let refusal = Refusal { id, kind: RefusalKind::Busy, text: BUSY.into() };
    if let Ok(refusal) = wire::encode(Kind::Refusal, Tag::of(id), &refusal) {
        reply_with(base, &refusal).await;
    }
}

/// Tells a client that is given up that there is no room for it, for as long as `limit` at most.
pub(super) async fn turn_away_within<C: Connection<Data = Buf>>(base: &C, limit: Duration) {
    let telling = async {
        turn_away(base, 0).await;
        Ok(())
    };
    let _ = within(base.base().runtime(), limit, || "a client that is given up does not read", pin!(telling))
        .await;
}

/// Sends a handshake message. A failure is not reported: the client repeats its offer.
pub(super) async fn reply_with<C: Connection<Data = Buf>>(base: &C, reply: &[u8]) {
    if let Ok(message) = Buf::copy_of(reply, 0) {
        let _ = base.send(message).await;
    }
}
