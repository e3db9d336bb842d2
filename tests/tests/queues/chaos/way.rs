//! A relay to the server that the test can cut.

use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A port that leads to another port. While the relay is cut, no bytes come through in either direction, and
/// neither end is notified.
pub(crate) struct Way {
    pub(crate) port: u16,
    is_cut: watch::Sender<bool>,
}

impl Way {
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let way = Self { port: listener.local_addr().unwrap().port(), is_cut: watch::Sender::new(false) };
        let is_cut = way.is_cut.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A server that is away refuses connections, and so does the relay.
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else { continue };
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(pass(from_client, to_server, is_cut.clone()));
                tokio::spawn(pass(from_server, to_client, is_cut.clone()));
            }
        });
        way
    }

    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_cut: watch::Receiver<bool>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if is_cut.wait_for(|is_cut| !is_cut).await.is_err() || to.write_all(&bytes[..count]).await.is_err() {
            break;
        }
    }
}
