//! A single flow over a single link, and its window over time.

use super::link::{Link, PACKET};
use super::qlog::Live;
use crate::{Error, ErrorKind};
use bertha_chunnels::congestion::{Bbr, Cubic, NewReno};
use bertha_chunnels::reliable::{Reliable, ReliableConnection};
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Wrap};
use bertha_datapath_sim::{Network, Schedule, Sim, SimConnection};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Size of a message that fills a packet, with its header of about 15 bytes.
const MESSAGE: usize = 1_337;

/// Number of samples, at equal distances.
const SAMPLES: u32 = 1_000;

/// A congestion control and its name.
pub(super) type Algorithm = (&'static str, fn() -> Reliable);

/// The controls that are compared.
pub(super) const ALGORITHMS: [Algorithm; 3] = [
    ("NewReno", || Reliable::new().with(NewReno)),
    ("Cubic", || Reliable::new().with(Cubic)),
    ("BBR", || Reliable::new().with(Bbr)),
];

/// The state at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    /// Time since the flow began.
    pub(super) at: Duration,
    /// The congestion window of the statistics, in packets.
    pub(super) window: f64,
    /// The congestion window of the qlog, in packets, which is drawn.
    pub(super) logged: f64,
    /// Delay in the queue of a packet that arrives now.
    pub(super) queueing: Duration,
}

/// The history of a flow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trace {
    /// Time of the simulation at which the flow began.
    since: Duration,
    /// The samples, in order.
    pub(super) samples: Vec<Sample>,
    /// Share of the link that was used after the first fifth of the time.
    pub(super) utilisation: f64,
}

impl Trace {
    /// Returns the mean delay in the queue, after the first fifth of the time.
    pub(super) fn queueing(&self) -> Duration {
        let late = &self.samples[self.samples.len() / 5..];
        late.iter().map(|sample| sample.queueing).sum::<Duration>() / late.len().max(1) as u32
    }
}

/// Follows a flow with this stack over `link`.
///
/// # Errors
/// [`ErrorKind::Bertha`] if the simulated connection fails.
pub(super) fn follow(stack: Reliable, link: Link, seed: u64) -> Result<Trace, Error> {
    let mut sim = Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let network = sim.network().clone();
    let [out, back] = link.directions();
    network.set_link_between(CLIENT, SERVER, out);
    network.set_link_between(SERVER, CLIENT, back);
    sim.run(transfer(network, stack.packet(PACKET), link))
        .map_err(Error::while_doing(ErrorKind::Bertha, format!("a flow over {link}")))
}

async fn transfer(network: Network, stack: Reliable, link: Link) -> Result<Trace, bertha_core::Error> {
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await?;
    let live = Live::default();
    let begun = network.runtime().elapsed();
    let logged = stack.clone().qlog(live.qlog());
    let client = logged.wrap(network.host(CLIENT).connect(listener.local_addr()).await?).await?;
    client.send(Buf::new(MESSAGE, 0)?).await?;
    let server = stack.wrap(listener.accept().await?).await?;
    let received = AtomicU64::new(0);
    let flow = async {
        futures_util::future::try_join(fill(&client), empty(&server, &received)).await.map(|(never, _)| never)
    };
    match select(pin!(flow), pin!(sample(&network, &client, link, &received))).await {
        Either::Left((ended, _)) => ended.map(|never: Never| match never {}),
        Either::Right((mut trace, _)) => {
            let (history, since) = (live.history(), trace.since - begun);
            trace.samples.iter_mut().for_each(|sample| sample.logged = history.window_at(since + sample.at));
            Ok(trace)
        }
    }
}

enum Never {}

type Flow = ReliableConnection<SimConnection>;

async fn fill(client: &Flow) -> Result<Never, bertha_core::Error> {
    loop {
        client.send(Buf::new(MESSAGE, 0)?).await?;
    }
}

async fn empty(server: &Flow, received: &AtomicU64) -> Result<Never, bertha_core::Error> {
    let mut burst = Vec::new();
    loop {
        server.recv_batch(&mut burst, 64).await?;
        received.fetch_add(burst.len() as u64, Relaxed);
        burst.clear();
    }
}

async fn sample(network: &Network, client: &Flow, link: Link, received: &AtomicU64) -> Trace {
    let runtime = network.runtime();
    let start = network.runtime().elapsed();
    let mut samples = Vec::with_capacity(SAMPLES as usize);
    let mut before = 0;
    for number in 0..SAMPLES {
        runtime.sleep(link.time / SAMPLES).await;
        if number == SAMPLES / 5 {
            before = received.load(Relaxed);
        }
        samples.push(Sample {
            at: runtime.elapsed() - start,
            window: client.statistics().window as f64 / PACKET as f64,
            logged: 0.0,
            queueing: network.queueing_delay(CLIENT, SERVER),
        });
    }
    let bytes = (received.load(Relaxed) - before) * PACKET as u64;
    Trace {
        since: start,
        samples,
        utilisation: bytes as f64 / link.rate() / (link.time * 4 / 5).as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::windows::LINKS;

    #[test]
    fn a_flow_fills_its_link_and_the_same_seed_gives_the_same() {
        let link = Link { time: Duration::from_secs(5), ..LINKS[1] };
        for (name, stack) in ALGORITHMS {
            let trace = follow(stack(), link, 1).unwrap();
            assert!(trace.utilisation > 0.85, "{name} uses {:.3}", trace.utilisation);
            assert_eq!(trace.samples.len(), SAMPLES as usize);
            assert!(trace.samples.windows(2).all(|two| two[0].at < two[1].at));
            assert_eq!(trace, follow(stack(), link, 1).unwrap(), "{name}");
        }
    }

    #[test]
    fn the_window_of_the_qlog_is_the_window_of_the_statistics() {
        for link in LINKS.into_iter().step_by(3).map(|link| Link { time: Duration::from_secs(4), ..link }) {
            for (name, stack) in ALGORITHMS {
                let trace = follow(stack(), link, 1).unwrap();
                let differs = trace.samples.iter().find(|sample| sample.window != sample.logged);
                assert_eq!(differs, None, "{name} over {link}");
                assert!(
                    trace.samples.iter().any(|sample| sample.window != trace.samples[0].window),
                    "{name} over {link}"
                );
            }
        }
    }
}
