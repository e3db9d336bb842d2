//! Sockets of datagrams of programs, which a device carries.

mod peer;
mod program;

use super::plan::{Plan, told};
use super::request::Request;
use super::roll::Entry;
use super::{Engine, number_of, reply, route};
use bertha_core::{Addr, Buf, Error, ErrorKind};
use bertha_named::{AnyConnection, AnyDatagrams};
use bertha_runtime::tokio::Credentials;
use bertha_sockets_machine::datagrams::{HEAD, Head, LONGEST, NOWHERE};
use bertha_sockets_machine::device::Place;
use nix::libc;
use peer::Peer;
use program::Program;
pub(super) use program::Room;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::task::{spawn_local, yield_now};
use tokio::time::sleep;

/// The peers that a socket remembers. One more costs those to which nothing was sent for longest, which come again as new ones.
const PEERS: usize = 1024;

/// The peers that leave at once.
const LEAVING: usize = 256;

/// The strangers and messages before other sockets have a turn.
const TURNS: u64 = 32;

/// The time before a socket tries again to receive, where the system refuses it.
const PAUSE: Duration = Duration::from_millis(20);

/// A socket of datagrams.
struct Socket {
    datagrams: Box<dyn AnyDatagrams>,
    program: Program,
    entry: Entry,
    /// The only peer whose datagrams the program wants, or [`NOWHERE`].
    connected: Cell<Place>,
    peers: RefCell<HashMap<SocketAddr, Rc<Peer>>>,
    /// The datagrams that were sent, by which the age of peers is told.
    count: Cell<u64>,
}

/// The rest of the work that a message asks for.
enum Work {
    Done,
    Send(Rc<Peer>, Buf),
}

/// Opens a socket for a program, and gives it the carrier.
pub(super) async fn open(engine: &Rc<Engine>, visitor: &UnixStream, owner: Credentials, request: Request) {
    let (place, what) = (request.place, format!("{}, datagrams", told(&request)));
    let refuse = |error: &Error, number: i32| {
        engine.roll.borrow_mut().refuse(owner, [Some(place), None], &error.to_string());
        reply(visitor, Err(number));
    };
    let opened = async { Plan::of(&request)?.datagrams(place).await };
    let datagrams = match opened.await {
        Ok(datagrams) => datagrams,
        Err(error) => return refuse(&error, number_of(&error).unwrap_or(libc::EADDRNOTAVAIL)),
    };
    let local = route::local(&datagrams.local_address(), place);
    let local = if place.ip().is_unspecified() { SocketAddr::new(place.ip(), local.port()) } else { local };
    let made = Program::pair().and_then(|(own, program)| {
        own.name(local, engine.unique())?;
        Ok((own, program))
    });
    let (own, program) = match made {
        Ok(pair) => pair,
        Err(error) => return refuse(&error.into(), libc::ENOBUFS),
    };
    let Some(entry) = engine.enter(owner, [Some(local), None], what) else {
        return reply(visitor, Err(libc::ENOBUFS));
    };
    reply(visitor, Ok(program.as_fd()));
    let (connected, peers, count) = (Cell::new(NOWHERE), RefCell::default(), Cell::default());
    let socket = Rc::new(Socket { datagrams, program: own, entry, connected, peers, count });
    let engine = engine.clone();
    spawn_local(async move {
        socket.serve(&engine.room).await;
        // Their tasks have the socket, and end without them.
        socket.peers.take();
    });
}

impl Socket {
    /// Carries datagrams until the program has closed its socket.
    async fn serve(self: &Rc<Self>, room: &Room) {
        for turn in 1_u64.. {
            tokio::select! {
                arrived = self.datagrams.accept() => match arrived {
                    Ok(connection) => drop(self.add(connection)),
                    Err(error) => {
                        tracing::debug!(%error, "a socket of datagrams receives nothing");
                        sleep(PAUSE).await;
                    }
                },
                read = self.program.read(room, |message| self.message(message)) => match read {
                    Ok(Some(Work::Send(peer, datagram))) => {
                        if !peer.send(datagram).await {
                            self.entry.dropped();
                        }
                    }
                    Ok(Some(Work::Done)) => {}
                    Ok(None) | Err(_) => return,
                },
            }
            // Strangers who come all the time keep no other socket waiting.
            if turn.is_multiple_of(TURNS) {
                yield_now().await;
            }
        }
    }

    /// Does what a message of the program says, as far as that needs no waiting.
    fn message(self: &Rc<Self>, message: &[u8]) -> Work {
        match Head::decode(message) {
            Some(Head::Datagram(to)) if message.len() <= HEAD + LONGEST => {
                let to = if to == NOWHERE { self.connected.get() } else { to };
                match self.datagram(to.into(), &message[HEAD..]) {
                    Ok(Some((peer, datagram))) => return Work::Send(peer, datagram),
                    Ok(None) => self.entry.dropped(),
                    Err(number) => _ = self.program.tell(Head::Failed(number as u16), &[]),
                }
            }
            Some(Head::Peer(place)) => {
                self.connected.set(place);
                self.entry.has_peer((place != NOWHERE).then(|| place.into()));
            }
            // No program under the library says this.
            _ => self.entry.dropped(),
        }
        Work::Done
    }

    /// Returns a datagram in the memory of the device, with its peer; `None` if it is dropped, or the number of an error if it can't be sent.
    fn datagram(self: &Rc<Self>, to: SocketAddr, bytes: &[u8]) -> Result<Option<(Rc<Peer>, Buf)>, i32> {
        let known = self.peers.borrow().get(&to).cloned();
        let peer = match known {
            Some(peer) => peer,
            None => match self.datagrams.connect(to) {
                Ok(connection) => self.add(connection),
                // It comes from there at this moment, and the connection is accepted next.
                Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
                Err(error) => return Err(number_of(&error).unwrap_or(libc::ENETUNREACH)),
            },
        };
        if bytes.len() > peer.connection.longest() {
            return Err(libc::EMSGSIZE);
        }
        let Ok(mut datagram) = peer.connection.buffer(bytes.len()) else { return Err(libc::ENOBUFS) };
        datagram.copy_from_slice(bytes);
        self.count.set(self.count.get() + 1);
        peer.used.set(self.count.get());
        Ok(Some((peer, datagram)))
    }

    /// Adds a peer, in the place of an earlier connection to it.
    fn add(self: &Rc<Self>, connection: Arc<dyn AnyConnection>) -> Rc<Peer> {
        let at = match connection.peer_address() {
            Addr::Ip(at) => SocketAddr::new(at.ip().to_canonical(), at.port()),
            _ => SocketAddr::new(IpAddr::from([0; 4]), 0),
        };
        let peer = Rc::new(Peer::new(self, at, connection));
        peer.used.set(self.count.get());
        let mut peers = self.peers.borrow_mut();
        if peers.len() >= PEERS {
            // Many at once, as strangers may come faster than the oldest one is found.
            let mut ages: Vec<_> = peers.values().map(|peer| peer.used.get()).collect();
            let (_, oldest, _) = ages.select_nth_unstable(LEAVING);
            let (oldest, mut leaving) = (*oldest, LEAVING);
            peers.retain(|_, peer| {
                let stays = peer.used.get() > oldest || leaving == 0;
                leaving -= usize::from(!stays);
                stays
            });
        }
        peers.insert(at, peer.clone());
        peer
    }
}
