//! A socket of tokio's for each client, and a socket for the server.

use super::{Connect, MESSAGE, Trial, since};
use crate::{Error, ErrorKind};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;
use tokio::net::UdpSocket;

/// A client that connects to a server that echoes every datagram.
pub(super) struct Client {
    server: SocketAddr,
}

/// Starts the server.
async fn serve() -> Result<SocketAddr, Error> {
    let opened = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let opened = opened.and_then(|socket| Ok((socket.local_addr()?, socket)));
    let (addr, socket) =
        opened.map_err(Error::while_doing(ErrorKind::Socket, "opening the echo server's socket"))?;
    tokio::spawn(async move {
        let mut buffer = [0; 2048];
        // A client notices by itself if there is no echo.
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            if socket.send_to(&buffer[..length], from).await.is_err() {
                return;
            }
        }
    });
    Ok(addr)
}

impl Client {
    pub(super) async fn new() -> Result<Self, Error> {
        Ok(Self { server: serve().await? })
    }
}

impl Connect for Client {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let trial = async {
            let started = Instant::now();
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            socket.connect(self.server).await?;
            let mut buffer = MESSAGE;
            socket.send(&buffer).await?;
            socket.recv(&mut buffer).await?;
            let set_up = since(started);
            let started = Instant::now();
            socket.send(&buffer).await?;
            socket.recv(&mut buffer).await?;
            io::Result::Ok(Trial { set_up, round_trip: since(started) })
        };
        trial.await.map_err(Error::while_doing(ErrorKind::Socket, "awaiting an echo"))
    }
}
