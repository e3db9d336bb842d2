//! The client.

use super::{ADDRESS, Load, PORT, Sample};
use crate::harness::Recorder;
use crate::memif::frame::HEADERS;
use crate::{Error, ErrorKind};
use bertha_core::Buf;
use bertha_datapath_dpdk::{Burst, Packet, Port, Subnet};
use bertha_netstack::{Checksums, Flow, Interface, MacAddr, Path, Route, Stack};
use std::time::{Duration, Instant};

/// UDP port of the client.
const OWN: u16 = 4000;

/// Time without an echo after which the server counts as gone.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A client that keeps frames in flight.
#[derive(Debug)]
pub(super) struct Client {
    port: Port,
    /// The stack that answers the server's questions about this end's hardware address.
    stack: Option<Stack>,
    /// The way to the server.
    way: Option<Path>,
}

impl Client {
    pub(super) fn new(port: Port) -> Self {
        Self { port, stack: None, way: None }
    }

    pub(super) fn measure(&mut self, load: Load) -> Result<Sample, Error> {
        self.port.enter_thread();
        let path = match &self.way {
            Some(way) => way.clone(),
            None => {
                let found = self.find()?;
                self.way.insert(found).clone()
            }
        };
        // Both ends' caches and clocks warm up.
        self.keep_up(&path, load.len, load.in_flight, load.messages / 10)?;
        let started = Instant::now();
        let echoes = self.keep_up(&path, load.len, load.in_flight, load.messages)?;
        let messages_per_second = echoes as f64 / started.elapsed().as_secs_f64();
        let latency = self.time(&path, load.len, load.rounds);
        // The server has to end in any case.
        self.keep_up(&path, 1, 1, 1)?;
        Ok(Sample { messages_per_second, latency: latency?.summary() })
    }

    /// Finds the server's hardware address; for a server by hand any address will do.
    fn find(&mut self) -> Result<Path, Error> {
        let subnet: Subnet = "10.0.0.2/24"
            .parse()
            .map_err(Error::while_doing(ErrorKind::Bertha, "naming the client's address"))?;
        let interface = Interface::new(self.port.mac(), self.port.mtu(), None, &[subnet], &[])
            .map_err(Error::while_doing(ErrorKind::Bertha, "setting up the client"))?;
        let flow = Flow::new((ADDRESS, PORT).into(), OWN);
        let started = Instant::now();
        let mut burst = Burst::new();
        while !self.port.is_up() {
            if started.elapsed() > TIMEOUT {
                return Err(Error::new(ErrorKind::Stalled, "the ports have not found each other"));
            }
        }
        let mut stack = Stack::new(interface.clone(), started);
        let until = Instant::now() + Duration::from_millis(500);
        while Instant::now() < until {
            if let Route::Ready(path) = stack.route(flow, Instant::now()) {
                self.stack = Some(stack);
                return Ok(path);
            }
            while let Some(frame) = stack.poll_transmit(<[u8]>::to_vec) {
                self.send(&frame)?;
            }
            self.port.receive(&mut burst);
            while let Some(mut packet) = burst.pop() {
                stack.receive(packet.bytes_mut(), Checksums::Unknown, Instant::now());
            }
        }
        // A server by hand does not answer ARP, so the answer is made here.
        let server = MacAddr([2, 0, 0, 0, 0, 1]);
        let subnet = format!("{ADDRESS}/24")
            .parse::<Subnet>()
            .map_err(Error::while_doing(ErrorKind::Bertha, "naming the server's address"))?;
        let interface = Interface::new(server, self.port.mtu(), None, &[subnet], &[])
            .map_err(Error::while_doing(ErrorKind::Bertha, "setting up the server"))?;
        let mut other = Stack::new(interface, started);
        let now = Instant::now();
        // A new stack asks at once.
        stack = Stack::new(stack.interface().clone(), now);
        let _ = stack.route(flow, now);
        while let Some(mut question) = stack.poll_transmit(<[u8]>::to_vec) {
            other.receive(&mut question, Checksums::Unknown, now);
        }
        while let Some(mut answer) = other.poll_transmit(<[u8]>::to_vec) {
            stack.receive(&mut answer, Checksums::Unknown, now);
        }
        match stack.route(flow, now) {
            Route::Ready(path) => Ok(path),
            _ => Err(Error::new(ErrorKind::Stalled, "no way to the server")),
        }
    }

