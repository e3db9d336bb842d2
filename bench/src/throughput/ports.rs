//! Datagrams from end to end of two DPDK ports that share memory, by hand: as fast as the ports take them, which drop none.

use super::{Setup, file};
use crate::harness::{self, Placement};
use crate::memif::frame::{End, HEADERS};
use crate::{Error, ErrorKind};
use bertha_core::Buf;
use bertha_datapath_dpdk::{Burst, Config, Packet, Port};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const SENDER: End = End::new(Ipv4Addr::new(10, 0, 0, 1), 7);
const RECEIVER: End = End::new(Ipv4Addr::new(10, 0, 0, 2), 4000);

/// Time without an arrival after which a datagram counts as lost.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Number of polls in vain between two looks at the clock.
const POLLS: u64 = 1 << 12;

/// The ports of a sender and of a receiver.
#[derive(Debug)]
pub(super) struct Ports {
    sender: Port,
    receiver: Port,
}

impl Ports {
    /// Opens the ports with these settings.
    pub(super) fn open(sender: &Config, receiver: &Config) -> Result<Self, Error> {
        let open = |config| Port::open(config).map_err(failed);
        Ok(Self { sender: open(sender)?, receiver: open(receiver)? })
    }

    /// Moves the file of a connection once.
    pub(super) fn run(&mut self, setup: &Setup) -> Result<f64, Error> {
        let (client_core, server_core) = Placement::AcrossCores.cores()?;
        let Self { sender, receiver } = self;
        let file = file(setup);
        let start = Instant::now();
        std::thread::scope(|scope| {
            let sending =
                scope.spawn(|| harness::pin(server_core).and_then(|()| send(sender, &file, setup.datagram)));
            let received = harness::run_on(client_core, || receive(receiver, setup.bytes));
            let panicked = |_| Err(Error::new(ErrorKind::Core, "the sender panicked"));
            let sent = sending.join().unwrap_or_else(panicked);
            let elapsed = received?.duration_since(start);
            sent.map(|()| setup.bytes as f64 / elapsed.as_secs_f64())
        })
    }
}

fn send(port: &mut Port, file: &[u8], datagram: usize) -> Result<(), Error> {
    port.enter_thread();
    let (pool, headers) = (port.pool(), SENDER.to(&RECEIVER));
    let mut leaving = Burst::new();
    for payload in file.chunks(datagram) {
        let mut frame: Buf = pool.buffer(HEADERS + payload.len(), 0).map_err(failed)?;
        if let Some((place, space)) = frame.split_first_chunk_mut() {
            space.copy_from_slice(payload);
            headers.sized(space.len()).seal(place, space);
        }
        let packet = Packet::from_buf(frame);
        let packet = packet.map_err(|_| Error::new(ErrorKind::Bertha, "a buffer is not of a port"))?;
        if let Err(packet) = leaving.push(packet) {
            transmit(port, &mut leaving)?;
            let pushed = leaving.push(packet);
            debug_assert!(pushed.is_ok(), "a burst that was sent has room");
        }
    }
    transmit(port, &mut leaving)
}

/// Sends a burst, once there is room for it.
fn transmit(port: &mut Port, leaving: &mut Burst) -> Result<(), Error> {
    let mut polls = 0_u64;
    let mut began = None;
    while !leaving.is_empty() {
        if port.transmit(leaving) == 0 {
            polls += 1;
            if polls.is_multiple_of(POLLS) && began.get_or_insert_with(Instant::now).elapsed() > TIMEOUT {
                return Err(Error::new(ErrorKind::Stalled, "the receiver takes no more"));
            }
        }
    }
    Ok(())
}

/// Receives so many bytes, and returns the time of the last one.
fn receive(port: &mut Port, bytes: usize) -> Result<Instant, Error> {
    port.enter_thread();
    let mut arrived = Burst::new();
    let (mut received, mut polls, mut progress) = (0, 0_u64, Instant::now());
    while received < bytes {
        if port.receive(&mut arrived) == 0 {
            polls += 1;
            if polls.is_multiple_of(POLLS) && progress.elapsed() > TIMEOUT {
                return Err(Error::new(ErrorKind::Stalled, "a datagram was lost"));
            }
            continue;
        }
        progress = Instant::now();
        while let Some(mut packet) = arrived.pop() {
            received += RECEIVER.open(packet.bytes_mut()).map_or(0, |datagram| datagram.payload.len());
        }
    }
    Ok(Instant::now())
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "moving datagrams over ports by hand")(error)
}
