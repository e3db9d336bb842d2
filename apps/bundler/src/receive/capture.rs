//! The packets of the bundle, as they arrive at an interface.

use crate::prefix::Prefix;
use bertha_bundle::Header;
use bertha_core::{Error, ErrorKind};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, SockaddrLike, bind, recvfrom, setsockopt,
    socket, sockopt,
};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Number of bytes of a packet that are read: more than the longest header of IPv4 and its ports.
const HEADER: usize = 128;

/// Number of bytes that the socket keeps for the box.
const BACKLOG: usize = 4 << 20;

/// `PACKET_OUTGOING` of Linux's `if_packet.h`.
const OUTGOING: u8 = 4;

/// The EtherTypes of IPv4 and IPv6.
const V4: u16 = 0x0800;
const V6: u16 = 0x86dd;

/// A socket that sees the packets of an interface.
#[derive(Debug)]
pub(super) struct Capture {
    fd: OwnedFd,
    interface: String,
    /// The number of the interface: one that is made later under the same name has another.
    index: usize,
    /// True since the interface went down, until a packet arrives.
    is_down: bool,
    from: Vec<Prefix>,
    to: Vec<Prefix>,
    mtu: u32,
    /// Number of packets without a header that can be read.
    pub(super) unreadable: u64,
    /// Number of packets that are longer than the interface sends: several packets that an offload has joined.
    pub(super) joined: u64,
    /// Number of packets for which the socket had no room.
    pub(super) missed: u64,
}

/// A look at the interface.
pub(super) enum Captured {
    /// No packet waits.
    Nothing,
    /// A packet that is not of the bundle.
    Other,
    OfBundle(Header),
}

impl Capture {
    /// Sees the packets that arrive at an interface from `from` to `to`; an empty `from` has all sources.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) if there is no such interface, or if the process may not see its packets.
    pub(super) fn open(interface: &str, from: Vec<Prefix>, to: Vec<Prefix>) -> Result<Self, Error> {
        let failed = |error: Errno| {
            Error::new(ErrorKind::Io, format!("seeing the packets of the interface `{interface}`: {error}"))
        };
        let fd =
            socket(AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_NONBLOCK, SockProtocol::EthAll)
                .map_err(failed)?;
        let address = address_of(interface).map_err(failed)?.ok_or_else(|| failed(Errno::ENODEV))?;
        // Without the capability for more, the system's limit holds.
        if setsockopt(&fd, sockopt::RcvBufForce, &BACKLOG).is_err() {
            setsockopt(&fd, sockopt::RcvBuf, &BACKLOG).map_err(failed)?;
        }
        bind(fd.as_raw_fd(), &address).map_err(failed)?;
        let mtu = bertha_interface_sys::mtu(interface)?;
        let (interface, index) = (interface.to_owned(), address.ifindex());
        Ok(Self { fd, interface, index, is_down: false, from, to, mtu, unreadable: 0, joined: 0, missed: 0 })
    }

    /// Takes the next packet that has arrived.
    ///
    /// # Errors
    /// Errors of the socket, such as that of an interface that is gone.
    pub(super) fn next(&mut self) -> Result<Captured, Error> {
        let mut bytes = [0; HEADER];
        let (len, address) = match recvfrom::<LinkAddr>(self.fd.as_raw_fd(), &mut bytes) {
            Ok((len, Some(address))) => (len, address),
            Ok((_, None)) | Err(Errno::EINTR) => return Ok(Captured::Other),
            Err(Errno::EAGAIN) if !self.is_down => return Ok(Captured::Nothing),
            Err(Errno::EAGAIN | Errno::ENETDOWN) => {
                self.is_down = true;
                return self.look_for_interface().map(|()| Captured::Nothing);
            }
            Err(error) => {
                let what = format!("seeing the packets of the interface: {error}");
                return Err(Error::new(ErrorKind::Io, what));
            }
        };
        self.is_down = false;
        let is_ip = [V4, V6].contains(&u16::from_be(address.protocol()));
        if address.pkttype() == OUTGOING || !is_ip {
            return Ok(Captured::Other);
        }
        match Header::parse(bytes.get(..len).unwrap_or_default()) {
            Ok(header) if self.is_of_bundle(&header) => {
                self.count_joined(&header);
                Ok(Captured::OfBundle(header))
            }
            Ok(_) => Ok(Captured::Other),
            Err(_) => {
                self.unreadable += 1;
                Ok(Captured::Other)
            }
        }
    }

    /// An interface that is down has packets again when it is up.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) if the interface is gone.
    fn look_for_interface(&self) -> Result<(), Error> {
        let gone = || {
            let what =
                format!("the interface `{}` is gone; start the box again when it is back", self.interface);
            Error::new(ErrorKind::Closed, what)
        };
        // A system that is out of descriptors for a moment tells nothing of the interface.
        let Ok(address) = address_of(&self.interface) else { return Ok(()) };
        if address.is_some_and(|address| address.ifindex() == self.index) { Ok(()) } else { Err(gone()) }
    }

    /// Counts the packets for which the socket had no room since the last call.
    pub(super) fn count_missed(&mut self) {
        self.missed += u64::from(bertha_interface_sys::missed(&self.fd).unwrap_or_default());
    }

    fn is_of_bundle(&self, header: &Header) -> bool {
        let is_in = |prefixes: &[Prefix], address| prefixes.iter().any(|prefix| prefix.contains(address));
        is_in(&self.to, header.destination.ip())
            && (self.from.is_empty() || is_in(&self.from, header.source.ip()))
    }

    fn count_joined(&mut self, header: &Header) {
        if header.len > self.mtu {
            if self.joined == 0 {
                tracing::warn!(
                    len = header.len,
                    mtu = self.mtu,
                    "packets are joined on their way to this interface, which hides boundaries; turn the offloads of senders and routers off (`ethtool -K NAME gro off lro off tso off gso off`)"
                );
            }
            self.joined += 1;
        }
    }
}

/// Returns the address of an interface; `None` if there is no such interface.
fn address_of(interface: &str) -> Result<Option<LinkAddr>, Errno> {
    Ok(getifaddrs()?.find_map(|it| {
        let address: LinkAddr = *it.address?.as_link_addr()?;
        let is_of = it.interface_name == interface && address.family() == Some(AddressFamily::Packet);
        is_of.then_some(address)
    }))
}

impl AsFd for Capture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
