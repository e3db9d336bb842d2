//! Figure 4.11: Cubic and Copa, by an agent, for three transports: `Reliable`, `quinn` through its interface
//! for congestion controls, and `Reliable` with libccp's datapath. They run over 20 ms, Cubic at 24 Mbit/s
//! and Copa, without its mode for competing flows, at 12.
//!
//! The first two transports run in virtual time. `quinn` takes the keys and numbers of its packets from the
//! system's randomness, so its rows differ a little from run to run; libccp reads the system's clock, for
//! which its simulation waits.

mod of_libccp;

use super::flows::{Course, MESSAGE, PACKET, mean, path, simulation};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_ccp::{AgentEnd, Ccp, Pace, algorithms};
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow};
use bertha_chunnels::{Quic, Reliable, TlsIdentity, Trust};
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Runtime, Supports, Wrap};
use bertha_datapath_sim::{Emulator, Link, Network, SimConnection};
use bertha_plot::{Panel, Series, over_time};
use portus::ipc::BackendBuilder;
use portus::{CCPHandle, CongAlg, RunBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Budget of the share of the link that arrives as messages.
const USES: Budget = Budget::Between(0.9, 1.02);

/// Time of a flow, and time between two samples.
const SECONDS: u64 = 10;
const PERIOD: Duration = Duration::from_millis(10);

/// Measures the rows.
///
/// # Errors
/// Errors of the simulations and of the figure.
pub(super) fn run(report: &mut Report) -> Result<(), Error> {
    let program = match of_libccp::build() {
        Ok(program) => Some(program),
        Err(error) => {
            report.skip("4.11, libccp", &error.to_string());
            None
        }
    };
    let mut panels = Vec::new();
    for (name, panel, control, megabits) in [
        ("Cubic", "Cubic: window (packets)", by_agent(algorithms::Cubic::default())?, 24.0),
        ("Copa", "Copa: window (packets)", by_agent(algorithms::Copa::without_competition())?, 12.0),
    ] {
        let course = course(megabits);
        let mut all = Vec::new();
        for transport in [Transport::Reliable, Transport::Quinn] {
            all.push((transport.name(), transport.run(&control.ccp, &course)?));
        }
        if let Some(program) = &program {
            let rate = course.path.rate.mean() as u64;
            all.push(("libccp", of_libccp::run(program, &name.to_lowercase(), rate, SECONDS)?));
        }
        let mut series = Vec::new();
        for (label, seen) in all {
            report.bounded(format!("4.11, {name} by CCP, {label}: uses"), seen.used, "of the link", USES);
            report.figure(format!("4.11, {name} by CCP, {label}: queues"), mean(&seen.delays), "ms");
            series.push(Series { label: label.to_owned(), points: seen.windows });
        }
        let mark = Some(course.path.product() / PACKET as f64);
        panels.push(Panel { name: panel, series, mark });
    }
    let title = "Cubic at 24 Mbit/s and Copa at 12 by CCP on three datapaths, 20 ms (thesis, figure 4.11)";
    report.draw("congestion-datapaths.svg", over_time(title, &panels))
}

fn course(megabits: f64) -> Course {
    Course::alone(path(megabits, 20), SECONDS, PERIOD, 1)
}

/// An agent in lockstep.
struct Agent {
    ccp: Ccp,
    handle: Option<CCPHandle>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            handle.kill();
            // The agent ends with an error that says that it was stopped.
            handle.wait().unwrap_or_default();
        }
    }
}

fn by_agent<A: CongAlg<AgentEnd> + Send + 'static>(algorithm: A) -> Result<Agent, Error> {
    let (ccp, end) = Ccp::in_process(Pace::Lockstep);
    let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(algorithm);
    let failed = |error: portus::Error| Error::new(ErrorKind::Bertha, "starting an agent").because(error.0);
    Ok(Agent { ccp, handle: Some(agent.spawn_thread().run().map_err(failed)?) })
}

#[derive(Clone, Copy)]
enum Transport {
    Reliable,
    Quinn,
}

