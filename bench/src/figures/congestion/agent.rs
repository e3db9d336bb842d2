//! Figure 4.7: the time from a report to the effect of an agent's answer, over Unix sockets, in real time.

use super::compiled::Compiled;
use crate::harness::{Effort, percentile};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_ccp::Ccp;
use bertha_ccp::message::{Field, Message, Register, Update};
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

/// A program that reports each acknowledgement of bytes; other acknowledgements only let an answer take
/// effect.
const PROGRAM: &str = "(def (Report (x 0))) (when (> Ack.bytes_acked 0) (report))";

/// Number of the window among the implicit registers.
const WINDOW: u32 = 4;

/// Budget of the 95th percentile in microseconds: at most the thesis's, and not less than two system calls take.
const P95: Budget = Budget::Between(2.0, 30.0);

/// Time after which an agent counts as lost.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Measures the rows.
///
/// # Errors
/// [`ErrorKind::Socket`] if a socket fails, and [`ErrorKind::Stalled`] if no answer comes.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let folder = tempfile::tempdir().map_err(Error::while_doing(ErrorKind::Socket, "making a directory"))?;
    let times = round_trips(folder.path(), effort.pick(20_000, 2_000))?;
    for (label, part, budget) in
        [("median", 0.5, None), ("95th percentile", 0.95, Some(P95)), ("99th percentile", 0.99, None)]
    {
        let value = percentile(&times, part).unwrap_or(f64::NAN);
        let name = format!("4.7, from a report to the effect of the answer, {label}");
        match budget {
            Some(budget) => report.bounded(name, value, "µs", budget),
            None => report.figure(name, value, "µs"),
        }
    }
    Ok(())
}

/// Returns the times in microseconds.
fn round_trips(folder: &Path, count: usize) -> Result<Vec<f64>, Error> {
    let path = folder.join("agent");
    let socket =
        UnixDatagram::bind(&path).map_err(Error::while_doing(ErrorKind::Socket, "binding an agent"))?;
    let compiled = Compiled::of(PROGRAM)?;
    let stopper = socket.try_clone().map_err(Error::while_doing(ErrorKind::Socket, "sharing a socket"))?;
    let agent = std::thread::spawn(move || answer(&socket, &compiled));
    let ccp = Ccp::unix(folder.join("datapath"), &path)
        .map_err(Error::while_doing(ErrorKind::Bertha, "connecting to an agent"))?;
    let mut control = ccp.start(1_352);
    let measured = (0..count + count / 10).map(|_| round_trip(&mut *control)).collect::<Result<Vec<_>, _>>();
    // The shutdown ends the agent's wait for a message.
    let stopped = stopper.shutdown(std::net::Shutdown::Both);
    stopped.map_err(Error::while_doing(ErrorKind::Socket, "stopping an agent"))?;
    let _ends_by_the_shutdown = agent.join();
    // The first times suffer from cold caches.
    Ok(measured?.split_off(count / 10))
}

fn round_trip(control: &mut dyn CongestionControl) -> Result<f64, Error> {
    let before = control.window();
    let begin = Instant::now();
    acknowledge(control, 1_352, Duration::ZERO);
    while control.window() == before {
        acknowledge(control, 0, begin.elapsed());
        if begin.elapsed() > TIME_LIMIT {
            return Err(Error::new(ErrorKind::Stalled, "an agent does not answer"));
        }
        // On a single core, the agent needs the processor.
        std::thread::yield_now();
    }
    Ok(begin.elapsed().as_secs_f64() * 1e6)
}

fn acknowledge(control: &mut dyn CongestionControl, bytes: u64, now: Duration) {
    // A control without a program ignores it: its window must not change by itself.
    let ack = Ack { bytes_acked: bytes, now, ..Ack::default() };
    control.on_ack(&ack, &Flow { rtt_sample_us: 20_000, is_window_unused: true, ..Flow::default() });
}

/// Gives the program to new flows, and answers each report with another window.
fn answer(socket: &UnixDatagram, compiled: &Compiled) -> io::Result<()> {
    let mut bytes = [0; 4_096];
    let mut number = 0;
    loop {
        let (length, sender) = socket.recv_from(&mut bytes)?;
        let Some(sender) = sender.as_pathname().filter(|_| length > 0) else { return Ok(()) };
        match Message::decode(&bytes[..length]) {
            Ok((Message::Create(create), _)) => {
                let change = compiled.change(create.flow, &[]).map_err(io::Error::other)?;
                socket.send_to(&compiled.install, sender)?;
                socket.send_to(&change, sender)?;
                // The first answer is unsolicited: the program runs from then on.
                socket.send_to(&update(create.flow, 100_000), sender)?;
            }
            Ok((Message::Measure(measure), _)) => {
                number += 1;
                socket.send_to(&update(measure.flow, 100_000 + number), sender)?;
            }
            _ => {}
        }
    }
}

fn update(flow: u32, window: u64) -> Vec<u8> {
    let fields = vec![Field { register: Register::Implicit(WINDOW), value: window }];
    let mut bytes = Vec::new();
    // A single field always fits.
    Message::Update(Update { flow, fields }).encode(&mut bytes).unwrap_or_default();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_report_has_its_answer() {
        let folder = tempfile::tempdir().unwrap();
        let times = round_trips(folder.path(), 50).unwrap();
        assert!(times.len() == 50 && times.iter().all(|time| *time > 0.0), "{times:?}");
    }
}
