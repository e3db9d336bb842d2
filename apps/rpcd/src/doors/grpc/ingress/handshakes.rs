//! The handshakes of TLS with callers, whose time and number are bounded.

use crate::admission::grpc_tls::FailedHandshakes;
use crate::doors::handshake_turns::HandshakeTurns;
use bertha::chunnels::Tls;
use bertha_core::{Error, ErrorKind};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Maximum number of handshakes at once. The one that has taken longest is given up for a newcomer, so that those who say nothing keep
/// nobody out.
const HANDSHAKES: usize = 256;

/// Time in which a caller has to complete the handshake.
const SHAKEN: Duration = Duration::from_secs(5);

/// Time in which a caller that was refused may read the reason.
const READ: Duration = Duration::from_secs(1);

/// Number of bytes that such a caller may have sent meanwhile.
const SENT: u64 = 64 << 10;

/// The handshakes with callers.
#[derive(Debug)]
pub(super) struct Handshakes {
    tls: Tls,
    /// The handshakes under way, the longest first. One whose sender is dropped is given up.
    under_way: Mutex<VecDeque<oneshot::Sender<()>>>,
    turns: HandshakeTurns,
    failed: FailedHandshakes,
}

impl Handshakes {
    pub(super) fn new(tls: Tls) -> Self {
        Self {
            tls,
            under_way: Mutex::default(),
            turns: HandshakeTurns::default(),
            failed: FailedHandshakes::default(),
        }
    }

    /// Completes the handshake with a caller.
    ///
    /// # Errors
    /// The reason why it has failed, which the caller and the log have been told: [`TimedOut`](ErrorKind::TimedOut) for one that took too long,
    /// and [`Exhausted`](ErrorKind::Exhausted) for one whose place a newcomer has.
    pub(super) async fn shake<'a>(
        &'a self,
        socket: &'a mut TcpStream,
        peer: SocketAddr,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin, Error> {
        let addr = peer.into();
        let place = self.enter();
        let shaking = self.turns.complete(self.tls.stream(socket, &addr));
        let shaken = tokio::select! {
            shaken = timeout(SHAKEN, shaking) => shaken.unwrap_or_else(|_| Err(late())),
            _ = place => Err(given_up()),
        };
        shaken.inspect_err(|error| self.failed.tell(peer, error))
    }

    /// Takes a place, from which a later handshake may drive this one.
    fn enter(&self) -> oneshot::Receiver<()> {
        let (place, given_up) = oneshot::channel();
        let mut under_way = self.under_way.lock();
        under_way.retain(|place| !place.is_closed());
        if under_way.len() >= HANDSHAKES {
            under_way.pop_front();
        }
        under_way.push_back(place);
        given_up
    }
}

/// Lets a caller that was refused read the reason: a socket that is closed with bytes that were not read resets its connection.
pub(super) async fn part(mut socket: TcpStream) {
    let reading = async {
        socket.shutdown().await?;
        tokio::io::copy(&mut socket.take(SENT), &mut tokio::io::sink()).await
    };
    // A caller that reads no reason wants none.
    let _read = timeout(READ, reading).await;
}

#[cold]
fn late() -> Error {
    Error::new(
        ErrorKind::TimedOut,
        format!("the caller did not complete the TLS handshake within {SHAKEN:?}"),
    )
}

#[cold]
fn given_up() -> Error {
    let what = format!("{HANDSHAKES} handshakes were under way, and this one for longest");
    Error::new(ErrorKind::Exhausted, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha::chunnels::TlsIdentity;
    use futures_util::FutureExt;
    use std::sync::Arc;
    use tokio::net::TcpListener;
    use tokio::task::{JoinSet, yield_now};

    fn handshakes() -> Handshakes {
        let made = rcgen::generate_simple_self_signed(["daemon".to_owned()]).unwrap();
        let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
        Handshakes::new(Tls::server(identity).unwrap())
    }

    #[test]
    fn the_longest_handshake_gives_its_place_to_a_newcomer() {
        let handshakes = handshakes();
        let mut places: VecDeque<_> = (0..HANDSHAKES).map(|_| handshakes.enter()).collect();
        // One that is done needs no place.
        drop(places.remove(3));
        places.push_back(handshakes.enter());
        assert!(places.iter_mut().all(|place| place.now_or_never().is_none()));
        places.push_back(handshakes.enter());
        let is_given_up: Vec<_> = places.iter_mut().map(|place| place.now_or_never().is_some()).collect();
        assert_eq!(is_given_up.iter().position(|is_given_up| *is_given_up), Some(0));
        assert_eq!(is_given_up.iter().filter(|is_given_up| **is_given_up).count(), 1);
    }

    #[tokio::test]
    async fn others_run_between_the_handshakes_of_many_callers() {
        let (handshakes, listener) =
            (Arc::new(handshakes()), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let (mut callers, mut taken) = (Vec::new(), Vec::new());
        for _ in 0..32 {
            let mut caller = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            caller.write_all(b"no handshake").await.unwrap();
            callers.push(caller);
            taken.push(listener.accept().await.unwrap());
            taken.last().unwrap().0.readable().await.unwrap();
        }
        let mut shaking = JoinSet::new();
        for (mut socket, peer) in taken {
            let handshakes = Arc::clone(&handshakes);
            shaking.spawn(async move { handshakes.shake(&mut socket, peer).await.is_ok() });
        }
        while !shaking.is_empty() {
            yield_now().await;
            let ended = std::iter::from_fn(|| shaking.try_join_next())
                .inspect(|ended| assert_eq!(ended.as_ref().ok(), Some(&false)));
            assert!(ended.count() <= 1, "this task runs between two steps");
        }
    }
}
