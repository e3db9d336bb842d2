//! A relay between clients and a server, which sees all messages and may change its address.

use bertha_core::Addr;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

pub(super) struct Relay {
    front: Arc<UdpSocket>,
    back: Arc<Mutex<Arc<UdpSocket>>>,
    client: Arc<Mutex<Option<SocketAddr>>>,
    last: Arc<Mutex<Vec<u8>>>,
    server: SocketAddr,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Relay {
    pub(super) async fn start(server: Addr) -> Self {
        let Addr::Ip(server) = server else { panic!("{server}") };
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let relay = Self {
            front: front.clone(),
            back: Arc::new(Mutex::new(Self::socket().await)),
            client: Arc::default(),
            last: Arc::default(),
            server,
            tasks: Mutex::default(),
        };
        let (back, client, last) = (relay.back.clone(), relay.client.clone(), relay.last.clone());
        let to_server = tokio::spawn(async move {
            let mut buffer = vec![0; 65_536];
            while let Ok((length, from)) = front.recv_from(&mut buffer).await {
                *client.lock().unwrap() = Some(from);
                // Data, not messages about the connection.
                if buffer[0] == 0 {
                    *last.lock().unwrap() = buffer[..length].to_vec();
                }
                let back = back.lock().unwrap().clone();
                let _ = back.send_to(&buffer[..length], server).await;
            }
        });
        relay.tasks.lock().unwrap().push(to_server);
        relay.pass_back();
        relay
    }

    async fn socket() -> Arc<UdpSocket> {
        Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap())
    }

    /// Passes what the server sends to the present address on to the client.
    fn pass_back(&self) {
        let (front, client) = (self.front.clone(), self.client.clone());
        let back = self.back.lock().unwrap().clone();
        self.tasks.lock().unwrap().push(tokio::spawn(async move {
            let mut buffer = vec![0; 65_536];
            while let Ok(length) = back.recv(&mut buffer).await {
                let client = *client.lock().unwrap();
                if let Some(client) = client {
                    let _ = front.send_to(&buffer[..length], client).await;
                }
            }
        }));
    }

    /// Goes on at another address towards the server.
    pub(super) async fn roam(&self) {
        *self.back.lock().unwrap() = Self::socket().await;
        self.pass_back();
    }

    /// Returns the address for clients.
    pub(super) fn addr(&self) -> Addr {
        self.front.local_addr().unwrap().into()
    }

    /// Returns the last data of a client.
    pub(super) fn last_to_server(&self) -> Vec<u8> {
        self.last.lock().unwrap().clone()
    }

    /// Sends bytes to the server from the relay's address.
    pub(super) async fn send_to_server(&self, bytes: &[u8]) {
        let back = self.back.lock().unwrap().clone();
        back.send_to(bytes, self.server).await.unwrap();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.tasks.get_mut().unwrap().iter().for_each(JoinHandle::abort);
    }
}
