//! The key-value store on two DPDK ports that share memory, and a client for it, both without Chunnels or a network stack: each end
//! polls its port, verifies and decodes the datagrams of a burst one after another, and encodes what it sends into the buffers that
//! have arrived. Messages have the format of the store over the same ports, and no checksum besides UDP's, as there.

mod client;
mod server;

use super::codec::{Format, Postcard};
use super::{Sample, Setup};
use crate::harness::{self, Placement};
use crate::memif::config;
use crate::memif::frame::{End, HEADERS, Headers};
use crate::{Error, ErrorKind};
use bertha_core::Buf;
use bertha_datapath_dpdk::{Burst, Config, Packet, Port};
use bertha_kvstore::Message;
use client::Client;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SERVER: End = End::new(Ipv4Addr::new(10, 0, 0, 1), 7);
const CLIENT: End = End::new(Ipv4Addr::new(10, 0, 0, 2), 4000);

/// Largest number of bytes in a datagram of Ethernet.
const MOST: usize = 1472;

/// The ports of a store and of its client.
#[derive(Debug)]
pub(crate) struct Ports {
    server: Port,
    client: Port,
}

impl Ports {
    /// Opens both ports. `number` tells pairs apart.
    ///
    /// # Errors
    /// [`ErrorKind::Bertha`] if DPDK or a port is missing.
    pub(crate) fn open(number: u32) -> Result<Self, Error> {
        // All pairs of a process have to fit into the memory that DPDK took when the first pair was opened.
        let open = |side, role, address| {
            let config = Config { buffers: 4095, ..config(number, side, role, address) };
            Port::open(&config).map_err(failed)
        };
        Ok(Self { server: open(0, "server", "10.0.0.1/24")?, client: open(1, "client", "10.0.0.2/24")? })
    }

    /// Loads an empty store, and measures, with each end on a core of its own.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] with fewer than two usable cores, [`ErrorKind::Stalled`] if the store stops answering,
    /// [`ErrorKind::Codec`] if it refuses a request.
    pub(crate) fn measure(&mut self, setup: &Setup) -> Result<Sample, Error> {
        let (client_core, server_core) = Placement::AcrossCores.cores()?;
        let Self { server, client } = self;
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let serving =
                scope.spawn(|| harness::pin(server_core).and_then(|()| server::serve(server, &over)));
            let sample = harness::run_on(client_core, || Client::new(client, setup).measure(setup));
            over.store(true, Relaxed);
            let panicked = |_| Err(Error::new(ErrorKind::Core, "the store panicked"));
            serving.join().unwrap_or_else(panicked).and(sample)
        })
    }
}

/// Makes a datagram of a message, in a buffer of a port.
#[inline]
fn datagram(mut buffer: Buf, headers: Headers, message: &Message) -> Result<Packet, Error> {
    buffer.truncate(0);
    let space = buffer.grow(HEADERS + MOST).map_err(failed)?;
    let Some((place, space)) = space.split_first_chunk_mut() else {
        return Err(Error::new(ErrorKind::Codec, "there is no room for headers"));
    };
    let len = Postcard::encode(message, space)?;
    headers.sized(len).seal(place, &space[..len]);
    buffer.truncate(HEADERS + len);
    Packet::from_buf(buffer).map_err(|_| Error::new(ErrorKind::Bertha, "a buffer is not of a port"))
}

/// Sends a burst, once there is room for it.
#[inline]
fn send(port: &mut Port, leaving: &mut Burst) {
    while !leaving.is_empty() {
        port.transmit(leaving);
    }
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "running a store on ports by hand")(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::Workload;

    /// A test of its own, since a process opens DPDK once.
    #[test]
    fn every_request_is_answered() {
        if harness::usable().unwrap().len() < 2 {
            return;
        }
        let mut ports = match Ports::open(0) {
            Ok(ports) => ports,
            Err(error) => {
                eprintln!("not tried: {error}");
                return;
            }
        };
        let workload = Workload { records: 50, value_bytes: 10, reads: 0.5 };
        for in_flight in [1, 300] {
            let setup = Setup { in_flight, requests: 501, workload, ..Setup::default() };
            let sample = ports.measure(&setup).unwrap();
            assert!(sample.requests_per_second > 0.0 && sample.latency.p50_us > 0.0, "{sample:?}");
        }
    }
}
