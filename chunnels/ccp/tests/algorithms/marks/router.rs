//! A router between two kernel sockets, which marks datagrams for congestion as RFC 3168 requires: only
//! datagrams whose ends understand marks.

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::net::sockopt::set_ip_recvtos;
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// Number of datagrams that pass before the first is marked.
const UNMARKED: u64 = 20;

pub(super) struct Router {
    /// The address for clients; one client at a time.
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Default)]
struct Shared {
    /// Numbers of datagrams to the server: all, the datagrams that may be marked, and the datagrams that were
    /// marked.
    forwarded: AtomicU64,
    markable: AtomicU64,
    marked: AtomicU64,
    is_over: AtomicBool,
}

impl Router {
    /// Makes a router to `server`, which marks every `nth` datagram that may be marked.
    pub(super) fn to(server: SocketAddr, nth: u64) -> Self {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = front.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || forward(&front, server, nth, &shared)
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Returns the number of datagrams to the server that were marked.
    pub(super) fn marked(&self) -> u64 {
        self.shared.marked.load(Relaxed)
    }

    /// Returns the number of datagrams to the server that may be marked, and the number of all datagrams.
    pub(super) fn markable(&self) -> (u64, u64) {
        (self.shared.markable.load(Relaxed), self.shared.forwarded.load(Relaxed))
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap().unwrap();
        }
    }
}

/// A socket that receives and sends with marks.
struct Marking {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl Marking {
    fn new(socket: UdpSocket) -> io::Result<Self> {
        // The state is made on another socket: its other options leave no room for the marks of coalesced
        // datagrams.
        let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let state = UdpSocketState::new(UdpSockRef::from(&other))?;
        set_ip_recvtos(&socket, true)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, state })
    }

    /// Receives the waiting datagrams, if any: all have one sender and one length, except the last.
    fn receive<'a>(&self, bytes: &'a mut [u8]) -> io::Result<Option<(&'a [u8], RecvMeta)>> {
        let mut meta = [RecvMeta::default()];
        let received =
            self.state.recv(UdpSockRef::from(&self.socket), &mut [IoSliceMut::new(&mut *bytes)], &mut meta);
        match received {
            Ok(_) => Ok(Some((&bytes[..meta[0].len], meta[0]))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn send(&self, destination: SocketAddr, contents: &[u8], ecn: Option<EcnCodepoint>) -> io::Result<()> {
        let transmit = Transmit { destination, ecn, contents, segment_size: None, src_ip: None };
        loop {
            match self.state.try_send(UdpSockRef::from(&self.socket), &transmit) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                sent => return sent,
            }
        }
    }
}

fn forward(front: &UdpSocket, server: SocketAddr, nth: u64, shared: &Shared) -> io::Result<()> {
    let front = Marking::new(front.try_clone()?)?;
    let back = Marking::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?)?;
    let mut bytes = vec![0; 1 << 16];
    let mut client = None;
    while !shared.is_over.load(Relaxed) {
        let mut is_idle = true;
        if let Some((contents, meta)) = front.receive(&mut bytes)? {
            is_idle = false;
            client = Some(meta.addr);
            for datagram in contents.chunks(meta.stride.max(1)) {
                let count = shared.forwarded.fetch_add(1, Relaxed);
                let mut ecn = meta.ecn;
                if ecn == Some(EcnCodepoint::Ect0) {
                    let markable = shared.markable.fetch_add(1, Relaxed);
                    if count >= UNMARKED && markable.is_multiple_of(nth) {
                        shared.marked.fetch_add(1, Relaxed);
                        ecn = Some(EcnCodepoint::Ce);
                    }
                }
                back.send(server, datagram, ecn)?;
            }
        }
        if let Some((contents, meta)) = back.receive(&mut bytes)?
            && let Some(client) = client
        {
            is_idle = false;
            for datagram in contents.chunks(meta.stride.max(1)) {
                front.send(client, datagram, meta.ecn)?;
            }
        }
        if is_idle {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    Ok(())
}
