//! Messages of 64 bytes per second in one direction, between two cores.

use super::failed;
use super::ring::ring;
use super::round_trip::{ADAPTIVE, BYTES, unused};
use crate::harness::{Effort, Placement, alternate, meet};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_core::{Base, Connection, Datapath, Listener};
use bertha_datapath_shm::Shm;
use std::hint::black_box;
use std::time::Instant;
use tokio::sync::oneshot;

/// Number of messages that are passed on in a call.
const BURST: usize = 32;

/// Budget of shared memory against a ring by hand.
const TO_RING: Budget = Budget::AtLeast(0.5);

/// Measures messages per second, in turn.
pub(super) fn measure(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let messages = effort.pick(2_000_000, 200_000);
    let pairs = effort.pick(16, 4);
    let name = "64-byte messages per second, shared memory (adaptive) to a ring by hand";
    let paired = alternate(pairs, || by_hand(messages), || over_shm(messages));
    let Some(paired) = report.unless_impossible(name, paired)? else { return Ok(()) };
    report.median("64-byte messages, ring by hand", &paired.a(), |it| *it, "messages/s");
    report.median("64-byte messages, shared memory (adaptive)", &paired.b(), |it| *it, "messages/s");
    report.compare(name, &paired, |it| *it, Some(TO_RING));
    Ok(())
}

fn by_hand(messages: usize) -> Result<f64, Error> {
    let ((mut there, mut from), (mut to, mut back)) = (ring(), ring());
    meet(
        Placement::AcrossCores,
        || async move {
            (0..messages).for_each(|_| {
                black_box(from.pop());
            });
            to.push([0; 8]);
            Ok(())
        },
        || async move {
            let start = Instant::now();
            (0..messages).for_each(|at| there.push([at as u64; 8]));
            back.pop();
            Ok(messages as f64 / start.elapsed().as_secs_f64())
        },
    )
}

fn over_shm(messages: usize) -> Result<f64, Error> {
    let shm = Shm::new().waiting(ADAPTIVE);
    let (on, (tell, told)) = (unused("flow")?, oneshot::channel());
    meet(
        Placement::AcrossCores,
        || async {
            let listener = shm.listen(on).await.map_err(failed)?;
            let _ = tell.send(listener.local_addr());
            let connection = listener.accept().await.map_err(failed)?;
            let mut received = 0;
            let mut burst = Vec::new();
            while received < messages {
                received += connection.recv_batch(&mut burst, BURST).await.map_err(failed)?;
                burst.clear();
            }
            connection.send(connection.base().buffer(1).map_err(failed)?).await.map_err(failed)?;
            // The client ends the loop.
            connection.recv().await.map_or(Ok(()), |_| Ok(()))
        },
        || async {
            let addr =
                told.await.map_err(Error::while_doing(ErrorKind::Bertha, "waiting for the receiver"))?;
            let connection = shm.connect(addr).await.map_err(failed)?;
            let start = Instant::now();
            let mut left = messages;
            while left > 0 {
                let count = left.min(BURST);
                let burst = (0..count).filter_map(|at| {
                    let mut message = connection.base().buffer(BYTES).ok()?;
                    message.fill(at as u8);
                    Some(message)
                });
                connection.send_batch(burst).await.map_err(failed)?;
                left -= count;
            }
            connection.recv().await.map_err(failed)?;
            Ok(messages as f64 / start.elapsed().as_secs_f64())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_messages_arrive() {
        if crate::harness::usable().unwrap().len() < 2 {
            return;
        }
        assert!(by_hand(5_000).unwrap() > 0.0);
        assert!(over_shm(5_000).unwrap() > 0.0);
    }
}
