//! The transfer between two ends in memory and in virtual time. No socket, clock or thread influences it, so it takes the same
//! instructions each time.

use super::bertha::{failed, transport};
use super::{CHUNK, ETHERNET, Setup};
use crate::Error;
use bertha_chunnels::Nothing;
use bertha_core::{Base, Buf, Connection, Supports, Wrap, make_stack};
use bertha_datapath_sim::{PairConnection, Schedule, Sim, SimRuntime, pair};

/// Moves so many messages of 64 KiB through the transport alone.
pub(super) fn plain(messages: usize) -> Result<(), Error> {
    run(&make_stack!(transport(&setup(), 0, make_stack!())), messages)
}

/// The same below a Chunnel that does nothing.
pub(super) fn with_nothing(messages: usize) -> Result<(), Error> {
    run(&make_stack!(Nothing, transport(&setup(), 0, make_stack!())), messages)
}

fn setup() -> Setup {
    Setup { connections: 1, bytes: 0, datagram: ETHERNET }
}

fn run<S>(stack: &S, messages: usize) -> Result<(), Error>
where
    S: Wrap,
    End: Supports<S, Out: Connection<Data = Buf>>,
{
    let mut sim = Sim::new(1).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let (here, there) = pair(sim.runtime());
    let transfer = async {
        let (here, there) = (stack.wrap(here).await?, stack.wrap(there).await?);
        let sending = async {
            let chunks = (0..messages).map_while(|_| {
                let mut message = here.base().buffer(CHUNK).ok()?;
                message.fill(7);
                Some(message)
            });
            here.send_batch(chunks).await
        };
        let receiving = async {
            let (mut received, mut burst) = (0, Vec::new());
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
