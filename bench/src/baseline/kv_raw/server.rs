//! The serving loop of one shard.

use super::inbox::Inbox;
use super::socket::BatchSocket;
use crate::Error;
use crate::codec::Codec;
use bertha_kvstore::Store;
use std::convert::Infallible;

/// Answers requests until it is dropped. What is not a message gets no answer.
pub(super) async fn serve<C: Codec>(
    codec: C,
    socket: &BatchSocket,
    store: &mut Store,
) -> Result<Infallible, Error> {
    let mut inbox = Inbox::new();
    let mut outbox = socket.outbox();
    loop {
        socket.recv(&mut inbox).await?;
        for (client, datagram) in inbox.datagrams() {
            let Ok(request) = codec.decode(datagram) else { continue };
            let reply = store.handle(request);
            if outbox.is_full() {
                socket.flush(&mut outbox).await?;
            }
            outbox.push(client, |space| codec.encode(&reply, space))?;
        }
        socket.flush(&mut outbox).await?;
    }
}
