//! A flow over an emulated link of 20 ms.

use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::Algorithm;
use bertha_core::{Addr, Buf, Connection as _, Datapath as _, Listener, Runtime, Wrap};
use bertha_datapath_sim::{Emulator, Link, Path, Rate, Schedule, Sim};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The size of a packet in bytes.
pub const PACKET: usize = 1_352;

/// The time between two samples.
const PERIOD: Duration = Duration::from_millis(10);

/// The state of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The time in seconds.
    pub at: f64,
    /// The congestion window in packets.
    pub window: f64,
    /// The delay in the queue in milliseconds.
    pub queue: f64,
    /// Number of bytes that have arrived.
    pub received: u64,
}

/// Runs a flow that always has data to send, over a link of `rate` bytes per second. Returns a sample each 10
/// ms.
pub fn flow(algorithm: impl Algorithm, rate: u64, seconds: u64) -> Vec<Sample> {
    let (client_host, server_host) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut sim = Sim::new(7).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let network = sim.network().clone();
    let path = Path::new(Rate::fixed(rate), Duration::from_millis(10));
    network.set_link_between(client_host, server_host, Link { delay: Duration::ZERO, ..Link::default() });
    network.set_link_between(server_host, client_host, Link { delay: path.delay, ..Link::default() });
    network.emulate([(client_host, server_host)], Emulator::new(path, 7));
    sim.run(async move {
        let runtime = network.runtime();
        let listener = network.host(server_host).listen(Addr::Ip((server_host, 7).into())).await.unwrap();
        let client = network.host(client_host).connect(listener.local_addr()).await.unwrap();
        let client = Reliable::new().packet(PACKET).with(algorithm).wrap(client).await.unwrap();
        let client = Arc::new(client);
        client.send(Buf::new(8, 0).unwrap()).await.unwrap();
        let server = Reliable::new().packet(PACKET).wrap(listener.accept().await.unwrap()).await.unwrap();
        let received = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&received);
        let _receiving = runtime.spawn(async move {
            while let Ok(message) = server.recv().await {
                counter.fetch_add(message.len() as u64, Relaxed);
            }
        });
        let sender = Arc::clone(&client);
        let _sending =
            runtime.spawn(async move { while sender.send(Buf::new(1_337, 0).unwrap()).await.is_ok() {} });
        let mut samples = Vec::new();
        for number in 1..=seconds * 100 {
            runtime.sleep(PERIOD).await;
            samples.push(Sample {
                at: PERIOD.as_secs_f64() * number as f64,
                window: client.statistics().window as f64 / PACKET as f64,
                queue: network.queueing_delay(client_host, server_host).as_secs_f64() * 1e3,
                received: received.load(Relaxed),
            });
        }
        samples
    })
}
