//! `bertha-bench http`: a server by hyper over a stream of bytes of Bertha's, against the same over tokio's.

mod load;
mod server;

use crate::Error;
use crate::harness::{Effort, Placement, alternate, meet};
use crate::report::{Budget, Report};
use load::Load;
use std::net::SocketAddr;

/// The adapter costs three percent at most.
const THROUGHPUT: Budget = Budget::AtLeast(0.97);

/// Measures.
///
/// # Errors
/// Those of the sockets and of the harness.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("http");
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

/// What the server stands on.
#[derive(Clone, Copy, Debug)]
enum Under {
    Tokio,
    Bertha,
}

/// Requests answered per second.
fn over(under: Under, load: Load) -> Result<f64, Error> {
    let (tell, told) = tokio::sync::oneshot::channel::<SocketAddr>();
    meet(
        Placement::AcrossCores,
        || async move {
            match under {
                Under::Tokio => server::over_tokio(load.connections, tell).await,
                Under::Bertha => server::over_bertha(load.connections, tell).await,
            }
        },
        || async move { load.run(told).await },
    )
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
}
