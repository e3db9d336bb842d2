//! Listeners of programs.

use super::carrier::Carrier;
use super::leaving::once_free;
use super::plan::{Plan, told};
use super::request::Request;
use super::{Engine, number_of, pump, reply, route};
use crate::message;
use bertha_core::Addr;
use bertha_named::{AnyConnection, AnyIncoming, Listened};
use bertha_runtime::tokio::Credentials;
use bertha_sockets_machine::device::{ARRIVED, PLACE, Place};
use nix::libc;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::task::spawn_local;
use tokio::time::timeout;

/// The time that a program has to take connections before one more is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time that the earlier owner of an address has to leave it.
const LEAVING: Duration = Duration::from_secs(3);

/// Listens for a program, and gives it a queue.
pub(super) async fn listen(
    engine: &Rc<Engine>,
    visitor: &UnixStream,
    owner: Credentials,
    request: Request,
    socket: &OwnedFd,
) {
    let (place, what) = (request.place, told(&request));
    // The program's socket has the port until the queue takes its place.
    let _ = sockopt::set_socket_reuseaddr(socket, true);
    let listened = once_free(LEAVING, async || Plan::of(&request)?.listen(place).await);
    let refuse = |error: &str, errno| {
        engine.roll.borrow_mut().refuse(owner, [Some(place), None], error);
        reply(visitor, Err(errno));
    };
    let listened = match listened.await {
        Ok(listened) => listened,
        Err(error) => {
            return refuse(&error.to_string(), number_of(&error).unwrap_or(libc::EADDRNOTAVAIL));
        }
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(io::Error::from);
    // The runtime has no type for sockets of this kind, and does not look at the kind of what it waits for.
    let queue = pair.and_then(|(own, program)| Ok((UnixStream::from_std(StdStream::from(own))?, program)));
    let (queue, program) = match queue {
        Ok(pair) => pair,
        Err(error) => return refuse(&error.to_string(), libc::ENOBUFS),
    };
    let Some(entry) = engine.enter(owner, [Some(place), None], what.clone()) else {
        return reply(visitor, Err(libc::ENOBUFS));
    };
    reply(visitor, Ok(program.as_fd()));
    let engine = engine.clone();
    spawn_local(async move {
        let _entry = entry;
        serve(&engine, Rc::new(queue), listened, owner, (place, &what)).await;
    });
}

/// Passes connections on until the program has closed its listener.
async fn serve(
    engine: &Rc<Engine>,
    queue: Rc<UnixStream>,
    listened: Listened,
    owner: Credentials,
    (place, what): (SocketAddr, &str),
) {
    // The registration in the directory goes with the listener.
    let (_, mut incoming, _registration) = listened;
    loop {
        let next = tokio::select! {
            next = AnyIncoming::next(&mut *incoming) => next,
            // The program sends nothing: this is the end.
            _ = queue.readable() => return,
        };
        let Some(connection) = next else { return };
        // Who connects by plain TCP has proved nothing: what waits for its program has a place as well. Without one it is dropped, which is a cut,
        // and the other end learns of it.
        let Some(entry) = engine.enter(owner, [Some(place), None], what.to_owned()) else { continue };
        let (engine, queue) = (engine.clone(), queue.clone());
        spawn_local(async move {
            match arrive(&engine, &queue, &*connection).await {
                Ok((own, local, peer)) => {
                    entry.connected(local, peer);
                    pump::carry(entry, connection, own).await;
                }
                Err(error) => entry.refused(&format!("the program does not take it: {error}")),
            }
        });
    }
}

/// Puts a connection into the queue of a listener. Returns its carrier and its addresses.
async fn arrive(
    engine: &Engine,
    queue: &UnixStream,
    connection: &dyn AnyConnection,
) -> io::Result<(Carrier, SocketAddr, SocketAddr)> {
    let peer = match connection.peer_address() {
        Addr::Ip(peer) => peer,
        _ => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
    };
    let local = route::local(&connection.local_address(), peer);
    let (mut own, program) = Carrier::pair()?;
    own.connected(local, peer, engine.unique())?;
    let mut bytes = [0; ARRIVED];
    bytes[..PLACE].copy_from_slice(&Place::from(local).encode());
    bytes[PLACE..].copy_from_slice(&Place::from(peer).encode());
    let send = || message::send(queue, &bytes, Some(program.as_fd()));
    timeout(PATIENCE, queue.async_io(Interest::WRITABLE, send))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    Ok((own, local, peer))
}
