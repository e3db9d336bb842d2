//! Datagrams from end to end of two DPDK ports that share memory, by hand: held back as those [over sockets](super::blast) are, by the
//! receiver's progress in memory, so that those on their way stay in the processor's cache.

use super::blast::{IN_FLIGHT, TIMEOUT};
use super::{Setup, file};
use crate::harness::{self, Placement};
use crate::memif::frame::{End, HEADERS};
use crate::{Error, ErrorKind};
use bertha_core::Buf;
use bertha_datapath_dpdk::{Burst, Config, Packet, Port};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

const SENDER: End = End::new(Ipv4Addr::new(10, 0, 0, 1), 7);
const RECEIVER: End = End::new(Ipv4Addr::new(10, 0, 0, 2), 4000);

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
        let arrived = AtomicU64::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                harness::pin(server_core).and_then(|()| send(sender, &file, setup.datagram, &arrived))
            });
            let received = harness::run_on(client_core, || receive(receiver, setup.bytes as u64, &arrived));
            let panicked = |_| Err(Error::new(ErrorKind::Core, "the sender panicked"));
            let sent = sending.join().unwrap_or_else(panicked);
            let elapsed = received?.duration_since(start);
            sent.map(|()| setup.bytes as f64 / elapsed.as_secs_f64())
        })
    }
}

fn send(port: &mut Port, file: &[u8], datagram: usize, arrived: &AtomicU64) -> Result<(), Error> {
    port.enter_thread();
    let (pool, headers) = (port.pool(), SENDER.to(&RECEIVER));
    let mut leaving = Burst::new();
    let mut sent = 0;
    for payload in file.chunks(datagram) {
        let mut frame: Buf = pool.buffer(HEADERS + payload.len(), 0).map_err(failed)?;
        if let Some((place, space)) = frame.split_first_chunk_mut() {
            space.copy_from_slice(payload);
            headers.sized(space.len()).seal(place, space);
        }
        let packet = Packet::from_buf(frame);
        let packet = packet.map_err(|_| Error::new(ErrorKind::Bertha, "a buffer is not of a port"))?;
        let pushed = leaving.push(packet);
        debug_assert!(pushed.is_ok(), "a burst that is full is sent");
        sent += payload.len() as u64;
        if leaving.is_full() || sent - arrived.load(Relaxed) >= IN_FLIGHT {
            transmit(port, &mut leaving)?;
            poll_until("the receiver takes no more", || sent - arrived.load(Relaxed) < IN_FLIGHT)?;
        }
    }
    transmit(port, &mut leaving)
}

/// Sends a burst, once there is room for it.
fn transmit(port: &mut Port, leaving: &mut Burst) -> Result<(), Error> {
    poll_until("the port takes no more", || {
        port.transmit(leaving);
        leaving.is_empty()
    })
}

/// Receives so many bytes, and returns the time of the last one.
fn receive(port: &mut Port, bytes: u64, progress: &AtomicU64) -> Result<Instant, Error> {
    port.enter_thread();
    let mut arrived = Burst::new();
    let mut received = 0;
    while received < bytes {
        poll_until("a datagram was lost", || port.receive(&mut arrived) > 0)?;
        while let Some(mut packet) = arrived.pop() {
            received += RECEIVER.open(packet.bytes_mut()).map_or(0, |datagram| datagram.payload.len() as u64);
        }
        progress.store(received, Relaxed);
    }
    Ok(Instant::now())
}

/// Polls until something has happened.
#[inline]
fn poll_until(otherwise: &'static str, mut happened: impl FnMut() -> bool) -> Result<(), Error> {
    let (mut polls, mut began) = (0_u64, None);
    while !happened() {
        polls += 1;
        if polls.is_multiple_of(POLLS) && began.get_or_insert_with(Instant::now).elapsed() > TIMEOUT {
            return Err(Error::new(ErrorKind::Stalled, otherwise));
        }
    }
    Ok(())
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "moving datagrams over ports by hand")(error)
}
