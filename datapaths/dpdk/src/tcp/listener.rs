//! Acceptance of TCP connections at a port.

use super::{QUEUE, Tcp, TcpConnection};
use crate::Counters;
use crate::datapath::not_listening;
use crate::device::Device;
use crate::queue::streams::NAME;
use crate::queue::{QueueState, wait_for};
use bertha_core::{Addr, Buf, Error, Listener, Octets, Properties};
use bertha_runtime::polling::Awaited;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;

/// Accepts TCP connections at a port.
///
/// Dropping the listener ends accepting: connections that were not accepted are reset, accepted connections
/// live on. Another listener may take the port at once.
pub struct TcpListener<Data = Buf> {
    device: Arc<Device>,
    acceptor: usize,
    /// The event that announces a connection to accept.
    event: usize,
    local: SocketAddr,
    largest: usize,
    data: PhantomData<fn() -> Data>,
}

impl<Data: Octets> TcpListener<Data> {
    pub(super) fn new(device: Arc<Device>, on: SocketAddr, options: &Tcp<Data>) -> Result<Self, Error> {
        let mut state = device.queues[QUEUE].lock();
        let event = state.connections.demux.open_event();
        let settings = options.settings.clone();
        let listening = state.tcp.streams.listen(on, settings, options.backlog, event, rand::random());
        let Some((acceptor, port)) = listening else {
            state.connections.demux.close_event(event);
            return Err(not_listening(NAME, on));
        };
        drop(state);
        let largest = options.settings.largest;
        let local = (on.ip(), port).into();
        Ok(Self { device, acceptor, event, local, largest, data: PhantomData })
    }

    /// Returns the counters of frames dropped so far, over all connections of the port.
    pub fn dropped(&self) -> Counters {
        self.device.counters()
    }
}

impl<Data: Octets> Listener<Data> for TcpListener<Data> {
    type Connection = TcpConnection<Data>;

    async fn accept(&self) -> Result<TcpConnection<Data>, Error> {
        let take = |state: &mut QueueState| {
            let (key, flow) = state.tcp.streams.accept(self.acceptor)?;
            Some(TcpConnection::new(&self.device, state, key, flow, self.largest))
        };
        Ok(wait_for(&self.device.queues, QUEUE, Awaited::Event(self.event), take).await)
    }

    fn local_addr(&self) -> Addr {
        self.local.into()
    }

    fn properties(&self) -> Option<Properties> {
        Some(Properties::STREAM)
    }
}

impl<Data> Drop for TcpListener<Data> {
    fn drop(&mut self) {
        let queue = &self.device.queues[QUEUE];
        let mut state = queue.lock();
        let QueueState { tcp, network, connections, .. } = &mut *state;
        for key in tcp.streams.stop_listening(self.acceptor, network.now) {
            tcp.step(network, connections, key);
        }
        tcp.flush(network, connections);
        connections.demux.close_event(self.event);
        queue.release(state);
    }
}

bertha_core::debug_fields!(TcpListener<Data> { local });
