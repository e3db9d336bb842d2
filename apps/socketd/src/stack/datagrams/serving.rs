//! The work that programs ask for by the messages of their sockets.

use super::super::roll::Entry;
use super::super::{Engine, number_of};
use super::TURNS;
use super::address::Address;
use super::peer::Peer;
use super::program::{Program, Room};
use super::socket::Socket;
use bertha_core::{Buf, ErrorKind};
use bertha_sockets_machine::datagrams::{HEAD, Head, LONGEST, NOWHERE};
use nix::libc;
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::task::{spawn_local, yield_now};

/// The rest of the work that a message asks for.
enum Work {
    Done,
    Send(Rc<Peer>, Buf),
}

/// Carries datagrams between a program and an address, until the program has closed its socket.
pub(super) fn begin(engine: &Rc<Engine>, address: Rc<Address>, program: Program, entry: Entry) {
    let socket = Rc::new(Socket { program, entry, connected: Cell::new(NOWHERE) });
    address.enter(&socket);
    let engine = engine.clone();
    spawn_local(async move {
        serve(&socket, &address, &engine.room).await;
        address.leave(&socket);
    });
}

async fn serve(socket: &Socket, address: &Rc<Address>, room: &Room) {
    for turn in 1_u64.. {
        match socket.program.read(room, |said| message(socket, address, said)).await {
            Ok(Some(Work::Send(peer, datagram))) => {
                if !peer.send(datagram).await {
                    socket.entry.dropped();
                }
            }
            Ok(Some(Work::Done)) => {}
            Ok(None) | Err(_) => return,
        }
        if turn.is_multiple_of(TURNS) {
            yield_now().await;
        }
    }
}

/// Does what a message of a program says, as far as that needs no waiting.
fn message(socket: &Socket, address: &Rc<Address>, said: &[u8]) -> Work {
    match Head::decode(said) {
        Some(Head::Datagram(to)) if said.len() <= HEAD + LONGEST => {
            let to = if to == NOWHERE { socket.connected.get() } else { to };
            match datagram(address, to.into(), &said[HEAD..]) {
                Ok(Some((peer, datagram))) => return Work::Send(peer, datagram),
                Ok(None) => socket.entry.dropped(),
                Err(number) => _ = socket.program.tell(Head::Failed(number as u16), &[]),
            }
        }
        Some(Head::Peer(place)) => {
            socket.connected.set(place);
            socket.entry.has_peer((place != NOWHERE).then(|| place.into()));
        }
        // No program under the library says this.
        _ => socket.entry.dropped(),
    }
    Work::Done
}

/// Returns a datagram in the memory of the device, with its peer; `None` if it is dropped, or the number of an error if it can't be sent.
fn datagram(address: &Rc<Address>, to: SocketAddr, bytes: &[u8]) -> Result<Option<(Rc<Peer>, Buf)>, i32> {
    let peer = match address.peer(to) {
        Ok(peer) => peer,
        // It sends at this moment, and its connection is taken next.
        Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
        Err(error) => return Err(number_of(&error).unwrap_or(libc::ENETUNREACH)),
    };
    if bytes.len() > peer.connection.longest() {
        return Err(libc::EMSGSIZE);
    }
    let Ok(mut datagram) = peer.connection.buffer(bytes.len()) else { return Err(libc::ENOBUFS) };
    datagram.copy_from_slice(bytes);
    Ok(Some((peer, datagram)))
}
