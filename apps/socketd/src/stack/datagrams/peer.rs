//! A peer of an address of datagrams, with the task that carries what comes and goes.

use bertha_core::{Buf, ErrorKind};
use bertha_named::AnyConnection;
use std::cell::Cell;
use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_local;
use tokio::time::timeout;

/// The datagrams that wait for the device, and that are carried at once.
const BURST: usize = 64;

/// The time that a device has to take a datagram of a program before other peers come.
const PATIENCE: Duration = Duration::from_millis(10);

/// The receiver of what peers send.
pub(super) trait Inbox: 'static {
    /// Takes a datagram of a peer.
    fn arrived(&self, from: SocketAddr, datagram: &[u8]);
    /// Hears that a peer's port is closed.
    fn refused(&self, at: SocketAddr);
}

/// A peer of an address of datagrams. When it is dropped, its task sends what waits for the device, and ends.
pub(super) struct Peer {
    outgoing: Sender<Buf>,
    /// True if the device takes nothing for the peer at this time.
    is_stuck: Rc<Cell<bool>>,
    /// The time of its last datagram, by the address's count.
    pub(super) used: Cell<u64>,
    pub(super) connection: Arc<dyn AnyConnection>,
}

impl Peer {
    pub(super) fn new(inbox: &Rc<impl Inbox>, at: SocketAddr, connection: Arc<dyn AnyConnection>) -> Self {
        let (outgoing, queue) = channel(BURST);
        let is_stuck = Rc::new(Cell::new(false));
        let (out, inside) = (outwards(connection.clone(), queue, is_stuck.clone()), connection.clone());
        let inbox = inbox.clone();
        spawn_local(async move {
            tokio::select! {
                () = out => {}
                never = inwards(inbox, at, inside) => match never {},
            }
        });
        Self { outgoing, is_stuck, used: Cell::default(), connection }
    }

    /// Sends a datagram, and waits a little for room. Returns false if it is dropped.
    pub(super) async fn send(&self, datagram: Buf) -> bool {
        match self.outgoing.try_send(datagram) {
            Ok(()) => true,
            Err(TrySendError::Full(datagram)) if !self.is_stuck.get() => {
                let sent = timeout(PATIENCE, self.outgoing.send(datagram)).await;
                self.is_stuck.set(sent.is_err());
                matches!(sent, Ok(Ok(())))
            }
            Err(_) => false,
        }
    }
}

/// Carries what the program sends, until it has no more for the peer. What a device does not take is lost, as datagrams are.
async fn outwards(connection: Arc<dyn AnyConnection>, mut queue: Receiver<Buf>, is_stuck: Rc<Cell<bool>>) {
    loop {
        let mut burst = Vec::new();
        if queue.recv_many(&mut burst, BURST).await == 0 {
            return;
        }
        if let Err(error) = connection.clone().send_burst(burst).await {
            tracing::debug!(%error, "a device has not sent datagrams of a program");
        }
        is_stuck.set(false);
    }
}

/// Carries what the peer sends.
async fn inwards(inbox: Rc<impl Inbox>, at: SocketAddr, connection: Arc<dyn AnyConnection>) -> Infallible {
    let mut burst = Vec::new();
    loop {
        burst.clear();
        match connection.receive_burst(&mut burst, BURST).await {
            Ok(_) => {
                for datagram in &burst {
                    inbox.arrived(at, datagram);
                }
            }
            Err(error) if error.kind() == ErrorKind::Unreachable => inbox.refused(at),
            Err(error) => {
                tracing::debug!(%error, "a device has no more datagrams of a peer");
                return pending().await;
            }
        }
    }
}
