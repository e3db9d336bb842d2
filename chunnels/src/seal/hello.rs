//! The handshake: each end sends its salt, with a proof of the key and the transcript.

use super::keys::BoundSecret;
use super::wire::{self, Arrived, Hello, SALT};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::{Duration, Instant};

/// The time after which a hello is repeated at first; doubled each time.
const REPEAT: Duration = Duration::from_millis(50);

/// The time-out of the handshake.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The time-out after a hello with a wrong proof, which may be forged, so that a genuine one is still waited for.
const DOUBT_TIMEOUT: Duration = Duration::from_secs(1);

/// The result of the handshake.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreed {
    /// The hello of this end.
    pub(super) ours: Hello,
    /// The other end's salt.
    pub(super) theirs: [u8; SALT],
    /// Whether the other end has shown that it knows the salt of this end.
    pub(super) is_known: bool,
}

/// Repeats hellos until the other end has answered.
pub(super) async fn exchange<C>(inner: &C, below: usize, bound: &BoundSecret) -> Result<Agreed, Error>
where
    C: Connection<Data = Buf>,
{
    let runtime = inner.base().runtime();
    let [a, b] = [runtime.random().to_le_bytes(), runtime.random().to_le_bytes()];
    let mut salt = [0; SALT];
    salt[..8].copy_from_slice(&a);
    salt[8..].copy_from_slice(&b);
    let ours = Hello { salt, asks: true, proof: bound.proof(salt) };
    let mut deadline = runtime.now() + TIMEOUT;
    let mut has_wrong_proof = false;
    let (mut pause, mut repeat_at) = (REPEAT, runtime.now());
    loop {
        let now = runtime.now();
        if now >= deadline {
            return Err(if has_wrong_proof { wrong_proof() } else { no_answer() });
        }
        if now >= repeat_at {
            send(inner, below, ours).await?;
            (repeat_at, pause) = (now + pause, pause * 2);
        }
        let Some(hello) = recv(inner, salt, repeat_at.min(deadline)).await? else { continue };
        if !bound.is_proof(hello.salt, &hello.proof) {
            if !has_wrong_proof {
                (has_wrong_proof, deadline) = (true, deadline.min(now + DOUBT_TIMEOUT));
            }
            continue;
        }
        if hello.asks {
            send(inner, below, Hello { asks: false, ..ours }).await?;
        }
        return Ok(Agreed { ours, theirs: hello.salt, is_known: !hello.asks });
    }
}

/// Waits for a hello until `deadline`. Messages before it can't be decrypted, and are dropped.
async fn recv<C: Connection<Data = Buf>>(
    inner: &C,
    ours: [u8; SALT],
    deadline: Instant,
) -> Result<Option<Hello>, Error> {
    let hello = async {
        loop {
            match wire::decode(&inner.recv().await?) {
                // A reflected salt would give both directions one key.
                Some(Arrived::Hello(hello)) if hello.salt != ours => return Ok(hello),
                _ => {}
            }
        }
    };
    let waiting = pin!(inner.base().runtime().sleep_until(deadline));
    match select(pin!(hello), waiting).await {
        Either::Left((hello, _)) => hello.map(Some),
        Either::Right(_) => Ok(None),
    }
}

/// Sends a hello, without the headroom that layers above may have reserved.
pub(super) async fn send<C>(inner: &C, below: usize, hello: Hello) -> Result<(), Error>
where
    C: Connection<Data = Buf>,
{
    inner.send(Buf::copy_of(&hello.encode(), below)?).await
}

#[cold]
fn no_answer() -> Error {
    Error::new(ErrorKind::TimedOut, format!("the other end did not answer for {TIMEOUT:?}")).at("Seal")
}

#[cold]
fn wrong_proof() -> Error {
    let what = "the other end has another key, or another transcript: the negotiation was altered on its way";
    Error::new(ErrorKind::Unauthenticated, what).at("Seal")
}
