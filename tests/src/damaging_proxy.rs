//! A proxy that forwards datagrams, damages some of them, and computes UDP's checksum anew, as some
//! middleboxes do.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::net::UdpSocket;
use tokio::task::{JoinHandle, JoinSet};

/// Number of datagrams among which one datagram is damaged.
const DAMAGED: u64 = 16;

/// Number of bytes in the longest datagram.
const LONGEST: usize = 65_536;

/// A proxy that forwards datagrams between clients and a server, and flips a bit of one datagram in sixteen.
/// It ends when it is dropped.
#[derive(Debug)]
pub struct DamagingProxy {
    addr: SocketAddr,
    damage: Arc<Damage>,
    task: JoinHandle<()>,
}

/// The choice of flipped bits, and their number.
#[derive(Debug)]
struct Damage {
    state: AtomicU64,
    done: AtomicU64,
}

impl DamagingProxy {
    /// Starts a proxy in front of `server`, at a port of its own. With equal seeds, equal datagrams are
    /// damaged, in the order in which they arrive.
    /// # Panics
    /// Panics without a free port.
    pub async fn start(server: SocketAddr, seed: u64) -> Self {
        let front = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap());
        let damage = Arc::new(Damage { state: AtomicU64::new(seed), done: AtomicU64::new(0) });
        let addr = front.local_addr().unwrap();
        let task = tokio::spawn(forward(front, server, damage.clone()));
        Self { addr, damage, task }
    }

    /// Returns the address of the proxy.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the number of damaged datagrams.
    pub fn damaged(&self) -> u64 {
        self.damage.done.load(Relaxed)
    }
}

impl Drop for DamagingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Damage {
    /// Draws a number by SplitMix64.
    fn draw(&self) -> u64 {
        let mut z = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn do_to(&self, datagram: &mut [u8]) {
        if !datagram.is_empty() && self.draw().is_multiple_of(DAMAGED) {
            let bit = self.draw() % (8 * datagram.len() as u64);
            datagram[(bit / 8) as usize] ^= 1 << (bit % 8);
            self.done.fetch_add(1, Relaxed);
        }
    }
}

async fn forward(front: Arc<UdpSocket>, server: SocketAddr, damage: Arc<Damage>) {
    let (mut backs, mut replying) = (HashMap::<_, Arc<UdpSocket>>::new(), JoinSet::new());
    let mut datagram = vec![0; LONGEST];
    loop {
        let Ok((length, client)) = front.recv_from(&mut datagram).await else { continue };
        let back = match backs.entry(client) {
            Entry::Occupied(back) => back.into_mut(),
            Entry::Vacant(none) => {
                let back = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap());
                back.connect(server).await.unwrap();
                replying.spawn(reply(back.clone(), front.clone(), client, damage.clone()));
                none.insert(back)
            }
        };
        damage.do_to(&mut datagram[..length]);
        // A datagram that can't be sent is lost.
        let _ = back.send(&datagram[..length]).await;
    }
}

async fn reply(back: Arc<UdpSocket>, front: Arc<UdpSocket>, client: SocketAddr, damage: Arc<Damage>) {
    let mut datagram = vec![0; LONGEST];
    loop {
        let Ok(length) = back.recv(&mut datagram).await else { continue };
        damage.do_to(&mut datagram[..length]);
        let _ = front.send_to(&datagram[..length], client).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of datagrams that are sent, one at a time.
    const SENT: u64 = 400;

    #[tokio::test]
    async fn damaged_datagrams_differ_in_one_bit() {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let proxy = DamagingProxy::start(server.local_addr().unwrap(), 1).await;
        let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        client.connect(proxy.addr()).await.unwrap();
        let (mut datagram, mut flipped) = ([0; 100], 0);
        for _ in 0..SENT {
            client.send(&[0; 64]).await.unwrap();
            let (length, from) = server.recv_from(&mut datagram).await.unwrap();
            flipped += datagram[..length].iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            assert_eq!(length, 64);
            server.send_to(&[0xff; 32], from).await.unwrap();
            let length = client.recv(&mut datagram).await.unwrap();
            flipped += datagram[..length].iter().map(|byte| u64::from(byte.count_zeros())).sum::<u64>();
            assert_eq!(length, 32);
        }
        assert!(flipped > 0 && flipped < SENT / 2, "{flipped}");
        assert_eq!(flipped, proxy.damaged());
    }
}
