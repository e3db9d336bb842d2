//! The program `bertha-bench idle`: the memory and the processor time of connections that are not used, both
//! ends in a single process.

use crate::harness::{Effort, runtime};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_chunnels::{Fragment, Nothing, Ordered, Reliable};
use bertha_core::{Buf, Connection, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Runs, Settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::net::Ipv4Addr;
use std::time::Duration;

/// Number of connections, each with a socket of the client.
const CONNECTIONS: usize = 10_000;

/// Budget in KiB per connection, of both ends together, with a stack of a single layer that does nothing.
const MEMORY: Budget = Budget::AtMost(8.0);

/// Budget in milliseconds of processor time in ten seconds of [`CONNECTIONS`] connections.
const TIME: Budget = Budget::AtMost(300.0);

/// Measures the rows.
///
/// # Errors
/// Errors of the connections; [`ErrorKind::Core`] if the system allows fewer open files.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("idle");
    let allowed = raise_limit();
    if report.unless_impossible("10,000 idle connections", allowed)?.is_none() {
        return Ok(report);
    }
    let seconds = effort.pick(10, 3);
    let nothing = idle(make_stack!(Nothing), CONNECTIONS, seconds)?;
    let name = |stack: &str, quantity: &str| format!("10,000 idle connections of {stack}, {quantity}");
    report.bounded(name("`Nothing`", "memory per connection, both ends"), nothing.kib, "KiB", MEMORY);
    report.bounded(name("`Nothing`", "processor time in 10 s"), nothing.milliseconds, "ms", TIME);
    let transport = make_stack!(Ordered::new(), Fragment::new(), Reliable::new());
    let transport = idle(transport, CONNECTIONS, seconds)?;
    let stack = "`Ordered, Fragment, Reliable`";
    report.figure(name(stack, "memory per connection, both ends"), transport.kib, "KiB");
    report.figure(name(stack, "processor time in 10 s"), transport.milliseconds, "ms");
    Ok(report)
}

/// The cost of idle connections.
struct Idle {
    /// Memory in KiB per connection.
    kib: f64,
    /// Processor time in ten seconds.
    milliseconds: f64,
}

fn idle<S>(stack: S, connections: usize, seconds: u64) -> Result<Idle, Error>
where
    S: Negotiate + Clone + Sync + 'static,
    Udp: Runs<S, Out: Connection<Data = Buf>>,
{
    let mut settings = Settings::default();
    // Clients arrive one after another, faster than a server accepts them from a single network by default.
    settings.offers_per_second = u32::MAX;
    let idle = async {
        let before = resident()?;
        let mut incoming = stack
            .clone()
            .listen(Udp::new(), (Ipv4Addr::LOCALHOST, 0))
            .settings(settings)
            .await
            .map_err(failed)?;
        let addr = incoming.local_addr();
        let mut open = Vec::with_capacity(connections);
        for _ in 0..connections {
            let (client, server) =
                tokio::join!(stack.connect(Udp::new(), addr.clone()), incoming.next_or_refusal());
            open.push((client.map_err(failed)?, server.transpose().map_err(failed)?));
        }
        // By then, the last timers of set-up have expired.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let kib = resident()?.saturating_sub(before) as f64 / 1024.0 / connections as f64;
        let spent = processor_time();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let spent = (processor_time() - spent).as_secs_f64() * 1e3;
        Ok(Idle { kib, milliseconds: spent * 10.0 / seconds as f64 })
    };
    runtime()?.block_on(idle)
}

/// Returns the number of bytes of this process in memory.
fn resident() -> Result<usize, Error> {
    let unreadable = || Error::new(ErrorKind::Core, "the system does not report the memory of this process");
    let pages = std::fs::read_to_string("/proc/self/statm").map_err(|_| unreadable())?;
    let pages: usize =
        pages.split_whitespace().nth(1).and_then(|it| it.parse().ok()).ok_or_else(unreadable)?;
    Ok(pages * rustix::param::page_size())
}

/// Returns the processor time of this process so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Allows a socket for each connection, and some more files.
fn raise_limit() -> Result<(), Error> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = CONNECTIONS as u64 + 500;
    if limit.maximum.is_some_and(|maximum| maximum < wanted) {
        return Err(Error::new(ErrorKind::Core, format!("the system allows fewer than {wanted} open files")));
    }
    if limit.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum })
            .map_err(Error::while_doing(ErrorKind::Core, "raising the limit of open files"))?;
    }
    Ok(())
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "opening a connection")(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_take_memory() {
        // Other tests of this process free memory meanwhile.
        assert!((0..5).any(|_| idle(make_stack!(Nothing), 50, 0).is_ok_and(|idle| idle.kib > 0.0)));
    }
}
