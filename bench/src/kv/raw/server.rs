//! The serving loop of a shard.

use super::inbox::Inbox;
use super::socket::BatchSocket;
use crate::Error;
use crate::kv::BURST;
use crate::kv::codec::{Format, decode_checked, encode_checked};
use bertha_kvstore::Store;
use std::convert::Infallible;

/// Answers requests in the format `F` until the future is dropped, and sends replies in bursts as the store over Bertha does. A
/// datagram that is not a message gets no answer.
pub(super) async fn serve<F: Format>(socket: &BatchSocket, store: &mut Store) -> Result<Infallible, Error> {
    let mut inbox = Inbox::new();
    let mut outbox = socket.outbox();
    loop {
        socket.recv(&mut inbox).await?;
        for (number, (client, datagram)) in inbox.datagrams().enumerate() {
            if outbox.is_full() || (number > 0 && number % BURST == 0) {
                socket.flush(&mut outbox).await?;
            }
            let Ok(mut message) = decode_checked::<F>(datagram) else { continue };
            store.answer(&mut message);
            outbox.push(client, |space| encode_checked::<F>(&message, space))?;
        }
        socket.flush(&mut outbox).await?;
    }
}
