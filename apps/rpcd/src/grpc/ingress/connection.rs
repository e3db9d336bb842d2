//! A connection over HTTP/2.

use super::call;
use super::party::Parties;
use super::reading::{Common, Reading};
use crate::grpc::turns::Turns;
use crate::state::State;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Time in which a caller has to speak HTTP/2.
const SAID: Duration = Duration::from_secs(5);

/// Time after which a connection without calls is closed.
const IDLE: Duration = Duration::from_secs(300);

/// Number of calls of a connection that are under way at once.
const CALLS: u32 = 1024;

/// Number of bytes that a caller may send before they are read.
const WINDOW: u32 = 256 << 10;

/// Number of bytes of the headers of a call.
const HEADERS: u32 = 16 << 10;

/// Serves the calls of a connection, until it ends.
///
/// # Errors
/// The error with which the connection has ended.
pub(super) async fn serve(
    socket: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketAddr,
    reading: Arc<Common>,
    state: Arc<State>,
) -> Result<(), h2::Error> {
    let mut builder = h2::server::Builder::new();
    builder
        .max_concurrent_streams(CALLS)
        .max_header_list_size(HEADERS)
        .initial_connection_window_size(WINDOW);
    let Ok(shaken) = timeout(SAID, builder.handshake(Turns::new(socket))).await else { return Ok(()) };
    let mut connection = shaken?;
    let parties = Arc::new(Parties::new(peer, Reading::new(reading, peer), state));
    let mut calls = JoinSet::new();
    loop {
        // What is under way is polled by the connection, too, so an idle one alone has a limit.
        let accepted = match calls.is_empty() {
            true => match timeout(IDLE, connection.accept()).await {
                Ok(accepted) => accepted,
                Err(_) => {
                    connection.graceful_shutdown();
                    connection.accept().await
                }
            },
            false => tokio::select! {
                accepted = connection.accept() => accepted,
                _ = calls.join_next() => continue,
            },
        };
        match accepted {
            Some(call) => {
                let (request, response) = call?;
                calls.spawn(call::answer(request, response, Arc::clone(&parties)));
            }
            None => return Ok(()),
        }
    }
}
