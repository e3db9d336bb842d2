//! Acceptance of connections at a UDP port.

use crate::device::Device;
use crate::failure::failure;
use crate::queue::{Listening, QueueSource, QueueState};
use crate::reach::reachable;
use crate::{Counters, DpdkConnection};
use bertha_core::{Addr, Error, ErrorKind, Listener};
use bertha_netstack::{Binding, Flow};
use bertha_runtime::polling::{Awaited, PollGuard, ReceiveBatch};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Accepts a connection from each peer that sends to a UDP port.
///
/// In each of the port's queues, at most 1,024 connections wait to be accepted. A further stranger evicts the
/// oldest waiting connection, whose datagrams are dropped and counted. Dropping the listener ends accepting;
/// its connections live on, and the port is in use as long as they do.
pub struct DpdkListener {
    device: Arc<Device>,
    /// The listener's part in each queue.
    listening: Vec<Listening>,
    local: SocketAddr,
}

/// A connection that was accepted.
struct Accepted {
    queue: usize,
    connection: usize,
    flow: Flow,
}

impl DpdkListener {
    pub(crate) fn new(device: Arc<Device>, listening: Vec<Listening>, local: SocketAddr) -> Self {
        Self { device, listening, local }
    }

    /// Returns the counters of frames dropped so far, over all connections of the port.
    pub fn dropped(&self) -> Counters {
        self.device.counters()
    }

    /// Opens a connection from the port of the listener to a peer, as a program does that sends before it has received. Nothing is sent.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse) if there is a connection to the peer, also one that waits to be accepted;
    /// [`Invalid`](ErrorKind::Invalid) for an address that the port does not reach, or that is of another family than the listener's.
    pub fn connect(&self, peer: SocketAddr) -> Result<DpdkConnection, Error> {
        let device = &self.device;
        let at = self.listening[0].at;
        let nearest = reachable(device, peer)?;
        let number = match at {
            Binding::Address { number, .. } => number,
            _ => nearest.number(),
        };
        let flow = Flow::new(peer, self.local.port()).at(number);
        if !at.overlaps(Binding::of(flow)) {
            return Err(failure(
                ErrorKind::Invalid,
                format!("a listener at {} sends nothing to {peer}", self.local),
            ));
        }
        let queue = (0..device.queues.len()).find(|queue| device.belongs(flow, *queue)).unwrap_or(0);
        let connection = device.queues[queue].lock().connections.connect_from(flow).ok_or_else(|| {
            failure(ErrorKind::AddrInUse, format!("the listener has a connection to {peer}"))
        })?;
        Ok(DpdkConnection::new(device.clone(), queue, connection, flow))
    }

    /// Returns the next connection in the backlog of the queue with this number.
    fn take(&self, queue: usize, state: &mut QueueState) -> Option<Accepted> {
        let (connection, flow) = state.connections.accept(self.listening[queue].listener)?;
        Some(Accepted { queue, connection, flow })
    }
}

impl Listener for DpdkListener {
    type Connection = DpdkConnection;

    fn accept(&self) -> impl Future<Output = Result<DpdkConnection, Error>> + Send {
        // The queue of this thread comes first, so that several accepting threads each get connections of
        // their own. The other queues are looked at, but not polled: their threads poll them, or futures that
        // find nothing in their own queue.
        let device = &self.device;
        let guard = move |queue: usize| {
            let source = QueueSource::new(&device.queues, queue);
            PollGuard::new(source, Awaited::Listener(self.listening[queue].listener))
        };
        let own = device.own_queue();
        let mut own_guard = guard(own);
        let others = (0..device.queues.len()).filter(|queue| *queue != own);
        let mut others: Vec<_> = others.map(|queue| (queue, guard(queue))).collect();
        let mut poll = move |cx: &mut Context<'_>| {
            let found = own_guard.poll(cx, &mut ReceiveBatch::none(), |state, _| self.take(own, state));
            if let Poll::Ready(Ok(found)) = found {
                return Poll::Ready(found);
            }
            let mut looks =
                others.iter_mut().map(|(queue, guard)| guard.look(cx, |state| self.take(*queue, state)));
            looks.find(Poll::is_ready).unwrap_or(Poll::Pending)
        };
        poll_fn(move |cx| {
            let Accepted { queue, connection, flow } = ready!(poll(cx));
            Poll::Ready(Ok(DpdkConnection::new(device.clone(), queue, connection, flow)))
        })
    }

    fn local_addr(&self) -> Addr {
        self.local.into()
    }
}

impl Drop for DpdkListener {
    fn drop(&mut self) {
        for (queue, listening) in self.device.queues.iter().zip(&self.listening) {
            queue.lock().connections.stop_listening(*listening);
        }
    }
}

bertha_core::debug_fields!(DpdkListener { local });
