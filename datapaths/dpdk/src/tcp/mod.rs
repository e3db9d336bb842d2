//! TCP over a port.

mod base;
mod connection;
mod listener;

use crate::datapath::{listenable, reachable};
use crate::queue::QueueState;
use crate::queue::streams::{NAME, Settings, failure};
use crate::{Config, Dpdk};
pub use base::TcpBase;
use bertha_core::{Addr, Buf, Chunk, Datapath, Error, ErrorKind, Octets};
use bertha_runtime_tokio::TokioRuntime;
pub use connection::TcpConnection;
pub use listener::TcpListener;
use std::marker::PhantomData;
use std::time::Duration;

/// The queue that all segments arrive in: only flows of datagrams are spread.
const QUEUE: usize = 0;

/// TCP over a DPDK port as a datapath: [smoltcp](https://docs.rs/smoltcp)'s, above the port's own network stack. Messages are
/// framed as [`framing`](bertha_core::framing) says, so its ends talk to those of TCP through the kernel; as `Tcp<Chunk>` it carries
/// [`bytes`](Self::bytes).
///
/// Messages go out at once; a burst goes out together. Congestion control is CUBIC (RFC 9438). Neither a received nor a sent
/// message is free of copies, since smoltcp keeps a stream of bytes in buffers of its own, and a connection allocates these
/// when it begins: this is for peers that speak TCP, and [`Dpdk`] for speed.
///
/// Idle connections live on; a peer that owes an answer and stays silent is given up after [`timeout`](Self::timeout). A process
/// that ends takes the network stack with it: messages that its peers have not acknowledged are lost, and they are not told. So
/// [`close`](bertha_core::Connection::close) waits for a second at most until they have.
///
/// Of several queues of a port, it uses the first alone. Reports of path MTUs are ignored: the path has to carry as much as the
/// interface.
///
/// There are 16,384 connections at most, 128 strangers per listener in the middle of the handshake, fewer if
/// their buffers take more than 32 MiB, and 256 connections that were
/// dropped and wait for their peer, or for late segments.
#[derive(Debug)]
pub struct Tcp<Data = Buf> {
    dpdk: Dpdk,
    settings: Settings,
    backlog: usize,
    data: PhantomData<fn() -> Data>,
}

impl Tcp {
    /// Over the port that the environment describes, which [`Dpdk::new`] has as well.
    pub fn new() -> Self {
        Self::over(&Dpdk::new())
    }

    /// Over the port of `dpdk`.
    pub fn over(dpdk: &Dpdk) -> Self {
        let settings = Settings {
            is_framed: true,
            largest: 16 << 20,
            receive: 128 << 10,
            send: 128 << 10,
            timeout: Duration::from_secs(240),
        };
        Self { dpdk: dpdk.clone(), settings, backlog: 1024, data: PhantomData }
    }

    /// Over the port that `config` describes, as [`Dpdk::open`] opens it.
    ///
    /// # Errors
    /// Those of [`Dpdk::open`].
    pub fn open(config: &Config) -> Result<Self, Error> {
        Ok(Self::over(&Dpdk::open(config)?))
    }

    /// The same with bytes as they are, without the frames of [`framing`](bertha_core::framing), for peers that speak another
    /// protocol over TCP: a [`Chunk`] that is received is at most 64 KiB. A Chunnel for framing makes messages of them.
    #[must_use]
    pub fn bytes(self) -> Tcp<Chunk> {
        let Self { dpdk, settings, backlog, .. } = self;
        Tcp { dpdk, settings: Settings { is_framed: false, ..settings }, backlog, data: PhantomData }
    }
}

impl<Data: Octets> Tcp<Data> {
    /// The datapath of datagrams over the same port; it also counts the frames that were dropped.
    pub fn dpdk(&self) -> &Dpdk {
        &self.dpdk
    }

    /// The largest message in bytes, 16 MiB by default, at most 127 MiB. A peer that announces a larger one is
    /// [`Malformed`](ErrorKind::Malformed), which ends the connection.
    #[must_use]
    pub fn largest(mut self, bytes: usize) -> Self {
        self.settings.largest = bytes.min(127 << 20);
        self
    }

    /// The received bytes of a connection that wait for the application at most: 128 KiB by default, between 4 KiB and 64 MiB.
    #[must_use]
    pub fn receive_buffer(mut self, bytes: usize) -> Self {
        self.settings.receive = bytes.clamp(4 << 10, 64 << 20);
        self
    }

    /// The bytes of a connection that wait to be sent and acknowledged at most: 128 KiB by default, between 4 KiB and 64 MiB. One message
    /// waits on top of that.
    #[must_use]
    pub fn send_buffer(mut self, bytes: usize) -> Self {
        self.settings.send = bytes.clamp(4 << 10, 64 << 20);
        self
    }

    /// The connections of a listener that wait to be accepted at most: 1024 by default, and no more than have their buffers in 32 MiB,
    /// which are 128 unless the buffers are given other sizes. A peer that comes when so many wait gets no answer, and tries again;
    /// handshakes that are under way then come to their end.
    #[must_use]
    pub fn backlog(mut self, connections: usize) -> Self {
        self.backlog = connections.max(1);
        self
    }

    /// The silence of a peer that owes an answer after which the connection is
    /// [`TimedOut`](ErrorKind::TimedOut): four minutes by default (RFC 9293, section 3.8.3). Repetitions and probes are a minute
    /// apart at most, so that much takes three of them that are lost in a row.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }
}

impl<Data> Clone for Tcp<Data> {
    fn clone(&self) -> Self {
        Self {
            dpdk: self.dpdk.clone(),
            settings: self.settings.clone(),
            backlog: self.backlog,
            data: PhantomData,
        }
    }
}

impl Default for Tcp {
    fn default() -> Self {
        Self::new()
    }
}

impl<Data: Octets> Datapath<Data> for Tcp<Data> {
    type Connection = TcpConnection<Data>;
    type Listener = TcpListener<Data>;

    async fn connect(&self, to: Addr) -> Result<TcpConnection<Data>, Error> {
        let peer = to.ip(NAME)?;
        let device = self.dpdk.device()?;
        reachable(&device, peer)?;
        let connection = {
            let queue = &device.queues[QUEUE];
            let mut state = queue.lock();
            state.read_clock();
            let now = state.network.now;
            let random = [rand::random(), rand::random()];
            let Some((key, port)) = state.tcp.streams.connect(peer, &self.settings, random, now) else {
                return Err(failure(
                    ErrorKind::Exhausted,
                    "no port or no room is left for another connection",
                ));
            };
            let connection = TcpConnection::new(&device, &mut state, key, port, peer, self.settings.largest);
            let QueueState { tcp, network, connections, .. } = &mut *state;
            tcp.step(network, connections, key);
            tcp.flush(network, connections);
            queue.release(state);
            connection
        };
        connection.established().await?;
        Ok(connection)
    }

    async fn listen(&self, on: Addr) -> Result<TcpListener<Data>, Error> {
        let on = on.ip(NAME)?;
        let device = self.dpdk.device()?;
        listenable(&device, on)?;
        TcpListener::new(device, on, self)
    }

    fn runtime(&self) -> Option<TokioRuntime> {
        TokioRuntime::current()
    }
}