/// The course of a flow.
struct Seen {
    /// Share of the link that arrived as messages.
    used: f64,
    /// The delays in the queue, in milliseconds.
    delays: Vec<f64>,
    /// Time in seconds, and window in packets.
    windows: Vec<(f64, f64)>,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Reliable => "Reliable",
            Self::Quinn => "quinn",
        }
    }

    fn run(self, ccp: &Ccp, course: &Course) -> Result<Seen, Error> {
        let window = Arc::default();
        let recorded = Recorded { inner: Arc::new(ccp.clone()), window: Arc::clone(&window) };
        let failed = |error: bertha_core::Error| {
            Error::new(ErrorKind::Bertha, format!("a flow of {}", self.name())).because(error)
        };
        match self {
            Self::Reliable => {
                let client = Reliable::new().packet(PACKET).with(recorded);
                observe(client, Reliable::new().packet(PACKET), window, course).map_err(failed)
            }
            Self::Quinn => {
                let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])
                    .map_err(Error::while_doing(ErrorKind::Bertha, "making a certificate"))?;
                let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem());
                let server = identity.and_then(Quic::server).map_err(failed)?;
                let client =
                    Trust::ca_pem(made.cert.pem()).and_then(|trust| Quic::client("localhost", trust));
                let client = client.map_err(failed)?.packet(PACKET as u16).with(recorded);
                observe(client, server.packet(PACKET as u16), window, course).map_err(failed)
            }
        }
    }
}

/// Observes a flow that always has data to send.
fn observe<S>(
    client: S,
    server: S,
    window: Arc<AtomicU64>,
    course: &Course,
) -> Result<Seen, bertha_core::Error>
where
    S: Wrap + 'static,
    SimConnection: Supports<S, Out: Connection<Data = Buf>>,
{
    let mut sim = simulation(course.seed, Duration::from_secs(60) + course.time);
    let network = sim.network().clone();
    network.set_link_between(CLIENT, SERVER, Link { delay: Duration::ZERO, ..Link::default() });
    network.set_link_between(SERVER, CLIENT, Link { delay: course.path.delay, ..Link::default() });
    network.emulate([(CLIENT, SERVER)], Emulator::new(course.path.clone(), course.seed));
    sim.run(flow(network, course, client, server, window))
}

async fn flow<S>(
    network: Network,
    course: &Course,
    client: S,
    server: S,
    window: Arc<AtomicU64>,
) -> Result<Seen, bertha_core::Error>
where
    S: Wrap + 'static,
    SimConnection: Supports<S, Out: Connection<Data = Buf>>,
{
    let runtime = network.runtime();
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await?;
    let base = network.host(CLIENT).connect(listener.local_addr()).await?;
    let received = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&received);
    let _receiving = runtime.spawn(async move {
        let Ok(base) = listener.accept().await else { return };
        let Ok(connection) = server.wrap(base).await else { return };
        while let Ok(message) = connection.recv().await {
            counter.fetch_add(message.len() as u64, Relaxed);
        }
    });
    let connection = client.wrap(base).await?;
    let _sending = runtime.spawn(async move {
        while let Ok(message) = Buf::new(MESSAGE, 0)
            && connection.send(message).await.is_ok()
        {}
    });
    let count = (course.time.as_nanos() / course.period.as_nanos()) as usize;
    let mut delays = Vec::with_capacity(count);
    let mut windows = Vec::with_capacity(count);
    // The beginning is left out.
    let first = count / 5;
    let mut before = 0;
    for sample in 1..=count {
        runtime.sleep(course.period).await;
        let at = course.period.as_secs_f64() * sample as f64;
        windows.push((at, window.load(Relaxed) as f64 / PACKET as f64));
        match sample {
            _ if sample > first => delays.push(network.queueing_delay(CLIENT, SERVER).as_secs_f64() * 1e3),
            _ => before = received.load(Relaxed),
        }
    }
    let bytes = (received.load(Relaxed) - before) as f64;
    let seconds = course.period.as_secs_f64() * (count - first) as f64;
    Ok(Seen { used: bytes / seconds / course.path.rate.mean(), delays, windows })
}

/// An algorithm whose window can be read.
#[derive(Debug)]
struct Recorded {
    inner: Arc<dyn Algorithm>,
    window: Arc<AtomicU64>,
}

impl Algorithm for Recorded {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        Box::new(Recording { inner: self.inner.start(packet), window: Arc::clone(&self.window) })
    }
}

#[derive(Debug)]
struct Recording {
    inner: Box<dyn CongestionControl>,
    window: Arc<AtomicU64>,
}

impl CongestionControl for Recording {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.inner.on_ack(ack, flow);
        self.window.store(self.inner.window(), Relaxed);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn rate(&self) -> Option<u64> {
        self.inner.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_agent_fills_the_path_over_both_transports() {
        let agent = by_agent(algorithms::Cubic::default()).unwrap();
        for transport in [Transport::Reliable, Transport::Quinn] {
            let seen = transport.run(&agent.ccp, &course(12.0)).unwrap();
            assert!((0.9..1.01).contains(&seen.used), "{} uses {}", transport.name(), seen.used);
            assert!(seen.windows.iter().any(|(_, window)| *window > 20.0), "{}", transport.name());
        }
    }
}
