//! Requests of many sizes, each answered on a connection of its own, through boxes around an emulated path.

use super::super::completion::{Arrival, messages};
use super::super::flows::{MESSAGE, PACKET, SERVER, host, lay, simulation};
use super::{Boxes, HOSTS};
use crate::{Error, ErrorKind};
use bertha_chunnels::congestion::Cubic;
use bertha_chunnels::reliable::{Reliable, ReliableConnection};
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Runtime, Wrap};
use bertha_datapath_sim::{Network, Path, SimConnection, SimRuntime};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longest time after the last arrival until all are complete.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Times of requests, in the order of their arrival; `None` for those that are not complete.
type Times = Arc<Mutex<Vec<Option<Duration>>>>;

/// Answers the requests, and returns the time of each, while `watch` runs beside them.
///
/// # Errors
/// [`ErrorKind::Bertha`] if a simulated connection fails or a request is not complete in time; the errors of
/// starting an agent.
pub(super) fn run<W: Future<Output = ()> + Send + 'static>(
    path: &Path,
    boxes: &Boxes,
    requests: &[Arrival],
    watch: impl FnOnce(Network) -> W,
) -> Result<Vec<Duration>, Error> {
    let last = requests.last().map_or(Duration::ZERO, |last| last.at);
    let mut sim = simulation(1, last + TIME_LIMIT);
    let network = sim.network().clone();
    lay(&network, path, &[Duration::ZERO; HOSTS], 1);
    let _agent = boxes.put(&network, path)?;
    let watching = network.runtime().spawn(watch(network.clone()));
    let times = sim
        .run(answer(network, requests.to_vec()))
        .map_err(Error::while_doing(ErrorKind::Bertha, "requests through boxes"))?;
    drop(watching);
    let unfinished = || Error::new(ErrorKind::Bertha, "a request was not complete in time");
    times.into_iter().collect::<Option<_>>().ok_or_else(unfinished)
}

async fn answer(
    network: Network,
    requests: Vec<Arrival>,
) -> Result<Vec<Option<Duration>>, bertha_core::Error> {
    let runtime = network.runtime().clone();
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await?;
    let server = listener.local_addr();
    let times: Times = Arc::new(Mutex::new(vec![None; requests.len()]));
    let arrivals: Arc<[Arrival]> = requests.into();
    let (clock, taken, of) = (runtime.clone(), Arc::clone(&times), Arc::clone(&arrivals));
    let _receiving = runtime.spawn(async move {
        let mut receiving = Vec::new();
        loop {
            let Ok(base) = listener.accept().await else { return };
            let (inner, times, arrivals) = (clock.clone(), Arc::clone(&taken), Arc::clone(&of));
            receiving.push(clock.spawn(async move {
                // This end sends only acknowledgements.
                let Ok(connection) = Reliable::new().packet(PACKET).wrap(base).await else { return };
                receive(&connection, &inner, &times, &arrivals).await;
            }));
        }
    });
    let mut sending = Vec::with_capacity(arrivals.len());
    for (number, arrival) in arrivals.iter().copied().enumerate() {
        runtime.sleep(arrival.at.saturating_sub(runtime.elapsed())).await;
        let (network, server) = (network.clone(), server.clone());
        sending.push(runtime.spawn(async move {
            // A request that fails is not complete in time.
            let _ = send(&network, server, number, arrival.bytes).await;
        }));
    }
    let end = runtime.elapsed() + TIME_LIMIT / 2;
    loop {
        runtime.sleep(Duration::from_millis(100)).await;
        let times = times.lock().unwrap_or_else(PoisonError::into_inner);
        if times.iter().all(Option::is_some) || runtime.elapsed() > end {
            return Ok(times.clone());
        }
    }
}

/// Sends the answer to a request, and waits until the peer has all of it.
async fn send(network: &Network, server: Addr, number: usize, bytes: u64) -> Result<(), bertha_core::Error> {
    let base = network.host(host(number % HOSTS)).connect(server).await?;
    let connection = Reliable::new().with(Cubic).packet(PACKET).wrap(base).await?;
    let count = messages(bytes);
    for message in 0..count {
        let last = bytes - (count - 1) * MESSAGE as u64;
        let len = if message + 1 == count { last.max(16) } else { MESSAGE as u64 };
        let mut message = Buf::new(len as usize, 0)?;
        message[..8].copy_from_slice(&(number as u64).to_be_bytes());
        message[8..16].copy_from_slice(&count.to_be_bytes());
        connection.send(message).await?;
    }
    connection.drain().await
}

async fn receive(
    connection: &ReliableConnection<SimConnection>,
    clock: &SimRuntime,
    times: &Times,
    arrivals: &[Arrival],
) {
    let mut arrived = 0;
    while let Ok(message) = connection.recv().await {
        let number = |at: usize| message[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        arrived += 1;
        if arrived == number(8) {
            let request = number(0) as usize;
            let took = clock.elapsed() - arrivals[request].at;
            times.lock().unwrap_or_else(PoisonError::into_inner)[request] = Some(took);
        }
    }
}
