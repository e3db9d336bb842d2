//! Round trips of 64 bytes between two cores, one at a time, over base connections: only the datapath is
//! measured.

use super::failed;
use super::ring::{Reader, Writer, ring};
use crate::harness::{Effort, Placement, Recorder, alternate, meet};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_core::{Addr, Base, Connection, Datapath, Listener};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_datapath_shm::{Shm, Waiting};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Number of bytes in a message.
pub(super) const BYTES: usize = 64;

/// Waiting that polls for longer than a round trip of either datapath takes.
pub(super) const ADAPTIVE: Waiting = Waiting::Adaptive { spin_for: Duration::from_micros(100) };

/// Budgets of medians, by shared memory against a ring by hand, and by kernel UDP against shared memory.
const TO_RING: Budget = Budget::AtMost(1.5);
const UDP_TO: Budget = Budget::AtLeast(5.0);

/// Budget of the median by shared memory against kernel TCP, both as they are by default.
const TO_TCP: Budget = Budget::AtMost(1.0);

/// Measures medians in microseconds, in turn.
pub(super) fn measure(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let rounds = effort.pick(50_000, 5_000);
    let pairs = effort.pick(16, 4);
    let shm = |waiting| over(Shm::new().waiting(waiting), unused("round-trip")?, rounds);
    let any: Addr = ([127, 0, 0, 1], 0).into();
    let udp = |waiting| over(Udp::new().waiting(waiting), any.clone(), rounds);
    let name = "round trip of 64 bytes, both poll, p50: shared memory (adaptive) to a ring by hand";
    let paired = alternate(pairs, || by_hand(rounds), || shm(ADAPTIVE));
    let Some(paired) = report.unless_impossible(name, paired)? else { return Ok(()) };
    report.median("round trip of 64 bytes, ring by hand, p50", &paired.a(), |it| *it, "us");
    report.median("round trip of 64 bytes, shared memory (adaptive), p50", &paired.b(), |it| *it, "us");
    report.compare(name, &paired, |it| *it, Some(TO_RING));
    for (waits, waiting) in [("adaptive", ADAPTIVE), ("parked", Waiting::Park)] {
        // The policies are the default of applications, and polling at both ends.
        let paired = alternate(pairs, || shm(waiting), || udp(waiting))?;
        report.median(
            format!("round trip of 64 bytes, kernel UDP ({waits}), p50"),
            &paired.b(),
            |it| *it,
            "us",
        );
        report.median(
            format!("round trip of 64 bytes beside it, shared memory ({waits}), p50"),
            &paired.a(),
            |it| *it,
            "us",
        );
        let budget = (waiting == ADAPTIVE).then_some(UDP_TO);
        let name = format!("round trip of 64 bytes, p50: kernel UDP to shared memory, both {waits}");
        report.compare(&name, &paired, |it| *it, budget);
    }
    let paired = alternate(pairs, || over(Tcp::new(), any.clone(), rounds), || shm(Waiting::Park))?;
    report.median("round trip of 64 bytes, kernel TCP, p50", &paired.a(), |it| *it, "us");
    let name = "round trip of 64 bytes, p50: shared memory (parked) to kernel TCP, both by default";
    report.compare(name, &paired, |it| *it, Some(TO_TCP));
    Ok(())
}

/// Returns an address that no other measurement has.
pub(super) fn unused(what: &str) -> Result<Addr, Error> {
    let name = format!("unix:@bertha-bench-{what}-{:016x}", rand::random::<u64>());
    name.parse().map_err(failed)
}

fn over<D: Datapath + Clone>(datapath: D, on: Addr, rounds: usize) -> Result<f64, Error> {
    let (tell, told) = oneshot::channel();
    let server = datapath.clone();
    meet(
        Placement::AcrossCores,
        || async {
            let listener = server.listen(on).await.map_err(failed)?;
            let _ = tell.send(listener.local_addr());
            let connection = listener.accept().await.map_err(failed)?;
            for _ in 0..rounds + rounds / 10 {
                connection.send(connection.recv().await.map_err(failed)?).await.map_err(failed)?;
            }
            // The client ends the loop.
            connection.recv().await.map_or(Ok(()), |_| Ok(()))
        },
        || async {
            let addr = told.await.map_err(Error::while_doing(ErrorKind::Bertha, "waiting for the echo"))?;
            let connection = datapath.connect(addr).await.map_err(failed)?;
            let mut recorder = Recorder::new()?;
            for round in 0..rounds + rounds / 10 {
                let start = Instant::now();
                let mut message = connection.base().buffer(BYTES).map_err(failed)?;
                message.fill(round as u8);
                connection.send(message).await.map_err(failed)?;
                black_box(connection.recv().await.map_err(failed)?);
                if round >= rounds / 10 {
                    recorder.record(start.elapsed());
                }
            }
            // The datagram ends a server that does not notice the end.
            let _ended = connection.send(connection.base().buffer(1).map_err(failed)?).await;
            connection.close().await.map_err(failed)?;
            Ok(recorder.summary().p50_us)
        },
    )
}

fn by_hand(rounds: usize) -> Result<f64, Error> {
    let ((there, from), (to, back)) = (ring(), ring());
    meet(Placement::AcrossCores, || echo(from, to, rounds), || ask(there, back, rounds))
}

async fn echo(mut from: Reader, mut to: Writer, rounds: usize) -> Result<(), Error> {
    (0..rounds).for_each(|_| to.push(from.pop()));
    Ok(())
}

async fn ask(mut there: Writer, mut back: Reader, rounds: usize) -> Result<f64, Error> {
    let mut recorder = Recorder::new()?;
    for round in 0..rounds {
        let start = Instant::now();
        there.push([round as u64; 8]);
        black_box(back.pop());
        recorder.record(start.elapsed());
    }
    Ok(recorder.summary().p50_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_makes_its_round_trips() {
        if crate::harness::usable().unwrap().len() < 2 {
            return;
        }
        assert!(by_hand(100).unwrap() > 0.0);
        assert!(over(Shm::new().waiting(ADAPTIVE), unused("test").unwrap(), 100).unwrap() > 0.0);
        assert!(over(Udp::new(), ([127, 0, 0, 1], 0).into(), 100).unwrap() > 0.0);
        assert!(over(Tcp::new(), ([127, 0, 0, 1], 0).into(), 100).unwrap() > 0.0);
    }
}
