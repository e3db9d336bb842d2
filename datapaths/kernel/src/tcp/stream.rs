//! A TCP socket as a stream socket.

use super::NAME;
use crate::stream::StreamSocket;
use bertha_core::Addr;
use std::io;
use tokio::net::{TcpListener, TcpStream};

impl StreamSocket for TcpStream {
    const NAME: &'static str = NAME;

    type Acceptor = TcpListener;

    fn prepare(&self) -> io::Result<()> {
        self.set_nodelay(true)
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
