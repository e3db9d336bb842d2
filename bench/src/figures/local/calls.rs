//! Calls by `Rpc` over shared memory against tonic, on common cores.

use super::failed;
use super::round_trip::{ADAPTIVE, unused};
use crate::harness::{Effort, Placement, alternate, meet};
use crate::report::{Budget, Report};
use crate::rpc::{Load, Sample, Socket, by_tonic, echo, make_calls};
use crate::{Error, ErrorKind};
use bertha_chunnels::Rpc;
use bertha_chunnels::rpc::serve;
use bertha_core::make_stack;
use bertha_datapath_shm::{Shm, Waiting};
use bertha_negotiation::Negotiate;
use tokio::sync::oneshot;

/// Budget of calls per second against tonic's over TCP.
const TO_TONIC: Budget = Budget::AtLeast(3.0);

/// Measures calls per second and latencies, in turn.
pub(super) fn measure(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let place = Placement::AcrossCores;
    for in_flight in [1, 64] {
        let calls = effort.pick(4_000, 1_000) * if in_flight == 1 { 1 } else { 5 };
        let load = Load { bytes: 64, in_flight, calls };
        for (waits, waiting) in [("adaptive", ADAPTIVE), ("parked", Waiting::Park)] {
            for (socket, sockets) in [(Socket::Tcp, "TCP"), (Socket::Unix, "a Unix socket")] {
                let name = format!("calls, {in_flight} in flight, Rpc over shared memory ({waits})");
                let name_to = format!("{name} to tonic over {sockets}");
                let pairs = effort.pick(8, 2);
                let paired = alternate(pairs, || by_tonic(socket, place, load), || over_shm(waiting, load));
                let Some(paired) = report.unless_impossible(&name_to, paired)? else { continue };
                report.median(
                    format!("{name}, beside tonic over {sockets}"),
                    &paired.b(),
                    |it| it.per_second,
                    "calls/s",
                );
                report.median(
                    format!("calls, {in_flight} in flight, tonic over {sockets}, beside Rpc ({waits})"),
                    &paired.a(),
                    |it| it.per_second,
                    "calls/s",
                );
                let budget = (waiting == ADAPTIVE).then_some(TO_TONIC);
                report.compare(&format!("{name_to}, calls per second"), &paired, |it| it.per_second, budget);
                report.compare(&format!("{name_to}, p50"), &paired, |it| it.p50_us, None);
            }
        }
    }
    Ok(())
}

fn over_shm(waiting: Waiting, load: Load) -> Result<Sample, Error> {
    let shm = Shm::new().waiting(waiting);
    let (on, (tell, told)) = (unused("calls")?, oneshot::channel());
    meet(
        Placement::AcrossCores,
        || async {
            let mut incoming = make_stack!(Rpc::new()).listen(shm.clone(), on).await.map_err(failed)?;
            let _ = tell.send(incoming.local_addr());
            let Some(connection) = incoming.next_or_refusal().await.transpose().map_err(failed)? else {
                return Ok(());
            };
            serve(connection, echo()).await.map_err(failed)
        },
        || async {
            let server =
                told.await.map_err(Error::while_doing(ErrorKind::Bertha, "waiting for the server"))?;
            make_calls(make_stack!(Rpc::new()).connect(shm.clone(), server).await.map_err(failed)?, load)
                .await
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_calls_are_answered() {
        if crate::harness::usable().unwrap().len() < 2 {
            return;
        }
        let load = Load { bytes: 64, in_flight: 4, calls: 40 };
        for waiting in [ADAPTIVE, Waiting::Park] {
            assert!(over_shm(waiting, load).unwrap().per_second > 0.0);
        }
        assert!(by_tonic(Socket::Unix, Placement::AcrossCores, load).unwrap().per_second > 0.0);
    }
}
