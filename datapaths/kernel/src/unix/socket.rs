//! A Unix datagram socket.

use super::address;
use super::sender::{Sender, receive_vouched};
use crate::SocketBase;
use crate::async_socket::{AsyncSocket, Left};
use crate::datagram::{DatagramSocket, refusal, sendmmsg};
use crate::endpoint::{MAX_WIDTH, Received, ReceivingSocket, Request};
use crate::options::Options;
use crate::window::Window;
use crate::within_tokio::within_tokio;
use bertha_core::{Addr, Buf, Error, Properties};
use bertha_runtime::tokio::SocketFile;
use bertha_runtime::tokio::descriptors::refuse;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvFlags, SendFlags, SocketAddrUnix};
use socket2::{Domain, Type};
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::net::UnixDatagram;

/// The largest message.
const MTU: usize = 65_536;

/// A bound socket on the current tokio runtime.
#[derive(Debug)]
pub struct UnixSocket {
    io: UnixDatagram,
    local: Addr,
    /// True if the kernel tells the owner of each sender.
    vouched: bool,
    /// The file to remove with it.
    _path: Option<SocketFile>,
}

/// A peer, as the socket sends to it: its address, unless the socket is connected.
#[derive(Debug)]
pub struct Remote(Option<SocketAddrUnix>);

impl Remote {
    pub(super) fn connected() -> Self {
        Self(None)
    }
}

impl UnixSocket {
    /// A socket with a name from the kernel, connected to the one at `path`, whose address is returned too.
    pub(super) fn connect(options: &Options, path: &Path) -> io::Result<(Self, SocketAddrUnix)> {
        let peer = address::from_path(path)?;
        let socket = new_socket(options)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new_unnamed())?;
        rustix::net::connect(&socket, &peer)?;
        Ok((Self::register(socket, false, None)?, peer))
    }

    /// A socket at `path`, which learns the owner of each sender if it is `vouched`.
    pub(super) fn listen(options: &Options, vouched: bool, path: &Path) -> io::Result<Self> {
        let socket = new_socket(options)?;
        // The kernel adds the owner when a datagram is sent, so it has to be asked before the first one.
        set_socket_passcred(&socket, vouched)?;
        let file = address::bind(&socket, path)?;
        Self::register(socket, vouched, file)
    }

    fn register(socket: socket2::Socket, vouched: bool, path: Option<SocketFile>) -> io::Result<Self> {
        let local = SocketAddrUnix::try_from(rustix::net::getsockname(&socket)?)?;
        within_tokio()?;
        let io = UnixDatagram::from_std(socket.into())?;
        Ok(Self { io, local: address::to_addr(&local), vouched, _path: path })
    }

    /// Receives one datagram; without a message if it is longer than a message may be.
    fn receive_one(&self) -> io::Result<(Sender, Option<Buf>)> {
        let mut buffer = Buf::new(MTU, 0).map_err(io::Error::other)?;
        let (len, from) = if self.vouched {
            receive_vouched(&self.io, &mut buffer)?
        } else {
            let (_, len, from) = rustix::net::recvfrom(&self.io, &mut buffer[..], RecvFlags::TRUNC)?;
            let from = from.and_then(|from| SocketAddrUnix::try_from(from).ok());
            (len, from.unwrap_or_else(SocketAddrUnix::new_unnamed).into())
        };
        if len > MTU {
            return Ok((from, None));
        }
        Ok((from, Some(buffer.fitted(len))))
    }

    fn receive_several<const N: usize>(
        &self,
        request: Request,
        mut deliver: impl FnMut(&Sender, usize, Buf),
    ) -> io::Result<Received> {
        let mut messages = [const { None }; N];
        let mut received = self.io.attempt(request.eager, || {
            let mut received = Received::default();
            for (count, place) in messages.iter_mut().enumerate() {
                match self.receive_one() {
                    Ok((from, Some(message))) => *place = Some((from, message)),
                    Ok((_, None)) => received.oversize += 1,
                    // Any other error comes again.
                    Err(error) if count > 0 => {
                        let is_empty = error.kind() == io::ErrorKind::WouldBlock;
                        let rearms = is_empty && (count > 1 || request.others_wait);
                        let left = if rearms { Left::Nothing } else { Left::Unknown };
                        return Ok((received, left));
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok((received, Left::Unknown))
        })?;
        for (from, message) in messages.into_iter().flatten() {
            received.buffers += 1;
            deliver(&from, message.len(), message);
        }
        Ok(received)
    }
}

fn new_socket(options: &Options) -> io::Result<socket2::Socket> {
    let socket = socket2::Socket::new(Domain::UNIX, Type::DGRAM.nonblocking(), None)?;
    refuse(&socket)?;
    socket.set_recv_buffer_size(options.receive_buffer)?;
    socket.set_send_buffer_size(options.send_buffer)?;
    Ok(socket)
}

impl ReceivingSocket for UnixSocket {
    type Peer = Sender;
    type Socket = UnixDatagram;

    fn socket(&self) -> &Self::Socket {
        &self.io
    }

    #[cold]
    fn failure(&self, error: io::Error) -> Error {
        refusal(error)
    }

    fn receive(&self, request: Request, deliver: impl FnMut(&Sender, usize, Buf)) -> io::Result<Received> {
        match request.width {
            1 if !request.others_wait => self.receive_several::<1>(request, deliver),
            1 | 2 => self.receive_several::<2>(request, deliver),
            8 => self.receive_several::<8>(request, deliver),
            _ => self.receive_several::<MAX_WIDTH>(request, deliver),
        }
    }
}

impl DatagramSocket for UnixSocket {
    const NAME: &'static str = "Unix";
    const PROPERTIES: Properties = {
        let mut properties = Properties::STREAM;
        properties.reliable = false;
        properties
    };
    type Remote = Remote;
    type Burst = Window;

    fn remote(&self, peer: &Sender) -> Remote {
        Remote(Some(peer.address.clone()))
    }

    fn base(self: &Arc<Self>, peer: &Sender, _: &Remote) -> SocketBase {
        let addr = address::to_addr(&peer.address);
        let base = SocketBase::new(Self::NAME, Self::PROPERTIES, MTU, self.local.clone(), addr);
        base.with_credentials(peer.owner)
    }

    fn local_addr(&self) -> Addr {
        self.local.clone()
    }

    #[inline]
    fn send_one(&self, message: &[u8], to: &Remote) -> io::Result<()> {
        match &to.0 {
            None => rustix::net::send(&self.io, message, SendFlags::empty())?,
            Some(to) => rustix::net::sendto(&self.io, message, SendFlags::empty(), to)?,
        };
        Ok(())
    }

    fn send_some(&self, burst: &mut Window, to: &Remote) -> io::Result<()> {
        let sent = sendmmsg(&self.io, burst.iter().map(|message| &**message), to.0.as_ref())?;
        burst.drop_first(sent);
        Ok(())
    }
}
