//! A message that goes one way, for the instruction counter.

use super::failed;
use crate::Error;
use crate::harness::{in_time, runtime};
use crate::overhead::Following;
use bertha_core::{Bottom, BoxFuture, Buf, Connection, Describe, Select, Stack, make_stack, select};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Pick, Runs, Upgradable};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// The ability of both ends' connections to change their stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// The connections can't change their stack.
    Fixed,
    /// The connections can change their stack, and never did.
    Upgradable,
    /// The connections can change their stack, and did once.
    Upgraded,
}

impl Cost {
    /// All kinds of connections.
    pub(crate) const ALL: [Self; 3] = [Self::Fixed, Self::Upgradable, Self::Upgraded];

    /// Returns the name of the probe.
    pub(crate) fn probe(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Upgradable => "upgradable",
            Self::Upgraded => "upgraded",
        }
    }
}

/// Sends this number of messages over UDP in a single thread, `burst` at a time, and receives each. With a
/// burst of 1 they are sent and received one by one.
///
/// # Errors
/// Errors of the connections; [`ErrorKind::Stalled`](crate::ErrorKind::Stalled) if a message was lost, or the
/// stack did not change.
pub(crate) fn probe(cost: Cost, burst: usize, messages: u64) -> Result<(), Error> {
    let work = match cost {
        Cost::Fixed => moved(Box::pin(connect(stack::<0>())), burst, messages),
        Cost::Upgradable => moved(Box::pin(connect(stack::<1>().upgradable())), burst, messages),
        Cost::Upgraded => moved(Box::pin(changed()), burst, messages),
    };
    runtime()?.block_on(in_time(async { work.await.map_err(failed) }))
}

/// Performs equal steps for all kinds, so that only their connections differ.
fn moved<C: Connection<Data = Buf> + 'static>(
    pair: BoxFuture<'static, Result<(C, C), bertha_core::Error>>,
    burst: usize,
    messages: u64,
) -> BoxFuture<'static, Result<(), bertha_core::Error>> {
    Box::pin(async move {
        let (from, to) = pair.await?;
        match burst {
            1 => there(&from, &to, messages).await,
            _ => there_in_bursts(&from, &to, burst, messages).await,
        }
    })
}

/// Returns two ends that have changed their stack while messages flowed.
async fn changed() -> Result<Pair<Upgradable<Layers<1>>>, bertha_core::Error> {
    let closed = |what| bertha_core::Error::new(bertha_core::ErrorKind::Closed, what);
    let (from, to) = connect(stack::<1>().upgradable()).await?;
    let from = Arc::new(from);
    let changing = from.clone();
    let changing = tokio::spawn(async move { changing.upgrade(Pick::alternative(1)).await.map(drop) });
    while !changing.is_finished() {
        there(&*from, &to, 1).await?;
    }
    changing.await.unwrap_or_else(|_| Err(closed("no change")))?;
    Ok((Arc::into_inner(from).ok_or_else(|| closed("the connection is still being changed"))?, to))
}

/// Returns two alternatives that cost next to nothing.
fn stack<const STACK: usize>() -> Layers<STACK> {
    make_stack!(select!(Following::<STACK>, Following::<STACK>))
}

type Layers<const STACK: usize> = Stack<Select<Layer<STACK>, Layer<STACK>>, Bottom>;
type Layer<const STACK: usize> = Stack<Following<STACK>, Bottom>;

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
    let (connected, accepted) = tokio::join!(stack.connect(Udp::new(), server), incoming.next_or_refusal());
    let nobody =
        || bertha_core::Error::new(bertha_core::ErrorKind::Closed, "the listener accepted no client");
    Ok((connected?, accepted.transpose()?.ok_or_else(nobody)?))
}

/// Moves this number of messages. The future is boxed, so that for each stack the loop is compiled by itself
/// and once.
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

/// Moves messages in bursts. Received messages are sent again.
fn there_in_bursts<'a>(
    from: &'a impl Connection<Data = Buf>,
    to: &'a impl Connection<Data = Buf>,
    burst: usize,
    messages: u64,
) -> BoxFuture<'a, Result<(), bertha_core::Error>> {
    Box::pin(async move {
        let mut burst: Vec<_> = (0..burst).map(|_| Buf::copy_of(&[7; 64], 64)).collect::<Result<_, _>>()?;
        let len = burst.len();
        for _ in 0..messages / len as u64 {
            from.send_batch(burst.drain(..)).await?;
            while burst.len() < len {
                let missing = len - burst.len();
                to.recv_batch(&mut burst, missing).await?;
            }
        }
        Ok(())
    })
}
