//! An application beside another of the same daemon that takes all it can get, and beside changes to the engines of another service.

use super::SERVICE;
use super::by_daemon::failed;
use super::chain::{Chain, Way};
use super::process::Process;
use crate::harness::{Effort, Placement, alternate, in_time, pin, run_on, runtime};
use crate::report::{Budget, Report};
use crate::rpc::{Load, Sample};
use crate::{Error, ErrorKind};
use bertha_managed::Order;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Budget of the rate beside an application that takes all it can get.
const KEPT: Budget = Budget::AtLeast(0.9);

/// Budget of the 99th percentile beside changes to that without any.
const WITHIN_NOISE: Budget = Budget::AtMost(1.1);

/// The service whose engines change.
const OTHER: &str = "other";

/// Time between two changes.
const BETWEEN: Duration = Duration::from_millis(5);

/// Number of calls in flight of an application that is honest, and more than any may have under way.
const HONEST: &str = "64";
const FLOOD: &str = "4096";

/// Measures the rows.
///
/// # Errors
/// Errors of the processes, and refusals of changes.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let load = Load { bytes: 64, in_flight: 64, calls: effort.pick(50_000, 5_000) };
    let chain = Chain::start(Way::OneDaemon)?;
    let socket = chain.socket().ok_or_else(|| Error::new(ErrorKind::Core, "there is no daemon"))?;
    let alone = || chain.ask(load);
    let beside = |other: Result<Process, Error>| {
        let _other = other?;
        chain.ask(load)
    };
    let asking = |in_flight| start(socket, SERVICE, &["--bytes", "64", "--in-flight", in_flight]);
    let stopped = || asking(HONEST).and_then(|process| process.stop().map(|()| process));
    let full = || start(socket, SERVICE, &["--bytes", "65536", "--in-flight", "1", "--fills"]);

    let mut row = |name: &str, paired| {
        report.compare(
            &format!("rate of an application beside one that {name}"),
            &paired,
            |it: &Sample| it.per_second,
            Some(KEPT),
        );
    };
    let pairs = effort.pick(8, 2);
    row("never reads, to that alone", alternate(pairs, alone, || beside(stopped()))?);
    row("fills its heap, to that alone", alternate(pairs, alone, || beside(full()))?);
    // An application that calls takes its part of the core, also if it is honest.
    let honest = || beside(asking(HONEST));
    row("floods, to that beside an honest one", alternate(pairs, honest, || beside(asking(FLOOD)))?);
    Ok(())
}

/// Starts an application that asks, and waits until it does.
fn start(socket: &Path, service: &str, options: &[&str]) -> Result<Process, Error> {
    let socket = socket.display().to_string();
    // It is killed long before.
    let fixed = ["managed-ask", "--socket", &socket, "--service", service, "--milliseconds", "60000"];
    let mut process = Process::of_this_program(&[&fixed[..], options].concat())?;
    process.says("begun")?;
    Ok(process)
}

/// Measures an application while the engines of another service change under its calls. The operator is on a core of its own, since its
/// programs would take the application's core for longer than the daemon.
///
/// # Errors
/// Errors of the processes, and refusals of changes.
pub(super) fn changes(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let (operator, core) = Placement::AcrossCores.cores()?;
    run_on(core, || changes_by(operator, report, effort))
}

fn changes_by(operator: usize, report: &mut Report, effort: Effort) -> Result<(), Error> {
    let load = Load { bytes: 64, in_flight: 1, calls: effort.pick(20_000, 2_000) };
    let chain = Chain::start(Way::OneDaemon)?;
    let socket = chain.socket().ok_or_else(|| Error::new(ErrorKind::Core, "there is no daemon"))?;
    let path = socket.display().to_string();
    let mut server = Process::of_this_program(&["managed-serve", "--socket", &path, "--service", OTHER])?;
    server.says("ready")?;
    let _calls = start(socket, OTHER, &["--bytes", "64", "--in-flight", "1"])?;
    let mut changed = 0;
    let beside_changes = || {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let changing = scope.spawn(|| pin(operator).and_then(|()| change(socket, &is_over)));
            let sample = chain.ask(load);
            is_over.store(true, Ordering::Relaxed);
            let panicked = |_| Err(Error::new(ErrorKind::Core, "a thread panicked"));
            changed += changing.join().unwrap_or_else(panicked)?;
            sample
        })
    };
    let paired = alternate(effort.pick(8, 2), || chain.ask(load), beside_changes)?;
    let name =
        "p99 of an application beside changes to the engines of another service, to that without changes";
    report.compare(name, &paired, |it| it.p99_us, Some(WITHIN_NOISE));
    report.figure(format!("{name}: changes"), f64::from(changed), "changes");
    Ok(())
}

/// Adds an engine to the other service and removes it, again and again. Returns the number of changes.
fn change(socket: &Path, is_over: &AtomicBool) -> Result<u32, Error> {
    let (service, name) = (|| OTHER.to_owned(), || "null".to_owned());
    runtime()?.block_on(in_time(async {
        let mut changes = 0;
        while !is_over.load(Ordering::Relaxed) {
            let add = Order::Add { service: service(), name: name(), kind: name(), settings: String::new() };
            for order in [add, Order::Remove { service: service(), name: name() }] {
                order.give(socket).await.map_err(failed)?;
                changes += 1;
                tokio::time::sleep(BETWEEN).await;
            }
        }
        Ok(changes)
    }))
}
