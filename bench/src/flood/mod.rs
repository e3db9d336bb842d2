//! `bertha-bench flood`: honest clients of a server under attack, over the kernel's UDP and TCP on the loopback.
//!
//! The attacker has a thread of its own, server and honest clients one each. An honest client connects and exchanges one message; one that takes
//! longer than a second counts as kept out.

mod attack;

use crate::harness::{Effort, median, percentile, runtime};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use attack::Attack;
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Bottom, Connection, Stack, make_stack};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::{Credentials, Incoming, Negotiate, Runs, Settings, SharedKey};
use bertha_ycsb::plot::{Spread, spreads};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::scope;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

type Message = [u8; 8];
type Layers = Stack<Serialize<Message>, Bottom>;

/// The attacker's addresses.
const OFFERS: usize = 500;

/// The longest that an honest client may take.
const LIMIT: Duration = Duration::from_secs(1);

/// The part of the honest clients that is served, in percent.
const SERVED: Budget = Budget::AtLeast(99.0);

fn stack() -> Layers {
    make_stack!(Serialize::<Message>::new())
}

/// Of all ends: a shared key, so that the server has to wait for a confirmation.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.credentials = Credentials::shared(SharedKey::new([1; 32]));
    settings
}

/// The honest clients of one flood.
struct Served {
    /// From nothing to the echo, in microseconds, of those that were served.
    times: Vec<f64>,
    all: usize,
    /// The growth of the process's memory, in KiB.
    grown: f64,
}

/// Measures.
///
/// # Errors
/// Those of the sockets.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("flood");
    let clients = effort.pick(500, 50);
    let offer = attack::recorded()?;
    let mut drawn = Vec::new();
    for attack in [Attack::Peace, Attack::Replays(200), Attack::Replays(20_000)] {
        describe(&mut report, &mut drawn, "UDP", attack, &flooded(Udp::new(), attack, &offer, clients)?);
    }
    for attack in [Attack::Peace, Attack::Silence(40), Attack::Silence(400)] {
        describe(&mut report, &mut drawn, "TCP", attack, &flooded(Tcp::new(), attack, &offer, clients)?);
    }
    report.draw("flood.svg", spreads("Time of an honest client to connect and receive an echo", &drawn))?;
    Ok(report)
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

/// Connects so many honest clients, one after the other, during a flood.
fn flooded<D>(datapath: D, attack: Attack, offer: &[u8], clients: usize) -> Result<Served, Error>
where
    D: Runs<Layers, Out: Connection<Data = Message>> + Clone,
{
    let (is_over, (tell, told)) = (AtomicBool::new(false), mpsc::channel());
    scope(|scope| {
        let (serving, over) = (datapath.clone(), &is_over);
        scope.spawn(move || serve(serving, &tell, over));
        let outcome = (|| {
            let served = told.recv().map_err(Error::while_doing(ErrorKind::Stalled, "starting a server"))?;
            let Addr::Ip(server) = served? else {
                return Err(Error::new(
                    ErrorKind::Socket,
                    "the server's socket has no IP address".to_owned(),
                ));
            };
            let before = resident();
            attack.begin(scope, server, offer, &is_over)?;
            let times = runtime()?.block_on(connect_all(datapath, server.into(), clients))?;
            Ok(Served { times, all: clients, grown: resident() - before })
        })();
        is_over.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Echoes to all clients until `is_over`.
fn serve<D>(datapath: D, tell: &mpsc::Sender<Result<Addr, Error>>, is_over: &AtomicBool)
where
    D: Runs<Layers, Out: Connection<Data = Message>>,
{
    let serving = async {
        let listening = stack().listen(datapath, (Ipv4Addr::LOCALHOST, 0)).settings(settings());
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
    while let Some(accepted) = incoming.next().await {
        let Ok(connection) = accepted else { continue };
        tokio::spawn(async move {
            while let Ok(message) = connection.recv().await {
                if connection.send(message).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// The times of those that were served.
async fn connect_all<D>(datapath: D, server: Addr, clients: usize) -> Result<Vec<f64>, Error>
where
    D: Runs<Layers, Out: Connection<Data = Message>> + Clone,
{
    // Until the flood has done its work.
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

/// The memory of this process, in KiB.
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
            let served = flooded(Udp::new(), attack, &offer, 3).unwrap();
            assert_eq!((served.times.len(), served.all), (3, 3), "{}", attack.name());
        }
    }
}
