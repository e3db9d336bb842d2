//! How a connection begins: each end tells the other its salt, and shows that it has the same key and transcript.

use super::keys::Bond;
use super::wire::{self, Arrived, Greeting, SALT};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::{Duration, Instant};

/// How long to wait before a greeting is repeated, at first; doubled each time.
const REPEAT: Duration = Duration::from_millis(50);

/// How long to wait for the other end altogether.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait for it once a greeting without the right proof has come. That may be forged, so it is not believed at once.
const DOUBT: Duration = Duration::from_secs(1);

/// What both ends know then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Greeted {
    /// What this end says.
    pub(super) ours: Greeting,
    /// The other end's salt.
    pub(super) theirs: [u8; SALT],
    /// Whether the other end is known to know ours.
    pub(super) is_known: bool,
}

/// Greets until the other end has.
pub(super) async fn exchange<C>(inner: &C, below: usize, bond: &Bond) -> Result<Greeted, Error>
where
    C: Connection<Data = Buf>,
{
    let runtime = inner.base().runtime();
    let [a, b] = [runtime.random().to_le_bytes(), runtime.random().to_le_bytes()];
    let mut salt = [0; SALT];
    salt[..8].copy_from_slice(&a);
    salt[8..].copy_from_slice(&b);
    let ours = Greeting { salt, asks: true, proof: bond.proof(salt) };
    let mut deadline = runtime.now() + PATIENCE;
    let mut has_strangers = false;
    let (mut pause, mut repeat_at) = (REPEAT, runtime.now());
    loop {
        let now = runtime.now();
        if now >= deadline {
            return Err(if has_strangers { stranger() } else { silence() });
        }
        if now >= repeat_at {
            send(inner, below, ours).await?;
            (repeat_at, pause) = (now + pause, pause * 2);
        }
        let Some(greeting) = hear(inner, salt, repeat_at.min(deadline)).await? else { continue };
        if !bond.is_proof(greeting.salt, &greeting.proof) {
            if !has_strangers {
                (has_strangers, deadline) = (true, deadline.min(now + DOUBT));
            }
            continue;
        }
        if greeting.asks {
            send(inner, below, Greeting { asks: false, ..ours }).await?;
        }
        return Ok(Greeted { ours, theirs: greeting.salt, is_known: !greeting.asks });
    }
}

/// Waits for a greeting until `deadline`. Nothing else can be understood before it.
async fn hear<C: Connection<Data = Buf>>(
    inner: &C,
    ours: [u8; SALT],
    deadline: Instant,
) -> Result<Option<Greeting>, Error> {
    let greeting = async {
        loop {
            match wire::read(&inner.recv().await?) {
                // Who sends ours back would have both directions use one key.
                Some(Arrived::Greeting(greeting)) if greeting.salt != ours => return Ok(greeting),
                _ => {}
            }
        }
    };
    let waiting = pin!(inner.base().runtime().sleep_until(deadline));
    match select(pin!(greeting), waiting).await {
        Either::Left((greeting, _)) => greeting.map(Some),
        Either::Right(_) => Ok(None),
    }
}

/// Sends a greeting. A layer above may have reserved headroom meanwhile, which it does not need.
pub(super) async fn send<C>(inner: &C, below: usize, greeting: Greeting) -> Result<(), Error>
where
    C: Connection<Data = Buf>,
{
    inner.send(Buf::copy_of(&greeting.write(), below)?).await
}

#[cold]
fn silence() -> Error {
    Error::new(ErrorKind::TimedOut, format!("the other end did not greet for {PATIENCE:?}")).at("Seal")
}

#[cold]
fn stranger() -> Error {
    let what =
        "who greets has another key, or has agreed on something else: the agreement was altered on its way";
    Error::new(ErrorKind::Unauthenticated, what).at("Seal")
}
