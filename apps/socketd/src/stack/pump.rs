//! The pump between a carrier and a connection. A message is some bytes of the stream, and an empty message is the end of a direction.

use super::carrier::{Carrier, Read};
use super::roll::Entry;
use bertha_core::{Buf, Error, ErrorKind};
use bertha_named::AnyConnection;
use std::cell::Cell;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The bytes that are read from a program at once.
const BYTES: usize = 64 << 10;

/// The messages that are received at once.
const MESSAGES: usize = 64;

/// The time between looks at a program that has ended its direction: it may have gone.
const LOOK: Duration = Duration::from_secs(30);

/// Carries bytes both ways until both have ended, or until one fails, which cuts the other.
pub(super) async fn carry(entry: Entry, connection: Arc<dyn AnyConnection>, carrier: Carrier) {
    match both(&connection, &carrier).await {
        Ok(()) => {
            carrier.close_in_order();
            // The other end may have closed before.
            let closed = connection.close().await;
            tracing::debug!(?closed, "a connection has ended");
        }
        // Dropping both is a cut, at both ends.
        Err(error) => entry.refused(&format!("cut: {error}")),
    }
}

async fn both(connection: &Arc<dyn AnyConnection>, carrier: &Carrier) -> Result<(), Error> {
    let has_ended = Cell::new(false);
    let mut up = pin!(upwards(connection, carrier, &has_ended));
    let mut down = pin!(downwards(connection, carrier, &has_ended));
    tokio::select! {
        sent = &mut up => {
            sent?;
            down.await
        }
        received = &mut down => {
            received?;
            // The other end may be gone, which a program hears of that sends on.
            tokio::select! {
                sent = &mut up => sent,
                error = cut(connection) => Err(error),
            }
        }
    }
}

/// Waits for a cut of a connection whose direction to this end has ended.
async fn cut(connection: &Arc<dyn AnyConnection>) -> Error {
    loop {
        match connection.receive().await {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Closed => pending().await,
            Err(error) => return error,
        }
    }
}

/// Carries what the program sends.
async fn upwards(
    connection: &Arc<dyn AnyConnection>,
    carrier: &Carrier,
    has_ended: &Cell<bool>,
) -> Result<(), Error> {
    let mut bytes = vec![0; BYTES];
    loop {
        let read = carrier.read(&mut bytes).await?;
        let (Read::Bytes(count) | Read::Last(count)) = read else { break };
        if count > 0 {
            connection.clone().send_burst(messages(&**connection, &bytes[..count])?).await?;
        }
        if read == Read::Last(count) {
            break;
        }
    }
    has_ended.set(true);
    let ended = async {
        connection.clone().send(connection.buffer(0)?).await?;
        connection.clone().drain().await
    };
    match ended.await {
        // It has closed before, and wanted no more.
        Err(error) if error.kind() == ErrorKind::Closed => Ok(()),
        ended => ended,
    }
}

/// Cuts bytes into messages.
fn messages(connection: &dyn AnyConnection, bytes: &[u8]) -> Result<Vec<Buf>, Error> {
    let longest = connection.longest().max(1);
    let copied = bytes.chunks(longest).map(|part| {
        let mut message = connection.buffer(part.len())?;
        message.copy_from_slice(part);
        Ok(message)
    });
    copied.collect()
}

/// Carries what the other end sends.
async fn downwards(
    connection: &Arc<dyn AnyConnection>,
    carrier: &Carrier,
    has_ended: &Cell<bool>,
) -> Result<(), Error> {
    let mut messages = Vec::with_capacity(MESSAGES);
    let mut was_gone = false;
    loop {
        messages.clear();
        match timeout(LOOK, connection.receive_burst(&mut messages, MESSAGES)).await {
            Ok(Ok(_)) => {}
            // It has closed in order without an end before that.
            Ok(Err(error)) if error.kind() == ErrorKind::Closed => break,
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                let is_gone = has_ended.get() && carrier.is_closed();
                if was_gone && is_gone {
                    return Err(Error::new(ErrorKind::TimedOut, "the other end goes on without the program"));
                }
                was_gone = is_gone;
            }
        }
        let end = messages.iter().position(|message| message.is_empty());
        carrier.write(&messages[..end.unwrap_or(messages.len())]).await?;
        if end.is_some() {
            break;
        }
    }
    Ok(carrier.end()?)
}
