//! Daemons that call services of this machine.

#[cfg(feature = "dpdk")]
use super::dpdk_tcp;
use super::tls_in_turns::TlsInTurns;
use super::{LONGEST, Peers, greeting, kernel_tcp};
use crate::admission::not_taken_counts::{Door, Reason};
use crate::calling::end::end;
use crate::calling::run::run_daemon;
use crate::destinations::peer_addr::PeerAddr;
#[cfg(not(feature = "dpdk"))]
use crate::destinations::peer_addr::without_dpdk;
use crate::doors::limits::Places;
use crate::doors::port_room::{Place, Rooms};
use crate::messages::rows::way::{InParts, Way, Whole};
use crate::parties::link::Link;
use crate::parties::origin::Peer;
use crate::state::State;
use bertha::Runs;
use bertha::negotiation::{Incoming, Negotiate, Negotiated};
use bertha::prelude::*;
use bertha_core::{Addr, Base, BoxFuture, Buf, Connection, Error, ErrorKind};
use bertha_managed::attach::Role;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;

/// Time that a daemon has to say what it wants.
const SAID: Duration = Duration::from_secs(5);

/// The reason of a daemon that is connected no more.
const GIVEN_UP: &str = "all places are taken, and a newcomer has this one";

/// The address at which parties of other machines connect, and the future that takes them.
pub(crate) type Listening<A = Addr> = (A, BoxFuture<'static, ()>);

/// Listens for daemons, for which there are so many places, by service and schema.
///
/// # Errors
/// Errors of listening.
pub(crate) async fn listen(
    on: &PeerAddr,
    peers: &Peers,
    places: Places,
    state: Arc<State>,
) -> Result<Listening<PeerAddr>, Error> {
    let listening = match (on, &peers.tls) {
        (PeerAddr::Kernel(addr), Some(tls)) => {
            over(
                make_stack!(TlsInTurns::new(tls.server.clone().largest(LONGEST))),
                kernel_tcp(),
                Whole,
                addr,
                places,
                state,
            )
            .await
        }
        (PeerAddr::Kernel(addr), None) => {
            over(make_stack!(), kernel_tcp(), InParts, addr, places, state).await
        }
        #[cfg(feature = "dpdk")]
        (PeerAddr::Dpdk(addr), Some(tls)) => {
            over(
                make_stack!(TlsInTurns::new(tls.server.clone().largest(LONGEST))),
                dpdk_tcp(),
                Whole,
                addr,
                places,
                state,
            )
            .await
        }
        #[cfg(feature = "dpdk")]
        (PeerAddr::Dpdk(addr), None) => over(make_stack!(), dpdk_tcp(), Whole, addr, places, state).await,
        #[cfg(not(feature = "dpdk"))]
        (PeerAddr::Dpdk(_), _) => Err(without_dpdk()),
    };
    listening.map(|(addr, taking)| (on.at(addr), taking))
}

async fn over<S, D, W>(
    stack: S,
    tcp: D,
    way: W,
    on: &Addr,
    places: Places,
    state: Arc<State>,
) -> Result<Listening, Error>
where
    S: Negotiate + 'static,
    D: Runs<S, Out: Connection<Data = Buf>> + 'static,
    W: Way<Negotiated<D::Out>> + Copy + 'static,
{
    let mut incoming = stack.listen(tcp, on.clone()).await?;
    let Places { all, per_address } = places;
    let rooms = Rooms::new(all, per_address);
    let addr = incoming.local_addr();
    let taking = async move {
        let (mut tasks, mut given_up) = (JoinSet::new(), 0);
        while let Some(client) = next(&mut incoming, &mut given_up, &state).await {
            while tasks.try_join_next().is_some() {}
            let connection = match client {
                Ok(connection) => connection,
                // The listener has told of it.
                Err(error) => {
                    state.not_taken.count_daemon(&error);
                    continue;
                }
            };
            let peer = connection.base().peer_addr();
            let Some(taking) = rooms.take(&peer) else {
                state.not_taken.beyond(Door::Listen, &peer, per_address);
                continue;
            };
            if let Some(from) = &taking.instead_of {
                match taking.is_of_peer {
                    true => state.not_taken.beyond(Door::Listen, from, per_address),
                    false => state.not_taken.full(Door::Listen, from),
                }
                // It gives its descriptor back before the next is taken.
                yield_now().await;
            }
            let (place, state) = (taking.place, Arc::clone(&state));
            tasks.spawn(serve(connection, way, peer, place, state));
        }
    };
    Ok((addr, Box::pin(taking)))
}

/// Waits for the next client, and counts those that were given up meanwhile: the listener returns nothing for one that has said nothing.
async fn next<S, D>(
    incoming: &mut Incoming<S, D>,
    given_up: &mut u64,
    state: &State,
) -> Option<Result<Negotiated<D::Out>, Error>>
where
    S: Negotiate + 'static,
    D: Runs<S>,
{
    let read = incoming.overload_reader();
    let mut next = pin!(incoming.next_or_refusal());
    poll_fn(|context| {
        let polled = next.as_mut().poll(context);
        let overload = read();
        let all = overload.handshakes + overload.connections + overload.refused;
        (*given_up..all).for_each(|_| state.not_taken.counts.add(Door::Listen, Reason::Evicted));
        *given_up = all;
        polled
    })
    .await
}

async fn serve<C: Connection<Data = Buf>>(
    connection: C,
    way: impl Way<C> + 'static,
    peer: Addr,
    place: Place,
    state: Arc<State>,
) {
    let taken = tokio::select! {
        heard = timeout(SAID, hear(&connection, &peer, &state)) => {
            heard.unwrap_or_else(|_| Err(Error::new(ErrorKind::TimedOut, "a daemon said nothing")))
        }
        () = place.given_up() => Err(given_up()),
    };
    let taken = taken.and_then(|link| state.services.add(&link).map(|()| link).map_err(refused));
    // A daemon may be gone, or not read.
    let refusal = taken.as_ref().err().map(ToString::to_string);
    let told = timeout(SAID, greeting::answer(&connection, refusal.as_deref())).await;
    match taken {
        Ok(link) if matches!(told, Ok(Ok(()))) => {
            let (service, all) = (link.service.clone(), Arc::clone(&state));
            let calling = async move { exchange(&link, &connection, &way, &peer, &place, &all).await };
            state.dedicated.run(&service, calling).await;
        }
        Ok(link) => state.services.remove(&link),
        Err(error) => state.not_taken.daemon(&peer, &error),
    }
}

/// Takes the calls of a daemon until it goes, or has its place no more.
async fn exchange<C: Connection<Data = Buf>>(
    link: &Arc<Link>,
    connection: &C,
    way: &impl Way<C>,
    peer: &Addr,
    place: &Place,
    state: &State,
) {
    // Calls may be under way from now on.
    place.is_busy();
    tracing::info!(%peer, service = link.service, "a daemon is connected");
    let ended = tokio::select! {
        ended = run_daemon(link, connection, way, state) => ended,
        () = place.given_up() => {
            end(link, state, GIVEN_UP, true);
            Err(given_up())
        }
    };
    let error = ended.err().map(tracing::field::display);
    tracing::info!(%peer, service = link.service, error, "a daemon has gone");
}

/// Hears what a daemon wants.
async fn hear(
    connection: &impl Connection<Data = Buf>,
    peer: &Addr,
    state: &State,
) -> Result<Arc<Link>, Error> {
    let hello = greeting::hear(connection).await?;
    let typed = state.typed(hello.descriptors).await?;
    let from = (format!("{} at {peer}", hello.application), Peer::of(peer));
    Ok(Link::daemon(from, hello.service, Role::Caller, typed, state.heap, state.services.common()))
}

#[cold]
fn given_up() -> Error {
    Error::new(ErrorKind::Exhausted, GIVEN_UP)
}

fn refused(reason: impl ToString) -> Error {
    Error::new(ErrorKind::Refused, reason.to_string())
}
