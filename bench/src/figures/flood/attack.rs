//! The attackers.

use super::{OFFERS, settings, stack};
use crate::{Error, ErrorKind};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::Negotiate;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// Largest number of streams that an attacker keeps.
const STREAMS: usize = 4000;

/// A way to keep other clients out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attack {
    /// No attack.
    Peace,
    /// A recorded offer, this number of times a second, from another address each time.
    Replays(u32),
    /// Streams without any data, this number a second.
    Silence(u32),
}

impl Attack {
    pub(super) fn name(self) -> String {
        match self {
            Self::Peace => "no flood".into(),
            Self::Replays(rate) => format!("{rate} replayed offers a second"),
            Self::Silence(rate) => format!("{rate} silent streams a second"),
        }
    }

    /// Starts the attack in a thread of its own, over the kernel's sockets, from other addresses of
    /// 127.0.0.0/8.
    pub(super) fn begin(self, server: SocketAddr, offer: &[u8]) -> Result<Underway, Error> {
        match self {
            Self::Peace => Ok(Underway::default()),
            Self::Replays(rate) => {
                let sockets = addresses()?;
                let offer = offer.to_vec();
                Ok(Underway::at_rate(rate, move |number| {
                    // A message that the kernel does not take is lost, as on any path.
                    let _ = sockets[number % sockets.len()].send_to(&offer, server);
                }))
            }
            Self::Silence(rate) => {
                let mut kept = std::collections::VecDeque::new();
                Ok(Underway::at_rate(rate, move |_| {
                    kept.extend(TcpStream::connect_timeout(&server, Duration::from_millis(100)));
                    if kept.len() > STREAMS {
                        kept.pop_front();
                    }
                }))
            }
        }
    }
}

/// An attack, which lasts until the value is dropped.
#[derive(Debug, Default)]
pub(super) struct Underway {
    is_over: Arc<AtomicBool>,
    attacker: Option<JoinHandle<()>>,
}

impl Underway {
    fn at_rate(rate: u32, mut attack: impl FnMut(usize) + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let attacker = spawn(move || {
            let mut pace = Pace::new();
            while !over.load(Ordering::Relaxed) {
                while let Some(number) = pace.next(rate) {
                    attack(number);
                }
                sleep(Duration::from_millis(1));
            }
        });
        Self { is_over, attacker: Some(attacker) }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.attacker.take().map(JoinHandle::join);
    }
}

/// The times of strikes.
#[derive(Debug)]
pub(super) struct Pace {
    start: Instant,
    made: u32,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), made: 0 }
    }

    /// Returns the number of the strike that is due, at `rate` strikes a second.
    pub(super) fn next(&mut self, rate: u32) -> Option<usize> {
        let is_due = f64::from(self.made) < self.start.elapsed().as_secs_f64() * f64::from(rate);
        is_due.then(|| {
            self.made += 1;
            self.made as usize - 1
        })
    }
}

/// Returns sockets in different networks.
fn addresses() -> Result<Vec<UdpSocket>, Error> {
    let bind = |number: usize| UdpSocket::bind((Ipv4Addr::new(127, 10, (number % 250) as u8, 1), 0));
    let sockets: Result<Vec<_>, _> = (0..OFFERS).map(bind).collect();
    sockets.map_err(Error::while_doing(ErrorKind::Socket, "binding an attacker's socket"))
}

/// Returns an honest client's offer, which reaches no server.
pub(super) fn recorded() -> Result<Vec<u8>, Error> {
    let doing = || Error::while_doing(ErrorKind::Socket, "recording an offer");
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(doing())?;
    let addr = socket.local_addr().map_err(doing())?;
    let client = spawn(move || {
        let mut settings = settings();
        settings.handshake_timeout = Duration::from_millis(50);
        let connecting = async { stack().connect(Udp::new(), addr).settings(settings).await.map(drop) };
        crate::harness::runtime().map(|runtime| runtime.block_on(connecting))
    });
    let mut offer = vec![0; 2048];
    let len = socket.recv(&mut offer).map_err(doing())?;
    offer.truncate(len);
    // The client is refused, since it gets no answer.
    let _ = client.join();
    Ok(offer)
}
