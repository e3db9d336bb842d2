//! Acceptance of peers over UDP.

use super::CaladanConnection;
use super::known::{Early, Known};
use super::path::{Accepted, Path};
use crate::CaladanRuntime;
use crate::bindings::{Events, UdpSocket};
use crate::failure::failed;
use crate::places;
use bertha_core::{Addr, Buf, Error, Listener, Properties, Runtime};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Time to wait for tasks to end when there are too many for another connection.
const PAUSE: Duration = Duration::from_millis(20);

/// A listener for base connections over UDP.
///
/// An accepted connection has a socket of its own for its two addresses, which Caladan prefers to the
/// listener's socket, so no task sorts messages. The connection outlives the listener. While there is no room
/// for the tasks of another connection, accepting pauses.
pub struct CaladanListener {
    socket: UdpSocket,
    local: SocketAddrV4,
    known: Arc<Mutex<Known>>,
}

impl CaladanListener {
    pub(super) fn new(socket: UdpSocket) -> Self {
        let local = socket.local();
        Self { socket, local, known: Arc::default() }
    }

    /// Returns the number of messages dropped so far because too many waited. Messages that found Caladan's
    /// own queue full are not counted.
    pub fn dropped(&self) -> u64 {
        self.known.lock().dropped
    }

    /// Moves all messages out of the listener's socket.
    fn sort(&self, known: &mut Known) -> Result<(), Error> {
        let mut room = vec![0; UdpSocket::longest()];
        loop {
            match self.socket.read(&mut room) {
                Ok((len, from)) => known.sort(from, Buf::copy_of(&room[..len], 0)?),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(failed(error, &format!("accept at {}", self.local))),
            }
        }
    }

    fn try_accept(&self) -> Poll<Result<CaladanConnection, Error>> {
        let mut known = self.known.lock();
        if let Err(error) = self.sort(&mut known) {
            return Poll::Ready(Err(error));
        }
        while let Some(peer) = known.next() {
            let socket = match UdpSocket::dial(self.local, peer, Arc::<Events>::default()) {
                Ok(socket) => socket,
                Err(error) => {
                    tracing::warn!(%error, %peer, local = %self.local, "a peer was not accepted");
                    known.refuse(peer);
                    continue;
                }
            };
            let early = Arc::new(Early::new(socket.events().clone()));
            known.connect(peer, &early);
            // These datagrams came between the first look and the opening of the new socket.
            let sorted = self.sort(&mut known);
            drop(known);
            let accepted = Accepted { early, known: Arc::downgrade(&self.known) };
            let path = Arc::new(Path::new(socket, peer, Some(accepted)));
            return Poll::Ready(sorted.map(|()| CaladanConnection::new(path)));
        }
        Poll::Pending
    }
}

impl Listener for CaladanListener {
    type Connection = CaladanConnection;

    async fn accept(&self) -> Result<CaladanConnection, Error> {
        while !places::has_room() {
            tracing::warn!(local = %self.local, tasks = places::taken(), "accepting pauses");
            CaladanRuntime.sleep_until(CaladanRuntime.now() + PAUSE).await;
        }
        poll_fn(|cx| {
            let accepted = self.try_accept();
            if accepted.is_ready() {
                return accepted;
            }
            self.socket.events().wait_to_read(cx);
            self.try_accept()
        })
        .await
    }

    fn local_addr(&self) -> Addr {
        SocketAddr::V4(self.local).into()
    }

    fn properties(&self) -> Option<Properties> {
        Some(Properties::DATAGRAM)
    }
}

bertha_core::debug_fields!(CaladanListener { local });
