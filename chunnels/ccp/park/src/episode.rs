//! An episode: a flow over the path of the thesis, 48 Mbit/s and 50 ms with a buffer of two bandwidth-delay products.

use crate::observation::Observation;
use crate::path::{MESSAGE, PACKET, RATE, ROUND_TRIP, WINDOWS};
use crate::steering::Steering;
use bertha_ccp::{AgentEnd, Ccp, Pace};
use bertha_chunnels::Reliable;
use bertha_core::{Addr, Buf, Connection, Datapath, Error, ErrorKind, Listener, Runtime, Wrap};
use bertha_datapath_sim::{Emulator, Limits, Link, Network, Path, Rate, Schedule, Sim};
use portus::RunBuilder;
use portus::ipc::BackendBuilder;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Time between two looks at the state of an episode.
const LOOK: Duration = Duration::from_millis(5);

/// Time for which a flow waits for its agent, and so for a decision.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs an episode of `steps` steps, and returns its last observation.
///
/// `decide` chooses the window for the next step, in packets, by the observation of the step before; the first observation is
/// that of a flow that has sent nothing. Windows beyond [`WINDOWS`] are cut. `None` ends the episode.
///
/// # Errors
/// The errors of the simulated connection, and `Exhausted` without a thread.
/// `TimedOut` if a decision took more than ten seconds: the datapath waits no longer for its agent.
pub fn episode(
    seed: u64,
    steps: usize,
    mut decide: impl FnMut(&Observation) -> Option<f64>,
) -> Result<Observation, Error> {
    let (ccp, end) = Ccp::in_process(Pace::Lockstep);
    let goes_on = Arc::new(AtomicBool::new(true));
    let (observed, observations) = sync_channel(1);
    let (decided, decisions) = sync_channel(1);
    start_agent(end, Steering::new(observed, decisions), goes_on.clone())?;
    let seen = goes_on.clone();
    let simulation = spawn("simulation", move || {
        let result = simulate(seed, ccp, steps, &seen);
        // The agent ends with the simulation, and with it the observations.
        seen.store(false, Relaxed);
        result
    })?;
    let mut last = Observation::default();
    let mut is_slow = false;
    for step in 0..=steps {
        let Ok(observation) = observations.recv() else { break };
        last = observation;
        if step == steps {
            break;
        }
        let asked = Instant::now();
        let Some(window) = decide(&observation).filter(|window| !window.is_nan()) else { break };
        is_slow |= asked.elapsed() > PATIENCE;
        // The flow is gone if the simulation has ended.
        let _ = decided.send(window.clamp(WINDOWS[0], WINDOWS[1]));
    }
    goes_on.store(false, Relaxed);
    drop((observations, decided));
    let failed = |kind, why| Err(Error::new(kind, why).at("Park"));
    match simulation.join() {
        Ok(Ok(())) if is_slow => failed(
            ErrorKind::TimedOut,
            "a decision took more than ten seconds, and the flow went on without it",
        ),
        Ok(result) => result.map(|()| last),
        Err(_) => failed(ErrorKind::Invalid, "the simulation has panicked"),
    }
}

/// Starts the agent, on a thread that ends a tenth of a second after the episode.
fn start_agent(end: AgentEnd, steering: Steering, goes_on: Arc<AtomicBool>) -> Result<(), Error> {
    let run = move || {
        let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(steering);
        // The agent ends with an error that says that it was stopped.
        let _ended = agent.with_stop_handle(goes_on).run();
    };
    spawn("agent", run).map(drop)
}

fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>, Error> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
    thread.map_err(|error| Error::new(ErrorKind::Exhausted, format!("no thread for an episode: {error}")))
}

fn simulate(seed: u64, ccp: Ccp, steps: usize, goes_on: &AtomicBool) -> Result<(), Error> {
    let mut sim = Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let network = sim.network().clone();
    network.set_limits(Limits { backlog: 1, queue: 65_536 });
    network.set_link_between(CLIENT, SERVER, Link { delay: Duration::ZERO, ..Link::default() });
    network.set_link_between(SERVER, CLIENT, Link { delay: ROUND_TRIP / 2, ..Link::default() });
    let path = Path::new(Rate::fixed(RATE), ROUND_TRIP / 2).buffered(2.0);
    network.emulate([(CLIENT, SERVER)], Emulator::new(path, seed));
    sim.run(play(network, ccp, steps, goes_on))
}

async fn play(network: Network, ccp: Ccp, steps: usize, goes_on: &AtomicBool) -> Result<(), Error> {
    let runtime = network.runtime();
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await?;
    let base = network.host(CLIENT).connect(listener.local_addr()).await?;
    let stack = Reliable::new().packet(PACKET);
    let client = stack.clone().with(ccp).wrap(base).await?;
    let _receiving = runtime.spawn(async move {
        let Ok(base) = listener.accept().await else { return };
        let Ok(server) = stack.wrap(base).await else { return };
        while server.recv().await.is_ok() {}
    });
    let _sending = runtime.spawn(async move {
        while let Ok(message) = Buf::new(MESSAGE, 0)
            && client.send(message).await.is_ok()
        {}
    });
    // Steps with a queue take longer than without; a window that loses everything gets no reports at all.
    let mut rest = 10 * steps as u32 * (ROUND_TRIP.as_millis() / LOOK.as_millis()) as u32;
    while goes_on.load(Relaxed) && rest > 0 {
        runtime.sleep(LOOK).await;
        rest -= 1;
    }
    Ok(())
}
