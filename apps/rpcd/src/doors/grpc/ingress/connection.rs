//! A connection over HTTP/2.

use super::call;
use super::party::Parties;
use super::reading::{Common, Reading};
use crate::admission::not_taken_counts::{Door, Reason as NotTaken};
use crate::doors::grpc::fairness::credit::Credit;
use crate::doors::grpc::fairness::turns::Turns;
use crate::doors::grpc::fairness::turnstile::Turnstile;
use crate::doors::port_room::Place;
use crate::state::State;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::Request;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Time in which a caller has to speak HTTP/2.
const SAID: Duration = Duration::from_secs(5);

/// Time after which a connection without calls is closed.
const IDLE: Duration = Duration::from_secs(300);

/// Number of calls of a connection that are under way at once.
const CALLS: u32 = 1024;

/// Number of bytes that a caller may send before they are read.
const WINDOW: u32 = 256 << 10;

/// Number of calls which their caller has cancelled before they were taken. A turn of the socket brings some three hundred, of which
/// none is left when the next begins.
const CANCELLED: usize = 1024;

/// Number of malformed and surplus calls of a connection in all its time. A proxy has one for weeks, for the calls of many.
const MALFORMED: usize = 64 << 10;

/// Number of bytes of the headers of a call.
const HEADERS: u32 = 16 << 10;

/// The parts that a connection shares with others.
#[derive(Debug)]
pub(super) struct Shared {
    /// The room of all.
    pub(super) reading: Arc<Common>,
    /// The turns of its peer.
    pub(super) turnstile: Arc<Turnstile>,
}

/// Serves the calls of a connection, until it ends.
///
/// # Errors
/// The error with which the connection has ended.
pub(super) async fn serve(
    socket: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketAddr,
    place: &Place,
    Shared { reading, turnstile }: Shared,
    state: Arc<State>,
) -> Result<(), h2::Error> {
    let mut builder = h2::server::Builder::new();
    builder
        .max_concurrent_streams(CALLS)
        .max_pending_accept_reset_streams(CANCELLED)
        .max_concurrent_reset_streams(CALLS as usize)
        .max_local_error_reset_streams(Some(MALFORMED))
        .max_header_list_size(HEADERS)
        .initial_connection_window_size(WINDOW);
    let credit = Arc::new(Credit::default());
    let shaken = tokio::select! {
        shaken = timeout(SAID, builder.handshake(Turns::new(socket, turnstile, Arc::clone(&credit)))) => shaken,
        () = place.given_up() => return Ok(()),
    };
    let Ok(shaken) = shaken else {
        state.not_taken.counts.add(Door::Grpc, NotTaken::Silent);
        return Ok(());
    };
    let mut connection = shaken?;
    let parties = Arc::new(Parties::new(peer, Reading::new(reading, Arc::clone(&credit), peer), state));
    let mut calls = JoinSet::new();
    loop {
        let is_idle = calls.is_empty();
        let accepted = tokio::select! {
            accepted = accept(&mut connection, &credit) => match accepted {
                Ok(accepted) => accepted,
                Err(reason) => {
                    say_goodbye(connection, reason).await;
                    return Err(reason.into());
                }
            },
            _ = calls.join_next(), if !is_idle => {
                if calls.is_empty() {
                    place.is_idle();
                }
                continue;
            }
            () = sleep(IDLE), if is_idle => {
                connection.graceful_shutdown();
                timeout(SAID, connection.accept()).await.unwrap_or(None)
            }
            () = place.given_up() => {
                say_goodbye(connection, Reason::NO_ERROR).await;
                return Ok(());
            }
        };
        match accepted {
            Some(call) => {
                let (request, response) = call?;
                credit.is_call();
                place.is_busy();
                calls.spawn(call::answer(request, response, Arc::clone(&parties)));
            }
            None => return Ok(()),
        }
    }
}

/// Takes the next call of a caller.
///
/// # Errors
/// The reason for which the caller is heard no more.
async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S>,
    credit: &Credit,
) -> Result<Accepted, Reason> {
    let mut is_first = true;
    poll_fn(|context| {
        if credit.is_spent(Instant::now) {
            return Poll::Ready(Err(Reason::ENHANCE_YOUR_CALM));
        }
        if std::mem::take(&mut is_first) {
            // The calls that were heard, before more come: cancelled ones would pile up.
            let heard = credit.paused(|| connection.poll_accept(context));
            if heard.is_ready() {
                return heard.map(Ok);
            }
        }
        connection.poll_accept(context).map(Ok)
    })
    .await
}

type Connection<S> = h2::server::Connection<S, Bytes>;

/// A call, or the end of a connection.
type Accepted = Option<Result<(Request<RecvStream>, SendResponse<Bytes>), h2::Error>>;

/// Tells a caller which calls were taken, if it hears that now, and ends the connection.
async fn say_goodbye<S: AsyncRead + AsyncWrite + Unpin>(mut connection: Connection<S>, reason: Reason) {
    connection.abrupt_shutdown(reason);
    poll_fn(|context| {
        // A caller that does not read is not waited for.
        let _closed = connection.poll_closed(context);
        Poll::Ready(())
    })
    .await;
}
