//! The program `bertha-bench resp`: the key-value store under `redis-benchmark`, against `redis-server` with
//! a single thread; and over TCP of DPDK under Bertha's own client.

#[cfg(feature = "dpdk")]
mod client;
#[cfg(feature = "dpdk")]
mod dpdk;
mod load;
mod redis;

use crate::harness::{Effort, Paired, Placement, alternate, run_on};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_kvstore::resp::RespAddr;
use bertha_kvstore::{Options, Server};
#[cfg(feature = "dpdk")]
pub(crate) use dpdk::serve as serve_over_dpdk;
use load::{Load, Sample};
use redis::RedisServer;

/// Budget: as quick as Redis.
const THROUGHPUT: Budget = Budget::AtLeast(1.0);

/// Measures the rows.
///
/// # Errors
/// Errors of the servers and of `redis-benchmark`.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("resp");
    let Some(cores) = report.unless_impossible("redis-benchmark", Placement::AcrossCores.cores())? else {
        return Ok(report);
    };
    let (client_core, server_core) = cores;
    let redis = match run_on(server_core, RedisServer::start) {
        Ok(redis) => redis,
        Err(error) if error.kind() == ErrorKind::Core => {
            report.skip("redis-benchmark", &error.to_string());
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    let store = run_on(server_core, store)?;
    let port = port(&store)?;
    for pipelined in [1, 16] {
        let requests = pipelined.max(4) * effort.pick(30_000, 10_000);
        let load = |port| Load { port, pipelined, requests };
        let paired = alternate(
            effort.pairs(),
            || run_on(client_core, || load(redis.port()).run()),
            || run_on(client_core, || load(port).run()),
        )?;
        rows(&mut report, pipelined, &paired);
    }
    store.stop().map_err(Error::while_doing(ErrorKind::Bertha, "stopping the store"))?;
    #[cfg(feature = "dpdk")]
    dpdk::rows(&mut report, effort, client_core, server_core)?;
    Ok(report)
}

fn store() -> Result<Server, Error> {
    let resp = vec![RespAddr::Kernel(([127, 0, 0, 1], 0).into())];
    let started = Server::start(Options { resp, ..Options::default() });
    started.map_err(Error::while_doing(ErrorKind::Bertha, "starting the store"))
}

/// Returns the port at which the store serves clients of Redis.
fn port(store: &Server) -> Result<u16, Error> {
    match store.resp_addrs() {
        [RespAddr::Kernel(bertha::Addr::Ip(addr))] => Ok(addr.port()),
        other => Err(Error::new(ErrorKind::Bertha, format!("the store listens at {other:?}"))),
    }
}

fn rows(report: &mut Report, pipelined: u32, paired: &Paired<Sample>) {
    row(report, &format!("-P {pipelined}, SET"), paired, |sample| sample.set);
    row(report, &format!("-P {pipelined}, GET"), paired, |sample| sample.get);
}

fn row(report: &mut Report, name: &str, paired: &Paired<Sample>, per_second: fn(&Sample) -> f64) {
    for (server, samples) in [("redis-server", paired.a()), ("kvstore", paired.b())] {
        report.median(format!("{name}, {server}"), &samples, per_second, "ops/s");
    }
    report.compare(&format!("{name}, kvstore to redis-server"), paired, per_second, Some(THROUGHPUT));
}
