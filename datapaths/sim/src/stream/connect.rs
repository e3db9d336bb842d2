//! Setting up a stream.

use super::{ATTEMPTS, Stream, StreamEnd, backoff};
use crate::connection::SimConnection;
use crate::network::{Backlog, Network};
use crate::queue::Queue;
use bertha_core::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

/// Starts to put streams to `local` into a new backlog.
pub(crate) fn bind(network: &Network, local: SocketAddr) -> Result<Backlog, Error> {
    let mut state = network.state();
    let backlog: Backlog = Arc::new(Queue::new(state.limits.backlog));
    state.streams.listen(local, &backlog)?;
    Ok(backlog)
}

/// Asks `peer` for a stream, again and again while nothing comes back.
pub(crate) async fn connect(
    network: &Network,
    local: SocketAddr,
    peer: SocketAddr,
) -> Result<SimConnection, Error> {
    let runtime = network.runtime();
    for attempt in 0..ATTEMPTS {
        let (there, back) = {
            let state = network.state();
            (state.link(local.ip(), peer.ip()).delay, state.link(peer.ip(), local.ip()).delay)
        };
        runtime.sleep(there).await;
        let asked = network.state().passes(local.ip(), peer.ip());
        let answered = asked && network.state().passes(peer.ip(), local.ip());
        let backlog = network.state().streams.backlog(peer);
        match backlog {
            None if answered => {
                runtime.sleep(back).await;
                let what = format!("nothing accepts streams at {peer}");
                return Err(Error::new(ErrorKind::Unreachable, what).at("sim"));
            }
            Some(backlog) if answered && !backlog.is_full() => {
                let client = establish(network, local, peer, &backlog);
                runtime.sleep(back).await;
                return Ok(client);
            }
            Some(backlog) if answered && backlog.is_full() => network.state().counters.refused += 1,
            _ => {}
        }
        runtime.sleep(backoff(attempt)).await;
    }
    Err(Error::new(ErrorKind::TimedOut, format!("{peer} does not answer")).at("sim"))
}

fn establish(network: &Network, local: SocketAddr, peer: SocketAddr, backlog: &Backlog) -> SimConnection {
    let stream = Stream::new(network.clone(), [local, peer]);
    network.state().streams.add(&stream);
    let server = StreamEnd::new(stream.clone(), 1);
    // If the listener just went, the server's end goes with it, and the client hears that it was closed.
    drop(backlog.try_push(SimConnection::stream(network.clone(), peer, local, server)));
    SimConnection::stream(network.clone(), local, peer, StreamEnd::new(stream, 0))
}