    /// Processes a frame that is no echo, and answers it if it is a question of the server.
    #[cold]
    fn hear(&mut self, mut packet: Packet) -> Result<(), Error> {
        let Some(mut stack) = self.stack.take() else { return Ok(()) };
        stack.receive(packet.bytes_mut(), Checksums::Unknown, Instant::now());
        while let Some(frame) = stack.poll_transmit(<[u8]>::to_vec) {
            self.send(&frame)?;
        }
        self.stack = Some(stack);
        Ok(())
    }

    fn send(&mut self, frame: &[u8]) -> Result<(), Error> {
        let buffer = self.port.pool().buffer(frame.len(), 0);
        let mut buffer: Buf = buffer.map_err(super::failed("making a frame"))?;
        buffer.copy_from_slice(frame);
        let mut burst = Burst::new();
        if let Ok(packet) = Packet::from_buf(buffer) {
            let _ = burst.push(packet);
        }
        while !burst.is_empty() {
            self.port.transmit(&mut burst);
        }
        Ok(())
    }

    /// Keeps `in_flight` frames in flight until `messages` have come back; then waits for the rest.
    fn keep_up(&mut self, path: &Path, len: usize, in_flight: usize, messages: u64) -> Result<u64, Error> {
        let mut frame = vec![7; path.len() + len];
        path.seal(&mut frame);
        for _ in 0..in_flight {
            self.send(&frame)?;
        }
        let mut arrived = Burst::new();
        let mut leaving = Burst::new();
        let mut left = in_flight as u64;
        let mut echoes = 0;
        let mut progress = Instant::now();
        while left > 0 {
            if self.port.receive(&mut arrived) == 0 {
                if echoes % 64 == 0 && progress.elapsed() > TIMEOUT {
                    return Err(Error::new(ErrorKind::Stalled, format!("{left} echoes are missing")));
                }
                continue;
            }
            while let Some(mut packet) = arrived.pop() {
                if !turn_round(packet.bytes_mut(), OWN) {
                    self.hear(packet)?;
                    continue;
                }
                echoes += 1;
                if echoes + left > messages {
                    left -= 1;
                } else {
                    let _ = leaving.push(packet);
                }
            }
            progress = if echoes % 64 == 0 { Instant::now() } else { progress };
            while !leaving.is_empty() {
                self.port.transmit(&mut leaving);
            }
        }
        Ok(echoes)
    }

    /// Times echoes, one at a time.
    fn time(&mut self, path: &Path, len: usize, rounds: u64) -> Result<Recorder, Error> {
        let mut recorder = Recorder::new()?;
        let mut frame = vec![7; path.len() + len];
        path.seal(&mut frame);
        self.send(&frame)?;
        let mut burst = Burst::new();
        let mut sent = Instant::now();
        let mut polls = 0_u64;
        while recorder.count() < rounds {
            if self.port.receive(&mut burst) == 0 {
                polls += 1;
                if polls.is_multiple_of(1 << 20) && sent.elapsed() > TIMEOUT {
                    return Err(Error::new(ErrorKind::Stalled, "an echo is missing"));
                }
                continue;
            }
            let now = Instant::now();
            recorder.record(now - sent);
            let last = recorder.count() == rounds;
            let frames: usize = burst.iter_mut().map(|it| usize::from(turn_round(it.bytes_mut(), OWN))).sum();
            if last || frames == 0 {
                while let Some(packet) = burst.pop() {
                    self.hear(packet)?;
                }
                continue;
            }
            sent = Instant::now();
            while !burst.is_empty() {
                self.port.transmit(&mut burst);
            }
        }
        Ok(recorder)
    }
}

/// Offsets of the parts of a frame: Ethernet, IPv4 without options, UDP.
const ETHERTYPE: usize = 12;
const PROTOCOL: usize = 14 + 9;
const SOURCE: usize = 14 + 12;
const DESTINATION: usize = 14 + 16;
const PORTS: usize = 14 + 20;

/// Turns a frame to `port` into a frame back to its sender, in place, so that no checksum has to be computed.
/// Returns true if the frame was for `port`.
#[inline]
fn turn_round(frame: &mut [u8], port: u16) -> bool {
    let Some(headers) = frame.first_chunk_mut::<HEADERS>() else { return false };
    if headers[ETHERTYPE..ETHERTYPE + 2] != [8, 0]
        || headers[PROTOCOL] != 17
        || headers[PORTS + 2..PORTS + 4] != port.to_be_bytes()
    {
        return false;
    }
    let (to, from) = headers.split_at_mut(6);
    to.swap_with_slice(&mut from[..6]);
    let (from, to) = headers.split_at_mut(DESTINATION);
    from[SOURCE..].swap_with_slice(&mut to[..4]);
    headers.swap(PORTS, PORTS + 2);
    headers.swap(PORTS + 1, PORTS + 3);
    true
}
