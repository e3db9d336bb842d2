//! The program `bertha-bench flood`: honest clients of a server under attack, over the kernel's UDP and TCP
//! on the loopback, and over DPDK ports that share memory, with the attacker on the wire between them.
//!
//! Attacker, server and honest clients have a thread each. An honest client connects and exchanges a single
//! message; a client that takes longer than a second counts as kept out.

mod attack;
#[cfg(feature = "dpdk")]
mod wire;

use crate::harness::{Effort, median, percentile, runtime};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use attack::Attack;
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Bottom, Connection, Stack, make_stack};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::{Credentials, Incoming, Negotiate, Runs, Settings, SharedKey};
use bertha_plot::{Spread, spreads};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::scope;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

type Message = [u8; 8];
type Layers = Stack<Serialize<Message>, Bottom>;

/// Name of the rows over DPDK.
const DPDK: &str = "DPDK UDP";

/// Number of the attacker's addresses.
const OFFERS: usize = 500;

/// Longest time that an honest client may take.
const LIMIT: Duration = Duration::from_secs(1);

/// Budget for the part of the honest clients that is served, in percent.
const SERVED: Budget = Budget::AtLeast(99.0);

fn stack() -> Layers {
    make_stack!(Serialize::<Message>::new())
}

/// Returns the settings of all ends: a shared key, so that the server has to wait for a confirmation.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.credentials = Credentials::shared(SharedKey::new([1; 32]));
    settings
}

/// The honest clients of a flood.
struct Served {
    /// Times from nothing to the echo, in microseconds, of the served clients.
    times: Vec<f64>,
    all: usize,
    /// Growth of the process's memory, in KiB.
    grown: f64,
}

/// Measures the rows.
///
/// # Errors
/// Errors of the sockets.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("flood");
    let clients = effort.pick(500, 50);
    let offer = attack::recorded()?;
    let mut drawn = Vec::new();
    for attack in [Attack::Peace, Attack::Replays(200), Attack::Replays(20_000)] {
        let served = flooded(Ends::local(Udp::new()), |server| attack.begin(server, &offer), clients)?;
        describe(&mut report, &mut drawn, "UDP", attack, &served);
    }
    for attack in [Attack::Peace, Attack::Silence(40), Attack::Silence(400)] {
        let served = flooded(Ends::local(Tcp::new()), |server| attack.begin(server, &offer), clients)?;
        describe(&mut report, &mut drawn, "TCP", attack, &served);
    }
    over_dpdk(&mut report, &mut drawn, clients)?;
    report.draw("flood.svg", spreads("Time of an honest client to connect and receive an echo", &drawn))?;
    Ok(report)
}

/// Adds the rows of DPDK, or the reason why they are missing.
#[cfg(feature = "dpdk")]
fn over_dpdk(report: &mut Report, drawn: &mut Vec<Spread>, clients: usize) -> Result<(), Error> {
    let wire = match wire::Wire::open() {
        Ok(wire) => wire,
        Err(error) => {
            report.skip(DPDK, &format!("not run: {error}"));
            return Ok(());
        }
    };
    // The first round is peace, in which an offer is recorded.
    for (attack, rate) in [(Attack::Peace, 0), (Attack::Replays(200), 200), (Attack::Replays(20_000), 20_000)]
    {
        let served = flooded(wire.ends(), |_| Ok(wire.replay(rate)), clients)?;
        describe(report, drawn, DPDK, attack, &served);
    }
    Ok(())
}

#[cfg(not(feature = "dpdk"))]
fn over_dpdk(report: &mut Report, _: &mut Vec<Spread>, _: usize) -> Result<(), Error> {
    report.skip(DPDK, "not run: built without it; `--features dpdk`, after `scripts/dpdk install`");
    Ok(())
}

fn describe(report: &mut Report, drawn: &mut Vec<Spread>, over: &str, attack: Attack, served: &Served) {
    let name = format!("{over}, {}", attack.name());
    let part = 100.0 * served.times.len() as f64 / served.all as f64;
    report.bounded(format!("{name}, honest clients served within a second"), part, "%", SERVED);
    report.figure(format!("{name}, p50"), median(&served.times).unwrap_or(f64::NAN), "us");
    report.figure(format!("{name}, p99"), percentile(&served.times, 0.99).unwrap_or(f64::NAN), "us");
    report.figure(format!("{name}, growth of memory"), served.grown, "KiB");
    drawn.extend(Spread::of(&name, &served.times));
}

/// The datapaths of both ends, and the server's address.
struct Ends<D> {
    server: D,
    client: D,
    at: Addr,
}

