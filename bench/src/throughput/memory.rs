//! The transfer between two ends in memory and in virtual time. No socket, clock or thread influences it, so
//! it takes an equal number of instructions each time.

use super::bertha::{failed, transport};
use super::{CHUNK, Setup};
use crate::Error;
use crate::harness::ETHERNET;
use bertha_chunnels::Nothing;
use bertha_core::{
    Base, Buf, Carries, Chunnel, ConnectContext, Connection, Identity, PeerLayers, Picks, make_stack,
};
use bertha_datapath_sim::{PairConnection, Schedule, Sim, SimRuntime, pair};

/// Moves this number of messages of 64 KiB through the transport alone.
pub(super) fn plain(messages: usize) -> Result<(), Error> {
    run(&make_stack!(transport(&setup(), 0, make_stack!())), messages)
}

/// Moves messages as `plain` does, above a layer that drops damaged messages, so that `Reliable` needs no
/// check of its own.
pub(super) fn above_a_check(messages: usize) -> Result<(), Error> {
    run(&make_stack!(transport(&setup(), 0, make_stack!(Checks))), messages)
}

/// Moves messages as `plain` does, below a Chunnel that does nothing.
pub(super) fn with_nothing(messages: usize) -> Result<(), Error> {
    run(&make_stack!(Nothing, transport(&setup(), 0, make_stack!())), messages)
}

fn setup() -> Setup {
    Setup { connections: 1, bytes: 0, datagram: ETHERNET }
}

/// A layer in place of a layer that encrypts, without its cost: nothing is damaged here.
#[derive(Debug, Clone, Identity)]
#[chunnel(guarantees(IntegrityChecked))]
struct Checks;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Checks {
    type Connection = Inner;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Inner, bertha_core::Error> {
        Ok(inner)
    }
}

/// Returns an end, as after a negotiation.
async fn end<S: Chunnel<End>>(stack: &S, base: End) -> Result<S::Connection, bertha_core::Error> {
    let layers = PeerLayers::new(stack.nodes(), Vec::new());
    stack.instantiate(base, Picks::new(&[]), ConnectContext::none().with_peer(Some(&layers))).await
}

fn run<S>(stack: &S, messages: usize) -> Result<(), Error>
where
    S: Chunnel<End, Connection: Connection<Data = Buf>>,
{
    let mut sim = Sim::new(1).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let (here, there) = pair(sim.runtime());
    let transfer = async {
        let here = end(stack, here).await?;
        let there = end(stack, there).await?;
        let sending = async {
            let chunks = (0..messages).map_while(|_| {
                // The buffer stays as it is: filling it would count, byte by byte, as work of the transport.
                here.base().buffer(CHUNK).ok()
            });
            here.send_batch(chunks).await
        };
        let receiving = async {
            let mut received = 0;
            let mut burst = Vec::new();
            while received < messages {
                received += there.recv_batch(&mut burst, 64).await?;
                burst.clear();
            }
            Ok(())
        };
        let (sent, received) = futures_util::join!(sending, receiving);
        sent.and(received)
    };
    sim.run(transfer).map_err(failed)
}

type End = PairConnection<SimRuntime>;
