//! A forwarder to a server that can fall silent.

use std::sync::Arc;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Forwards connections to a server, and can forget them, as a firewall may.
pub(crate) struct Forwarder {
    pub(crate) port: u16,
    forgets: Arc<Notify>,
}

impl Forwarder {
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, forgets) = (listener.local_addr().unwrap().port(), Arc::new(Notify::new()));
        let forgetting = forgets.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let forgetting = forgetting.clone();
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        // Both ends stay open, and no more bytes move.
                        () = forgetting.notified() => std::future::pending().await,
                    }
                });
            }
        });
        Self { port, forgets }
    }

    /// Forwards no more bytes of the present connections, and notifies neither end. Later connections work.
    pub(crate) fn forget(&self) {
        self.forgets.notify_waiters();
    }
}
