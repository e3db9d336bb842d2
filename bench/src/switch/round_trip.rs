//! A message there, for the instruction counter.

use super::{failed, runtime};
use crate::{Error, ErrorKind};
use bertha_chunnels::Nothing;
use bertha_core::{Bottom, Buf, Connection, Describe, Select, Stack, make_stack, select};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Runs};
use std::net::Ipv4Addr;
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
/// Those of the connections; [`ErrorKind::Stalled`] if a message was lost.
pub fn probe(cost: Cost, messages: u64) -> Result<(), Error> {
    let work = async {
        match cost {
            Cost::Fixed => {
                let (from, to) = connect(stack()).await?;
                there(&from, &to, messages).await
            }
            Cost::Upgradable => {
                let (from, to) = connect(stack().upgradable()).await?;
                there(&from, &to, messages).await
            }
            Cost::Upgraded => {
                let (from, to) = connect(stack().upgradable()).await?;
                let receiving = async { to.recv().await.map(drop) };
                let changing = async {
                    from.upgrade(bertha_negotiation::Pick::alternative(1)).await?;
                    // Until both ends have closed the old stack.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    from.send(Buf::copy_of(&[7; 64], 64)?).await
                };
                let pumping = async {
                    let _ = tokio::time::timeout(Duration::from_millis(50), from.recv()).await;
                    Ok(())
                };
                tokio::try_join!(receiving, changing, pumping)?;
                there(&from, &to, messages).await
            }
        }
    };
    let in_time = runtime()?.block_on(async { tokio::time::timeout(Duration::from_secs(120), work).await });
    in_time.map_err(Error::while_doing(ErrorKind::Stalled, "waiting for a message"))?.map_err(failed)
}

/// Two alternatives that cost nothing.
fn stack() -> Stack<Select<Layer, Layer>, Bottom> {
    make_stack!(select!(Nothing, Nothing))
}

type Layer = Stack<Nothing, Bottom>;

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

async fn there(
    from: &impl Connection<Data = Buf>,
    to: &impl Connection<Data = Buf>,
    messages: u64,
) -> Result<(), bertha_core::Error> {
    let mut message = Buf::copy_of(&[7; 64], 64)?;
    for _ in 0..messages {
        from.send(message).await?;
        message = to.recv().await?;
    }
    Ok(())
}
