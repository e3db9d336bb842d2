//! A TCP socket as a stream socket.

use super::NAME;
use crate::stream::{StreamConnection, StreamSocket};
use bertha_core::{Addr, Octets};
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// The questions for a sign of life that a peer may leave unanswered. They take as long again as the silence before them.
const QUESTIONS: u32 = 5;

impl<Data: Octets> StreamConnection<TcpStream, Data> {
    /// Breaks the connection off. What was not sent is lost, and the drop of the connection, which has to follow, resets it: the peer's calls
    /// fail with [`Reset`](bertha_core::ErrorKind::Reset), where they would end after a mere drop.
    pub fn abort(&self) {
        // A socket that the system does not know any more has no peer to tell.
        let _ = SockRef::from(self.stream()).set_linger(Some(Duration::ZERO));
    }
}

impl StreamSocket for TcpStream {
    const NAME: &'static str = NAME;

    type Acceptor = TcpListener;

    fn prepare(&self, keep_alive: Option<Duration>) -> io::Result<()> {
        self.set_nodelay(true)?;
        let Some(silence) = keep_alive else { return Ok(()) };
        let times =
            TcpKeepalive::new().with_time(silence).with_interval(silence / QUESTIONS).with_retries(QUESTIONS);
        SockRef::from(self).set_tcp_keepalive(&times)
    }

    fn local_addr(&self) -> io::Result<Addr> {
        Ok(TcpStream::local_addr(self)?.into())
    }

    async fn accept(acceptor: &TcpListener) -> io::Result<(Self, Addr)> {
        let (stream, peer) = acceptor.accept().await?;
        Ok((stream, peer.into()))
    }

    fn listens_at(acceptor: &TcpListener) -> io::Result<Addr> {
        Ok(acceptor.local_addr()?.into())
    }
}