impl<D: Clone> Ends<D> {
    /// Creates ends on the loopback.
    fn local(datapath: D) -> Self {
        Self { server: datapath.clone(), client: datapath, at: (Ipv4Addr::LOCALHOST, 0).into() }
    }
}

/// Connects this number of honest clients, one after another, during a flood, which ends when the result of
/// `attack` is dropped.
fn flooded<D, A>(
    Ends { server, client, at }: Ends<D>,
    attack: impl FnOnce(SocketAddr) -> Result<A, Error>,
    clients: usize,
) -> Result<Served, Error>
where
    D: Runs<Layers, Out: Connection<Data = Message>> + Clone,
{
    let (is_over, (tell, told)) = (AtomicBool::new(false), mpsc::channel());
    scope(|scope| {
        let over = &is_over;
        scope.spawn(move || serve(server, at, &tell, over));
        let outcome = (|| {
            let served = told.recv().map_err(Error::while_doing(ErrorKind::Stalled, "starting a server"))?;
            let Addr::Ip(server) = served? else {
                return Err(Error::new(
                    ErrorKind::Socket,
                    "the server's socket has no IP address".to_owned(),
                ));
            };
            let before = resident();
            let _attack = attack(server)?;
            let times = runtime()?.block_on(connect_all(client, server.into(), clients))?;
            Ok(Served { times, all: clients, grown: resident() - before })
        })();
        is_over.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Echoes to all clients until `is_over`.
fn serve<D>(datapath: D, at: Addr, tell: &mpsc::Sender<Result<Addr, Error>>, is_over: &AtomicBool)
where
    D: Runs<Layers, Out: Connection<Data = Message>>,
{
    let serving = async {
        let listening = stack().listen(datapath, at).settings(settings());
        let incoming =
            listening.await.map_err(Error::while_doing(ErrorKind::Socket, "opening the echo server"));
        match incoming {
            Ok(incoming) => {
                let _ = tell.send(Ok(incoming.local_addr()));
                tokio::spawn(echo(incoming));
                while !is_over.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(10)).await;
                }
            }
            Err(error) => drop(tell.send(Err(error))),
        }
    };
    match runtime() {
        Ok(runtime) => runtime.block_on(serving),
        Err(error) => drop(tell.send(Err(error))),
    }
}

async fn echo<D>(mut incoming: Incoming<Layers, D>)
where
    D: Runs<Layers, Out: Connection<Data = Message>>,
{
    while let Some(connection) = incoming.next().await {
        tokio::spawn(async move {
            while let Ok(message) = connection.recv().await {
                if connection.send(message).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Returns the times of the served clients.
async fn connect_all<D>(datapath: D, server: Addr, clients: usize) -> Result<Vec<f64>, Error>
where
    D: Runs<Layers, Out: Connection<Data = Message>> + Clone,
{
    // By then, the flood has had its effect.
    sleep(2 * LIMIT).await;
    let mut times = Vec::with_capacity(clients);
    for _ in 0..clients {
        let started = Instant::now();
        let exchange = async {
            let connection = stack().connect(datapath.clone(), server.clone()).settings(settings()).await?;
            connection.send([7; 8]).await?;
            connection.recv().await?;
            let time = started.elapsed().as_secs_f64() * 1e6;
            connection.close().await?;
            Ok::<_, bertha_core::Error>(time)
        };
        times.extend(timeout(LIMIT, exchange).await.ok().and_then(Result::ok));
    }
    Ok(times)
}

/// Returns the memory of this process, in KiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn honest_clients_are_served_beside_a_flood() {
        let offer = attack::recorded().unwrap();
        assert_eq!(offer.first(), Some(&1), "an offer");
        for attack in [Attack::Peace, Attack::Replays(200)] {
            let served = flooded(Ends::local(Udp::new()), |server| attack.begin(server, &offer), 3).unwrap();
            assert_eq!((served.times.len(), served.all), (3, 3), "{}", attack.name());
        }
    }

    #[test]
    fn the_rows_of_dpdk_are_there_or_say_why_they_are_not() {
        let (mut report, mut drawn) = (Report::new("flood"), Vec::new());
        over_dpdk(&mut report, &mut drawn, 3).unwrap();
        let says = |text: &str| report.rows().iter().any(|row| row.name.contains(text));
        assert!(says("DPDK UDP, 20000 replayed offers a second, p99") != says("DPDK UDP (skipped: not run"));
        assert!(report.is_within_budget(), "{:?}", report.rows());
    }
}
