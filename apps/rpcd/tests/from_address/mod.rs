//! Connections from several addresses of this machine.
#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connects from an address of this machine.
pub(crate) async fn connect(from: &str, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    socket.connect(to).await.unwrap()
}

/// Leads connections to `to`, from an address of this machine. Returns the address at which they come.
pub(crate) async fn lead(from: &str, to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (addr, from) = (listener.local_addr().unwrap(), from.to_owned());
    tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let mut far = connect(&from, to).await;
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    addr
}
