//! A message there, for the instruction counter.

use super::passing::Passing;
use super::{failed, runtime};
use crate::{Error, ErrorKind};
use bertha_core::{Bottom, BoxFuture, Buf, Connection, Describe, Select, Stack, make_stack, select};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Pick, Runs};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// Whether both ends' connections can change their stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// They can't.
    Fixed,
    /// They can, and never did.
    Upgradable,
    /// They can, and did once.
    Upgraded,
}

impl Cost {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fixed, Self::Upgradable, Self::Upgraded];

    /// The name of its probe.
    pub fn probe(self) -> &'static str {
        match self {
            Self::Fixed => "switch-fixed",
            Self::Upgradable => "switch-upgradable",
            Self::Upgraded => "switch-upgraded",
        }
    }
}

/// Sends so many messages over UDP on one thread, and receives each.
///
/// # Errors
/// Those of the connections; [`ErrorKind::Stalled`] if a message was lost, or the stack did not change.
pub fn probe(cost: Cost, messages: u64) -> Result<(), Error> {
    let work: BoxFuture<'_, _> = match cost {
        Cost::Fixed => Box::pin(fixed(messages)),
        Cost::Upgradable => Box::pin(upgradable(messages, false)),
        Cost::Upgraded => Box::pin(upgradable(messages, true)),
    };
    let in_time = runtime()?.block_on(async { tokio::time::timeout(Duration::from_secs(120), work).await });
    in_time.map_err(Error::while_doing(ErrorKind::Stalled, "waiting for a message"))?.map_err(failed)
}

async fn fixed(messages: u64) -> Result<(), bertha_core::Error> {
    let (from, to) = connect(stack::<0>()).await?;
    there(&from, &to, messages).await
}

/// With `changes`, messages flow until the stack has changed, and only then so many.
async fn upgradable(messages: u64, changes: bool) -> Result<(), bertha_core::Error> {
    let (from, to) = connect(stack::<1>().upgradable()).await?;
    let from = Arc::new(from);
    if changes {
        let changing = from.clone();
        let changing = tokio::spawn(async move { changing.upgrade(Pick::alternative(1)).await.map(drop) });
        while !changing.is_finished() {
            there(&*from, &to, 1).await?;
        }
        changing
            .await
            .unwrap_or_else(|_| Err(bertha_core::Error::new(bertha_core::ErrorKind::Closed, "no change")))?;
    }
    there(&*from, &to, messages).await
}

/// Two alternatives that cost nothing.
fn stack<const STACK: usize>() -> Stack<Select<Layer<STACK>, Layer<STACK>>, Bottom> {
    make_stack!(select!(Passing::<STACK>, Passing::<STACK>))
}

type Layer<const STACK: usize> = Stack<Passing<STACK>, Bottom>;

type Pair<S> = (
    bertha_negotiation::Negotiated<<Udp as Runs<S>>::Out>,
    bertha_negotiation::Negotiated<<Udp as Runs<S>>::Out>,
);

async fn connect<S>(stack: S) -> Result<Pair<S>, bertha_core::Error>
where
    S: Describe + Clone + Send + Sync + 'static,
    Udp: Runs<S>,
{
    let mut incoming = stack.clone().listen(Udp::new(), (Ipv4Addr::LOCALHOST, 0)).await?;
    let server = incoming.local_addr();
    let (connected, accepted) = tokio::join!(stack.connect(Udp::new(), server), incoming.next());
    let nobody = || bertha_core::Error::new(bertha_core::ErrorKind::Closed, "the listener accepted nobody");
    Ok((connected?, accepted.transpose()?.ok_or_else(nobody)?))
}

/// Moves so many messages. Boxed, so that for each stack the loop is compiled by itself and once.
fn there<'a>(
    from: &'a impl Connection<Data = Buf>,
    to: &'a impl Connection<Data = Buf>,
    messages: u64,
) -> BoxFuture<'a, Result<(), bertha_core::Error>> {
    Box::pin(async move {
        let mut message = Buf::copy_of(&[7; 64], 64)?;
        for _ in 0..messages {
            from.send(message).await?;
            message = to.recv().await?;
        }
        Ok(())
    })
}
