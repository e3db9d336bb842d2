//! The program `bertha-bench http`: a server by hyper over a stream of bytes of Bertha's, against a stream of
//! tokio's.

mod load;
mod server;

use crate::Error;
use crate::harness::{Counter, Effort, Placement, alternate, meet, meet_on_one_runtime};
use crate::report::{Budget, Report};
use load::Load;
use std::net::SocketAddr;
use tokio::sync::oneshot;

/// Budget: the adapter costs at most three percent.
const THROUGHPUT: Budget = Budget::AtLeast(0.97);
const INSTRUCTIONS: Budget = Budget::AtMost(1.03);

/// Measures the rows.
///
/// # Errors
/// Errors of the sockets and of the harness.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("http");
    instructions(&mut report, effort.pick(5_000, 1_000))?;
    let load = Load { connections: 32, requests: effort.pick(100_000, 20_000) };
    let paired = alternate(effort.pairs(), || over(Under::Tokio, load), || over(Under::Bertha, load));
    let Some(paired) = report.unless_impossible("hyper, HTTP/1.1", paired)? else { return Ok(report) };
    for (server, samples) in [("tokio's TcpStream", paired.a()), ("ByteStream", paired.b())] {
        report.median(
            format!("HTTP/1.1, 32 connections, hyper over {server}"),
            &samples,
            |it| *it,
            "requests/s",
        );
    }
    report.compare("HTTP/1.1, ByteStream to TcpStream", &paired, |it| *it, Some(THROUGHPUT));
    Ok(report)
}

/// Counts the instructions of both ends per request, since times are too noisy for a few percent. The client
/// is common to both.
fn instructions(report: &mut Report, requests: u64) -> Result<(), Error> {
    let count = |under: &str| Counter::of_probe(format!("http-{under}"))?.instructions(requests);
    let name = "HTTP/1.1, 1 connection, both ends, per request";
    let tokio = report.count(&format!("hyper over tokio's TcpStream, {name}"), count("tokio"))?;
    let bertha = report.count(&format!("hyper over ByteStream, {name}"), count("bertha"))?;
    if let (Some(tokio), Some(bertha)) = (tokio, bertha) {
        report.bounded(format!("ByteStream to TcpStream, {name}"), bertha / tokio, "x", INSTRUCTIONS);
    }
    Ok(())
}

/// The stream under the server.
#[derive(Clone, Copy, Debug)]
enum Under {
    Tokio,
    Bertha,
}

/// Returns the requests answered per second.
fn over(under: Under, load: Load) -> Result<f64, Error> {
    let (tell, told) = oneshot::channel();
    meet(
        Placement::AcrossCores,
        || serve(under, load.connections, tell),
        || async move { load.run(told).await },
    )
}

async fn serve(under: Under, clients: usize, tell: oneshot::Sender<SocketAddr>) -> Result<(), Error> {
    match under {
        Under::Tokio => server::over_tokio(clients, tell).await,
        Under::Bertha => server::over_bertha(clients, tell).await,
    }
}

/// Runs a probe, if there is a probe with this name.
pub(crate) fn probe(name: &str, requests: u64) -> Option<Result<(), Error>> {
    let under = match name {
        "tokio" => Under::Tokio,
        "bertha" => Under::Bertha,
        _ => return None,
    };
    let load = Load { connections: 1, requests: requests as usize };
    let (tell, told) = oneshot::channel();
    Some(meet_on_one_runtime(serve(under, load.connections, tell), load.run(told)).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::harness::usable;

    #[test]
    fn every_request_is_answered_over_both() {
        for under in [Under::Tokio, Under::Bertha] {
            match over(under, Load { connections: 3, requests: 10 }) {
                Err(error) if usable().unwrap().len() < 2 => assert_eq!(error.kind(), ErrorKind::Core),
                rate => assert!(rate.unwrap() > 0.0),
            }
        }
    }

    #[test]
    fn every_probe_runs() {
        ["tokio", "bertha"].iter().for_each(|name| probe(name, 20).unwrap().unwrap());
        assert!(probe("hyper", 1).is_none());
    }
}
