//! Table 4.3: Linux's TCP as a datapath of CCP, by a program of eBPF. CUBIC of an agent, on a thread of this process, against the
//! kernel's CUBIC, in turn, through the shaper between two namespaces. Table 4.1 for the same datapath is in `reporting`.

mod loopback;
mod obedience;
mod reporting;

pub(super) use reporting::run as reporting;

use super::flows::path;
use super::shaped::{Impairments, Scene, Transport, lacking};
use crate::harness::{Effort, alternate};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_ccp::algorithms::Cubic;
use bertha_ccp::{Ccp, Limits, Pace};
use bertha_ccp_tcp::TcpControl;
use obedience::Obedience;
use portus::RunBuilder;
use portus::ipc::BackendBuilder;
use std::time::Duration;

/// The name of the agent's control in the kernel.
const NAME: &str = "bertha_cubic";

/// Budget of the throughput under the agent, against the kernel's own control.
const AS_THE_KERNEL: Budget = Budget::Between(0.95, 1.05);

/// Rates in Mbit/s and round trips in milliseconds.
const PATHS: [(f64, u64); 2] = [(24.0, 40), (96.0, 20)];

/// Measures the rows.
///
/// # Errors
/// Errors of the kernel, of the agent, and of the flows.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    if let Some(reason) = lacking() {
        report.skip("4.3t, the kernel's TCP under an agent", reason);
        return Ok(());
    }
    let (ccp, end) = Ccp::in_process(Pace::Free);
    let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(Cubic::default()).spawn_thread();
    let agent = agent.run().map_err(|error| Error::new(ErrorKind::Bertha, error.0))?;
    let registered = TcpControl::register(NAME, ccp.clone(), Limits::NONE);
    let registered =
        registered.map_err(Error::while_doing(ErrorKind::Bertha, "registering with the kernel"))?;
    for (megabits, milliseconds) in PATHS {
        let scene = Scene {
            impairments: Impairments::of(path(megabits, milliseconds)),
            flows: 1,
            stagger: Duration::ZERO,
            warm_up: Duration::from_secs(2),
            counted: effort.pick(Duration::from_secs(6), Duration::from_secs(2)),
            seed: 1,
        };
        let by_kernel = || carried(&scene, "cubic", || Ok(()));
        let by_agent = || {
            carried(&scene, NAME, || {
                let obedience = Obedience::of(&registered);
                std::thread::sleep(scene.counted * 3 / 4);
                match ccp.statistics().by_agent {
                    0 => Err(Error::new(ErrorKind::Stalled, "the agent does not control the kernel's flow")),
                    // Flows of the run before may not have ended yet.
                    _ => obedience.check(),
                }
            })
        };
        let paired = alternate(effort.pick(8, 2), by_kernel, by_agent)?;
        let name = format!("4.3t, TCP over {megabits} Mbit/s and {milliseconds} ms");
        let megabits = |rate: &f64| rate * 8.0 / 1e6;
        report.median(format!("{name}: by the kernel's CUBIC"), &paired.a(), megabits, "Mbit/s");
        report.median(
            format!("{name}: by CUBIC of an agent in this process"),
            &paired.b(),
            megabits,
            "Mbit/s",
        );
        let name = format!("{name}: throughput by the agent to the kernel's");
        report.compare(&name, &paired, |rate| *rate, Some(AS_THE_KERNEL));
    }
    drop(registered);
    agent.kill();
    // Its end was asked for.
    let _stopped = agent.wait();
    Ok(())
}

/// Returns the bytes that arrive in a second. `watch` is called when they begin to be counted, and returns before their count ends.
fn carried(
    scene: &Scene,
    control: &'static str,
    watch: impl FnOnce() -> Result<(), Error> + Send,
) -> Result<f64, Error> {
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            std::thread::sleep(scene.warm_up);
            watch()
        });
        let rates = scene.run(&Transport::Linux(control))?;
        let panicked = |_| Error::new(ErrorKind::Core, "the watch over a flow panicked");
        watching.join().map_err(panicked)?.map(|()| rates.iter().sum())
    })
}
