//! Servers of other kinds, over HTTP/2.

mod request;

use super::status::Status;
use super::turns::Turns;
use crate::link::Link;
use crate::run::end;
use crate::server;
use crate::state::State;
use bertha_core::{Error, ErrorKind};
use bertha_managed::{Descriptor, InHeap};
use bytes::Bytes;
use h2::client::SendRequest;
use request::{Asked, ask};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

/// Time in which the server has to speak HTTP/2.
const SAID: Duration = Duration::from_secs(10);

/// Number of bytes of the responses of a server that are read at once.
const READ: usize = 64 << 20;

/// Connects to a server, and makes the calls of a link until the connection ends. Then the calls of the link end.
pub(crate) async fn call(link: Arc<Link>, to: SocketAddr, state: &State) {
    let service = &link.service;
    let connecting = async {
        let socket = TcpStream::connect(to).await?;
        // Requests wait for nothing.
        socket.set_nodelay(true)?;
        let mut builder = h2::client::Builder::new();
        let shaken = builder.max_header_list_size(16 << 10).handshake::<_, Bytes>(Turns::new(socket)).await;
        shaken.map_err(|error| Error::new(ErrorKind::Malformed, format!("HTTP/2: {error}")))
    };
    let late = || Error::new(ErrorKind::TimedOut, "the server does not speak HTTP/2");
    let connected = timeout(SAID, connecting).await.unwrap_or_else(|_| Err(late()));
    match connected {
        Ok((sender, connection)) => {
            tracing::info!(%to, service, "a server over HTTP/2 takes calls");
            let error = tokio::select! {
                ended = connection => ended.err(),
                () = make_calls(&link, sender, to, state) => None,
            };
            tracing::info!(%to, service, error = error.map(tracing::field::display), "a server over HTTP/2 has gone");
            end(&link, state, "the connection to the server has ended", true);
        }
        Err(error) => {
            tracing::info!(%to, service, %error, "a server over HTTP/2 takes no calls");
            end(&link, state, &format!("the server at {to} takes no calls of {service}: {error}"), false);
        }
    }
}

/// Makes the calls of a link.
async fn make_calls(link: &Arc<Link>, sender: SendRequest<Bytes>, to: SocketAddr, state: &State) {
    let (mut descriptors, mut asked) = (Vec::new(), JoinSet::new());
    let mut open: HashMap<u64, AbortHandle> = HashMap::new();
    let reading = Arc::new(Semaphore::new(READ));
    loop {
        tokio::select! {
            () = link.has_news() => drop(link.news(&mut descriptors)),
            Some(answered) = asked.join_next() => {
                // A call that was cancelled has no outcome.
                if let Ok((call, outcome)) = answered {
                    open.remove(&call);
                    answer(link, call, outcome, state);
                }
            }
        }
        for descriptor in descriptors.drain(..) {
            match descriptor {
                Descriptor::Request { call, method, message, milliseconds } => {
                    let frame = link.waiting(&descriptor);
                    let request = Asked { method, at: message.at, frame, milliseconds };
                    let (sender, link, reading) = (sender.clone(), Arc::clone(link), Arc::clone(&reading));
                    let asking = async move { (call, ask(&link.typed, sender, to, request, &reading).await) };
                    open.insert(call, asked.spawn(asking));
                }
                Descriptor::Cancellation { call } => {
                    if let Some(asking) = open.remove(&call) {
                        asking.abort();
                    }
                }
                // Notices about frames, of which there are none.
                _ => {}
            }
        }
    }
}

/// Gives the outcome of a call to its caller.
fn answer(link: &Arc<Link>, call: u64, outcome: Result<request::Answer, Status>, state: &State) {
    match outcome {
        Ok((frame, at)) => {
            let message = InHeap { at, bytes: frame.len() as u32, number: link.keep(frame) };
            let response = Descriptor::Response { call, message };
            if let Err(breach) = server::take(link, &[response], state) {
                tracing::error!(reason = breach.0, "the daemon does not follow its own protocol");
            }
        }
        Err(status) => server::fail(link, call, status.refusal(), state.now()),
    }
}
