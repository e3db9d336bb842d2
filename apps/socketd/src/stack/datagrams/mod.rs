//! Sockets of datagrams of programs, which a device carries.

mod peer;
mod program;

use super::plan::{Plan, told};
use super::request::Request;
use super::roll::Entry;
use super::{Engine, number_of, reply, route};
use bertha_core::{Addr, Error, ErrorKind};
use bertha_named::{AnyConnection, AnyDatagrams};
use bertha_runtime::tokio::Credentials;
use bertha_sockets_machine::datagrams::{HEAD, Head, LONGEST, NOWHERE};
use bertha_sockets_machine::device::Place;
use nix::libc;
use peer::Peer;
use program::{Program, ROOM};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::task::spawn_local;
use tokio::time::sleep;

/// The peers that a socket remembers. One more costs the peer that was silent for longest, which comes again as a new one.
const PEERS: usize = 1024;

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
    spawn_local(async move {
        socket.serve().await;
        // Their tasks have the socket, and end without them.
        socket.peers.take();
    });
}

impl Socket {
    /// Carries datagrams until the program has closed its socket.
    async fn serve(self: &Rc<Self>) {
        let mut bytes = vec![0; ROOM];
        loop {
            tokio::select! {
                biased;
                arrived = self.datagrams.accept() => match arrived {
                    Ok(connection) => drop(self.add(connection)),
                    Err(error) => {
                        tracing::debug!(%error, "a socket of datagrams receives nothing");
                        sleep(PAUSE).await;
                    }
                },
                read = self.program.read(&mut bytes) => match read {
                    Ok(message) if !message.is_empty() => self.message(message).await,
                    _ => return,
                },
            }
        }
    }

    /// Does what a message of the program says.
    async fn message(self: &Rc<Self>, message: &[u8]) {
        match Head::decode(message) {
            Some(Head::Datagram(to)) if message.len() <= HEAD + LONGEST => {
                let to = if to == NOWHERE { self.connected.get() } else { to };
                if let Err(number) = self.send(to.into(), &message[HEAD..]).await {
                    self.program.tell(Head::Failed(number as u16), &[]);
                }
            }
            Some(Head::Peer(place)) => {
                self.connected.set(place);
                self.entry.has_peer((place != NOWHERE).then(|| place.into()));
            }
            // No program under the library says this.
            _ => self.entry.dropped(),
        }
    }

    /// Sends a datagram. Returns the number of an error if it can't be sent.
    async fn send(self: &Rc<Self>, to: SocketAddr, bytes: &[u8]) -> Result<(), i32> {
        let known = self.peers.borrow().get(&to).cloned();
        let peer = match known {
            Some(peer) => peer,
            None => match self.datagrams.connect(to) {
                Ok(connection) => self.add(connection),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    self.entry.dropped();
                    return Ok(());
                }
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
        if !peer.send(datagram).await {
            self.entry.dropped();
        }
        Ok(())
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
        if peers.len() >= PEERS && !peers.contains_key(&at) {
            let oldest = peers.iter().min_by_key(|(_, peer)| peer.used.get()).map(|(at, _)| *at);
            oldest.and_then(|oldest| peers.remove(&oldest));
        }
        peers.insert(at, peer.clone());
        peer
    }
}
