//! Callers of other kinds, over HTTP/2.

mod call;
mod connection;
mod handshakes;
mod head;
mod health;
mod party;
mod reading;
mod reflection;
mod told;

use crate::admission::not_taken_counts::{Door, Reason};
use crate::doors::grpc::fairness::turnstile::Turnstiles;
use crate::doors::limits::Places;
use crate::doors::peer::Peers;
use crate::doors::port_room::{Place, Rooms};
use crate::state::State;
use bertha_core::{Addr, BoxFuture, Error};
use bertha_program::cannot_listen;
use connection::Shared;
use handshakes::Handshakes;
use reading::Common;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinSet, yield_now};

/// Time after a failure of the system to accept.
const PAUSE: Duration = Duration::from_millis(20);

/// Listens for callers over HTTP/2, for which there are so many places.
///
/// # Errors
/// The errors of the system, and [`Invalid`](bertha_core::ErrorKind::Invalid) if TLS can't be used so.
pub(crate) async fn listen(
    on: SocketAddr,
    peers: &Peers,
    places: Places,
    state: Arc<State>,
) -> Result<(Addr, BoxFuture<'static, ()>), Error> {
    let Places { all, per_address } = places;
    let handshakes = peers.grpc_tls.server()?.map(|tls| Arc::new(Handshakes::new(tls)));
    let listener = TcpListener::bind(on).await.map_err(|error| cannot_listen(on, error))?;
    let addr = listener.local_addr()?.into();
    let taking = async move {
        let (reading, turnstiles) = (Arc::new(Common::default()), Turnstiles::default());
        let rooms = Rooms::new(all, per_address);
        let mut tasks = JoinSet::new();
        loop {
            while tasks.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((socket, peer)) => {
                    let Some(taking) = rooms.take(&peer.into()) else {
                        state.not_taken.beyond(Door::Grpc, &peer.into(), per_address);
                        continue;
                    };
                    if let Some(from) = &taking.instead_of {
                        match taking.is_of_peer {
                            true => state.not_taken.beyond(Door::Grpc, from, per_address),
                            false => state.not_taken.full(Door::Grpc, from),
                        }
                        // It gives its descriptor back before the next is taken.
                        yield_now().await;
                    }
                    let place = taking.place;
                    let (handshakes, state) = (handshakes.clone(), Arc::clone(&state));
                    let shared = Shared { reading: Arc::clone(&reading), turnstile: turnstiles.of(peer) };
                    tasks.spawn(async move {
                        let served =
                            serve(socket, peer, &place, handshakes.as_deref(), shared, Arc::clone(&state));
                        if let Err(error) = served.await {
                            state.not_taken.failed(peer, &error);
                        }
                    });
                }
                Err(error) => {
                    state.not_taken.unaccepted(Door::Grpc, &error);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    };
    Ok((addr, Box::pin(taking)))
}

/// Serves a caller, by TLS where there are handshakes.
async fn serve(
    mut socket: TcpStream,
    peer: SocketAddr,
    place: &Place,
    handshakes: Option<&Handshakes>,
    shared: Shared,
    state: Arc<State>,
) -> Result<(), h2::Error> {
    // Responses wait for nothing.
    let _set = socket.set_nodelay(true);
    let Some(handshakes) = handshakes else {
        return connection::serve(socket, peer, place, shared, state).await;
    };
    tokio::select! {
        shaken = handshakes.shake(&mut socket, peer) => match shaken {
            Ok(stream) => return connection::serve(stream, peer, place, shared, state).await,
            Err(error) => state.not_taken.counts.add(Door::Grpc, Reason::of_tls(&error)),
        },
        () = place.given_up() => return Ok(()),
    }
    handshakes::part(socket).await;
    Ok(())
}
