//! The attackers.

use super::{OFFERS, settings, stack};
use crate::{Error, ErrorKind};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::Negotiate;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, sleep, spawn};
use std::time::{Duration, Instant};

/// The most streams that an attacker keeps.
const STREAMS: usize = 4000;

/// A way to keep others out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attack {
    /// None.
    Peace,
    /// A recorded offer, so many times a second, from other addresses of 127.0.0.0/8 each time.
    Replays(u32),
    /// Streams, so many a second, on which nothing is sent.
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

    /// Strikes in a thread of its own until `is_over`.
    pub(super) fn begin<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        server: SocketAddr,
        offer: &'scope [u8],
        is_over: &'scope AtomicBool,
    ) -> Result<(), Error> {
        match self {
            Self::Peace => {}
            Self::Replays(rate) => {
                let sockets = addresses()?;
                scope.spawn(move || {
                    at_rate(rate, is_over, |number| {
                        // A message that the kernel does not take is lost, as on any way.
                        let _ = sockets[number % sockets.len()].send_to(offer, server);
                    });
                });
            }
            Self::Silence(rate) => {
                scope.spawn(move || {
                    let mut kept = std::collections::VecDeque::new();
                    at_rate(rate, is_over, |_| {
                        kept.extend(TcpStream::connect_timeout(&server, Duration::from_millis(100)));
                        if kept.len() > STREAMS {
                            kept.pop_front();
                        }
                    });
                });
            }
        }
        Ok(())
    }
}

/// Sockets in as many networks.
fn addresses() -> Result<Vec<UdpSocket>, Error> {
    let bind = |number: usize| UdpSocket::bind((Ipv4Addr::new(127, 10, (number % 250) as u8, 1), 0));
    let sockets: Result<Vec<_>, _> = (0..OFFERS).map(bind).collect();
    sockets.map_err(Error::while_doing(ErrorKind::Socket, "binding an attacker's socket"))
}

fn at_rate(rate: u32, is_over: &AtomicBool, mut attack: impl FnMut(usize)) {
    let (start, mut made) = (Instant::now(), 0);
    while !is_over.load(Ordering::Relaxed) {
        while f64::from(made) < start.elapsed().as_secs_f64() * f64::from(rate) {
            attack(made as usize);
            made += 1;
        }
        sleep(Duration::from_millis(1));
    }
}

/// An honest client's offer, which reaches no server.
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
    // It is refused for want of an answer.
    let _ = client.join();
    Ok(offer)
}
