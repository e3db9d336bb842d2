//! An address of a device, whose datagrams sockets of programs share.

use super::super::Engine;
use super::TURNS;
use super::peer::{Inbox, Peer};
use super::socket::Socket;
use bertha_core::{Addr, Error};
use bertha_named::{AnyConnection, AnyDatagrams};
use bertha_sockets_machine::datagrams::{Head, NOWHERE};
use bertha_sockets_machine::device::Place;
use nix::libc;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::{spawn_local, yield_now};
use tokio::time::sleep;

/// The peers that an address remembers. One more costs those to which nothing was sent for longest, which come again as new ones.
const PEERS: usize = 1024;

/// The peers that leave at once.
const LEAVING: usize = 256;

/// The time before a device is asked again, where the system refuses it.
const PAUSE: Duration = Duration::from_millis(20);

/// The addresses that sockets have.
#[derive(Debug, Default)]
pub(crate) struct Addresses(RefCell<HashMap<SocketAddr, Weak<Address>>>);

impl Addresses {
    /// Returns the sockets' part of an address that there is.
    pub(super) fn find(&self, at: SocketAddr) -> Option<Rc<Address>> {
        self.0.borrow().get(&at)?.upgrade().filter(|address| !address.is_over())
    }
}

/// An address of a device. It lives as long as sockets have it, and until their last datagrams are sent.
pub(super) struct Address {
    pub(super) datagrams: Box<dyn AnyDatagrams>,
    /// The address as programs see it.
    pub(super) at: SocketAddr,
    /// The device, as people are told.
    pub(super) device: String,
    /// True if other sockets may have it, too.
    pub(super) is_shared: bool,
    sockets: RefCell<Vec<Rc<Socket>>>,
    peers: RefCell<HashMap<SocketAddr, Rc<Peer>>>,
    /// The datagrams that were sent, by which the age of peers is told.
    count: Cell<u64>,
    /// Ends the task that takes strangers, when it is dropped, as no socket has the address any more.
    accepting: RefCell<Option<oneshot::Sender<()>>>,
}

impl Address {
    pub(super) fn open(
        engine: &Rc<Engine>,
        datagrams: Box<dyn AnyDatagrams>,
        (at, device, is_shared): (SocketAddr, String, bool),
    ) -> Rc<Self> {
        let (accepting, mut over) = oneshot::channel();
        let address = Rc::new(Self {
            datagrams,
            at,
            device,
            is_shared,
            sockets: RefCell::default(),
            peers: RefCell::default(),
            count: Cell::default(),
            accepting: RefCell::new(Some(accepting)),
        });
        engine.addresses.0.borrow_mut().insert(at, Rc::downgrade(&address));
        let (engine, taking) = (engine.clone(), address.clone());
        spawn_local(async move {
            tokio::select! {
                _ = &mut over => {}
                () = taking.take_strangers() => {}
            }
            drop(taking);
            engine
                .addresses
                .0
                .borrow_mut()
                .retain(|_, address| address.upgrade().is_some_and(|address| !address.is_over()));
        });
        address
    }

    fn is_over(&self) -> bool {
        self.accepting.borrow().is_none()
    }

    pub(super) fn enter(&self, socket: &Rc<Socket>) {
        self.sockets.borrow_mut().push(socket.clone());
    }

    pub(super) fn leave(&self, socket: &Rc<Socket>) {
        self.sockets.borrow_mut().retain(|other| !Rc::ptr_eq(other, socket));
        self.end_unless_used();
    }

    /// Gives the address up if no socket has it. The peers go, whose tasks end when they have sent what waits.
    pub(super) fn end_unless_used(&self) {
        if self.sockets.borrow().is_empty() {
            self.peers.take();
            self.accepting.take();
        }
    }

    async fn take_strangers(self: &Rc<Self>) {
        for turn in 1_u64.. {
            match self.datagrams.accept().await {
                Ok(connection) => drop(self.add(connection)),
                Err(error) => {
                    tracing::debug!(%error, "an address of datagrams receives nothing");
                    sleep(PAUSE).await;
                }
            }
            // Strangers who come all the time keep no other socket waiting.
            if turn.is_multiple_of(TURNS) {
                yield_now().await;
            }
        }
    }

    /// Returns the peer at an address, to which a datagram is sent.
    pub(super) fn peer(self: &Rc<Self>, at: SocketAddr) -> Result<Rc<Peer>, Error> {
        let known = self.peers.borrow().get(&at).cloned();
        let peer = match known {
            Some(peer) => peer,
            None => self.add(self.datagrams.connect(at)?),
        };
        self.count.set(self.count.get() + 1);
        peer.used.set(self.count.get());
        Ok(peer)
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

impl Inbox for Address {
    /// Gives a datagram of a peer to the socket that is connected to it, or else to the newest one without a peer.
    fn arrived(&self, from: SocketAddr, datagram: &[u8]) {
        let from = Place::from(from);
        let sockets = self.sockets.borrow();
        let of = |peer| sockets.iter().rev().find(|socket| socket.connected.get() == peer);
        if let Some(socket) = of(from).or_else(|| of(NOWHERE))
            && !socket.program.tell(Head::Datagram(from), datagram)
        {
            socket.entry.dropped();
        }
    }

    /// Tells sockets that their peer's port is closed.
    fn refused(&self, at: SocketAddr) {
        let at = Place::from(at);
        for socket in self.sockets.borrow().iter().filter(|socket| socket.connected.get() == at) {
            socket.program.tell(Head::Failed(libc::ECONNREFUSED as u16), &[]);
        }
    }
}
