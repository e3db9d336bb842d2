//! TCP over a port.

mod base;
mod connection;
mod listener;

use crate::datapath::listenable;
use crate::queue::QueueState;
use crate::queue::streams::{NAME, Settings, failure};
use crate::reach::reachable;
use crate::{Config, Dpdk};
pub use base::TcpBase;
use bertha_core::{Addr, Buf, Chunk, Datapath, Error, ErrorKind, Octets};
use bertha_runtime::tokio::TokioRuntime;
pub use connection::TcpConnection;
pub use listener::TcpListener;
use std::marker::PhantomData;
use std::time::Duration;

/// Number of the queue in which all segments arrive: only flows of datagrams are spread.
const QUEUE: usize = 0;

/// TCP over a DPDK port as a datapath: the TCP of [smoltcp](https://docs.rs/smoltcp) over the port's own
/// network stack. Messages are framed as [`framing`](bertha_core::framing) says, so peers may use TCP through
/// the kernel; `Tcp<Chunk>` carries [`bytes`](Self::bytes).
///
/// Messages are sent at once; the messages of a burst are sent together. Congestion control is CUBIC (RFC
/// 9438). Both received and sent messages are copied, since smoltcp keeps a stream of bytes in buffers of its
/// own, which a connection allocates when it begins: this datapath serves peers that speak TCP, and [`Dpdk`]
/// serves speed.
///
/// Idle connections live on, unless [`keep_alive`](Self::keep_alive) is set; a peer that owes an answer and stays silent is given up after
/// [`timeout`](Self::timeout). The network stack ends with its process: messages that the peers have not
/// acknowledged are lost, and the peers are not told. So [`close`](bertha_core::Connection::close) waits for
/// acknowledgements, for a second at most.
///
/// Of several queues of a port, only the first is used. Reports of path MTUs are ignored: the path has to
/// carry as much as the interface.
///
/// The number of connections is at most 16,384. At most 128 strangers per listener may be in the middle of
/// the handshake, fewer if their buffers take more than 32 MiB; further strangers are answered with cookies
/// (RFC 4987), so that a flood keeps nobody out. At most 256 dropped connections wait for their peer, or for
/// late segments. Segments that a stranger may have forged end no connection (RFC 5961).
#[derive(Debug)]
pub struct Tcp<Data = Buf> {
    dpdk: Dpdk,
    settings: Settings,
    backlog: usize,
    data: PhantomData<fn() -> Data>,
}

impl Tcp {
    /// Creates the datapath over the port that the environment describes, which it shares with [`Dpdk::new`].
    pub fn new() -> Self {
        Self::over(&Dpdk::new())
    }

    /// Creates the datapath over the port of `dpdk`.
    pub fn over(dpdk: &Dpdk) -> Self {
        let settings = Settings {
            is_framed: true,
            largest: 16 << 20,
            receive: 128 << 10,
            send: 128 << 10,
            timeout: Duration::from_secs(240),
            keep_alive: None,
        };
        Self { dpdk: dpdk.clone(), settings, backlog: 1024, data: PhantomData }
    }

    /// Creates the datapath over the port that `config` describes, opened as by [`Dpdk::open`].
    ///
    /// # Errors
    /// Errors of [`Dpdk::open`].
    pub fn open(config: &Config) -> Result<Self, Error> {
        Ok(Self::over(&Dpdk::open(config)?))
    }

    /// Makes a datapath of bytes without the frames of [`framing`](bertha_core::framing), for peers that
    /// speak another protocol over TCP: a received [`Chunk`] is at most 64 KiB long. A Chunnel for framing
    /// makes messages of the bytes.
    #[must_use]
    pub fn bytes(self) -> Tcp<Chunk> {
        let Self { dpdk, settings, backlog, .. } = self;
        Tcp { dpdk, settings: Settings { is_framed: false, ..settings }, backlog, data: PhantomData }
    }
}

impl<Data: Octets> Tcp<Data> {
    /// Returns the datapath of datagrams over this port; it also counts the frames that were dropped.
    pub fn dpdk(&self) -> &Dpdk {
        &self.dpdk
    }

    /// Sets the largest message in bytes: 16 MiB by default, at most 127 MiB. A peer that announces a larger
    /// message is [`Malformed`](ErrorKind::Malformed), which ends the connection.
    #[must_use]
    pub fn largest(mut self, bytes: usize) -> Self {
        self.settings.largest = bytes.min(127 << 20);
        self
    }

    /// Bounds the received bytes of a connection that wait for the application: 128 KiB by default, between 4
    /// KiB and 64 MiB.
    #[must_use]
    pub fn receive_buffer(mut self, bytes: usize) -> Self {
        self.settings.receive = bytes.clamp(4 << 10, 64 << 20);
        self
    }

    /// Bounds the bytes of a connection that wait to be sent and acknowledged: 128 KiB by default, between 4
    /// KiB and 64 MiB. A single message waits in addition.
    #[must_use]
    pub fn send_buffer(mut self, bytes: usize) -> Self {
        self.settings.send = bytes.clamp(4 << 10, 64 << 20);
        self
    }

    /// Bounds the connections of a listener that wait to be accepted: 1024 by default, and at most as many as
    /// have their buffers in 32 MiB, which is 128 with the default sizes. A peer that comes when so many wait
    /// gets no answer, and tries again; handshakes that are under way are still completed.
    #[must_use]
    pub fn backlog(mut self, connections: usize) -> Self {
        self.backlog = connections.max(1);
        self
    }

    /// Sets the silence after which a peer that owes an answer is [`TimedOut`](ErrorKind::TimedOut): four
    /// minutes by default (RFC 9293, section 3.8.3). Repetitions and probes are at most a minute apart, so
    /// with the default at least three of them in a row were lost.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// Sets the silence after which a peer that owes nothing is asked whether it is still there; `None`, the default, if it is never asked. It is
    /// asked four times, with this time in between, and then [`TimedOut`](ErrorKind::TimedOut): a process that dies takes its network stack
    /// with it, and nobody tells its peers.
    #[must_use]
    pub fn keep_alive(mut self, silence: Option<Duration>) -> Self {
        self.settings.keep_alive = silence;
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
            let Some((key, flow)) = state.tcp.streams.connect(peer, &self.settings, random, now) else {
                return Err(failure(
                    ErrorKind::Exhausted,
                    "no port or no room is left for another connection",
                ));
            };
            let connection = TcpConnection::new(&device, &mut state, key, flow, self.settings.largest);
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
