//! The sockets of shards beside a listener's socket.

use super::io::UdpIo;
use super::socket::{UdpSocket, create};
use super::steering::{program, refused};
use crate::datagram::Steered;
use bertha_core::{Error, Steering};
use socket2::{SockAddr, SockRef};
use std::io;

impl UdpSocket {
    /// Opens a socket for each shard, and lets the kernel pick among them.
    pub(super) fn open_shards(&self, by: &Steering) -> Result<Steered<Self>, Error> {
        let (program, prefixes) = program(by)?;
        let opened = || {
            let shards =
                (0..by.shards().get()).map(|_| self.open_beside()).collect::<io::Result<Vec<_>>>()?;
            // A group has to have two sockets before it takes a program. A datagram that comes in between may
            // be lost.
            program.attach(&self.io)?;
            Ok(shards)
        };
        let shards = opened().map_err(|error| refused("opens no group of sockets", error))?;
        Ok(Steered { shards, prefixes })
    }

    /// Opens a socket at the address of this socket, which receives what the kernel steers to it.
    ///
    /// The kernel picks one socket for datagrams that it has coalesced: datagrams of one sender and one length,
    /// of which the first may be for another shard than the next. It coalesces only where the socket of the
    /// first datagram asks for it, so these sockets do not ask. Over the loopback interface nothing is joined
    /// that was not sent as one, so a burst for a shard may arrive as it has left.
    fn open_beside(&self) -> io::Result<Self> {
        let (Some(local), Some(settings)) = (self.local, &self.settings) else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the socket does not listen"));
        };
        // The first socket sets the option after it was bound, so that it never shares the address of another
        // listener.
        SockRef::from(&self.io).set_reuse_port(true)?;
        let socket = create(settings, local.is_ipv4())?;
        socket.set_reuse_port(true)?;
        socket.bind(&SockAddr::from(local))?;
        let io = UdpIo::on_first_use(socket.into());
        let mut socket = Self::new(io, settings, Some(local))?;
        socket.coalesces = local.ip().is_loopback();
        socket.ask_where(local.is_ipv4())?;
        Ok(socket)
    }
}
