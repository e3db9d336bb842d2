//! Datagrams from sockets by hand: as fast as the kernel takes them, held back only so that it drops none.
//!
//! There are no acknowledgements: the sender reads the receiver's progress in memory. So the transfer is
//! faster than between any two machines, and shows the cost of the kernel alone.

use super::{Setup, file};
use crate::harness::{ETHERNET, Placement, pin};
use crate::{Error, ErrorKind};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// Largest number of bytes in flight to a socket: they have to fit into its buffer, with the kernel's
/// overhead.
pub(super) const IN_FLIGHT: u64 = 96 * 1024;

/// Largest number of bytes in a call.
pub(super) const CALL: usize = 60_000;

/// Largest number of datagrams in a call; older kernels take no more.
const SEGMENTS: usize = 64;

/// Number of runs that are received in a call.
const BUFFERS: usize = 8;

/// Time without an arrival after which a datagram counts as lost.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl Socket {
    fn open() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let options = socket2::SockRef::from(&socket);
        options.set_recv_buffer_size(4 << 20)?;
        options.set_send_buffer_size(4 << 20)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        if state.gro_segments() > 1 {
            // If the kernel has no coalescing, datagrams arrive one by one.
            nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::UdpGroSegment, &true)?;
        }
        socket.set_nonblocking(true)?;
        Ok(Self { socket, state })
    }
}

pub(super) fn run(setup: &Setup) -> Result<f64, Error> {
    let (client_core, server_core) = Placement::AcrossCores.cores()?;
    let open = || (0..setup.connections).map(|_| Socket::open()).collect::<io::Result<Vec<_>>>();
    let senders = open().map_err(failed)?;
    let receivers = open().map_err(failed)?;
    let arrived: Vec<_> = receivers.iter().map(|_| AtomicU64::new(0)).collect();
    let file = file(setup);
    let start = Instant::now();
    let peers = receivers.iter().map(|receiver| receiver.socket.local_addr()).collect::<io::Result<Vec<_>>>();
    let peers = peers.map_err(failed)?;
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            pin(server_core)?;
            send(&senders, &peers, &arrived, &file, setup.datagram).map_err(failed)
        });
        let receiving = scope.spawn(|| {
            pin(client_core)?;
            receive(&receivers, &arrived, setup.bytes as u64)
        });
        let panicked = |_| Err(Error::new(ErrorKind::Core, "a measuring thread panicked"));
        let received = receiving.join().unwrap_or_else(panicked);
        sending.join().unwrap_or_else(|_| Err(Error::new(ErrorKind::Core, "a measuring thread panicked")))?;
        let elapsed = received?.duration_since(start);
        Ok((setup.connections * setup.bytes) as f64 / elapsed.as_secs_f64())
    })
}

fn send(
    sockets: &[Socket],
    peers: &[SocketAddr],
    arrived: &[AtomicU64],
    file: &[u8],
    datagram: usize,
) -> io::Result<()> {
    // Only datagrams that an Ethernet frame carries can be segmented.
    let most = if datagram <= ETHERNET { (CALL / datagram).min(SEGMENTS) * datagram } else { datagram };
    let mut sent = vec![0; sockets.len()];
    let mut is_done = false;
    let mut progress = Instant::now();
    while !is_done {
        is_done = true;
        for (number, socket) in sockets.iter().enumerate() {
            let left = &file[sent[number]..];
            if left.is_empty() {
                continue;
            }
            is_done = false;
            let contents = &left[..left.len().min(most)];
            let in_flight = sent[number] as u64 - arrived[number].load(Relaxed);
            if in_flight > 0 && in_flight + contents.len() as u64 > IN_FLIGHT {
                if progress.elapsed() > TIMEOUT {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "a datagram was lost"));
                }
                continue;
            }
            let segment_size = (contents.len() > datagram).then_some(datagram);
            let transmit =
                Transmit { destination: peers[number], ecn: None, contents, segment_size, src_ip: None };
            match socket.state.try_send(UdpSockRef::from(&socket.socket), &transmit) {
                Ok(()) => {
                    sent[number] += contents.len();
                    progress = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => yield_now(),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn receive(sockets: &[Socket], arrived: &[AtomicU64], bytes: u64) -> Result<Instant, Error> {
    let mut storage = vec![[0; 65_536]; BUFFERS];
    let mut meta = [RecvMeta::default(); BUFFERS];
    let mut progress = Instant::now();
    while arrived.iter().any(|arrived| arrived.load(Relaxed) < bytes) {
        for (socket, arrived) in sockets.iter().zip(arrived) {
            let mut slices: Vec<_> = storage.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
            match socket.state.recv(UdpSockRef::from(&socket.socket), &mut slices, &mut meta) {
                Ok(count) => {
                    arrived.fetch_add(meta[..count].iter().map(|meta| meta.len as u64).sum(), Relaxed);
                    progress = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(failed(error)),
            }
        }
        if progress.elapsed() > TIMEOUT {
            return Err(Error::new(ErrorKind::Stalled, "a datagram was lost"));
        }
    }
    Ok(Instant::now())
}

fn failed(error: io::Error) -> Error {
    Error::while_doing(ErrorKind::Socket, "moving datagrams")(error)
}
