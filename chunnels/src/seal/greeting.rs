//! How a connection begins: each end tells the other its salt.

use super::wire::{self, Arrived, Greeting, SALT};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// How long to wait before a greeting is repeated, at first; doubled each time.
const REPEAT: Duration = Duration::from_millis(50);

/// How long to wait for the other end altogether.
const PATIENCE: Duration = Duration::from_secs(10);

/// What both ends know then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Greeted {
    pub(super) ours: [u8; SALT],
    pub(super) theirs: [u8; SALT],
    /// Whether the other end is known to know ours.
    pub(super) is_known: bool,
}

/// Greets until the other end has.
pub(super) async fn exchange<C>(inner: &C, below: usize) -> Result<Greeted, Error>
where
    C: Connection<Data = Buf>,
{
    let runtime = inner.base().runtime();
    let [a, b] = [runtime.random().to_le_bytes(), runtime.random().to_le_bytes()];
    let mut ours = [0; SALT];
    ours[..8].copy_from_slice(&a);
    ours[8..].copy_from_slice(&b);
    let deadline = runtime.now() + PATIENCE;
    let mut pause = REPEAT;
    while runtime.now() < deadline {
        send(inner, below, Greeting { salt: ours, asks: true }).await?;
        let repeat_at = runtime.now() + pause;
        let waiting = pin!(runtime.sleep_until(repeat_at.min(deadline)));
        let greeting = match select(pin!(hear(inner, ours)), waiting).await {
            Either::Left((greeting, _)) => greeting?,
            Either::Right(_) => {
                pause *= 2;
                continue;
            }
        };
        if greeting.asks {
            send(inner, below, Greeting { salt: ours, asks: false }).await?;
        }
        return Ok(Greeted { ours, theirs: greeting.salt, is_known: !greeting.asks });
    }
    Err(Error::new(ErrorKind::TimedOut, format!("the other end did not greet for {PATIENCE:?}")).at("Seal"))
}

/// Waits for a greeting. Nothing else can be understood before it.
async fn hear<C: Connection<Data = Buf>>(inner: &C, ours: [u8; SALT]) -> Result<Greeting, Error> {
    loop {
        match wire::read(&inner.recv().await?) {
            // Who sends ours back would have both directions use one key.
            Some(Arrived::Greeting(greeting)) if greeting.salt != ours => return Ok(greeting),
            _ => {}
        }
    }
}

/// Sends a greeting. A layer above may have reserved headroom meanwhile, which it does not need.
pub(super) async fn send<C>(inner: &C, below: usize, greeting: Greeting) -> Result<(), Error>
where
    C: Connection<Data = Buf>,
{
    inner.send(Buf::copy_of(&greeting.write(), below)?).await
}
