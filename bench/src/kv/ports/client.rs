//! The client: a closed loop over a port.

use super::{CLIENT, HEADERS, Headers, MOST, SERVER, datagram, failed, send};
use crate::Error;
use crate::harness::Recorder;
use crate::kv::closed_loop::{ClosedLoop, Due};
use crate::kv::codec::{Format, Postcard};
use crate::kv::workload::{Phase, Script};
use crate::kv::{Sample, Setup};
use bertha_core::Buf;
use bertha_datapath_dpdk::{Burst, Packet, Port};
use std::time::Instant;

/// Number of polls in vain between two looks at the clock.
const POLLS: u64 = 1 << 12;

/// A client of the store.
pub(super) struct Client<'a> {
    port: &'a mut Port,
    window: ClosedLoop,
    headers: Headers,
    leaving: Burst,
}

impl<'a> Client<'a> {
    pub(super) fn new(port: &'a mut Port, setup: &Setup) -> Self {
        let window = ClosedLoop::new(setup.in_flight, setup.timeout);
        Self { port, window, headers: CLIENT.to(&SERVER), leaving: Burst::new() }
    }

    /// Loads the store, and measures.
    pub(super) fn measure(mut self, setup: &Setup) -> Result<Sample, Error> {
        self.port.enter_thread();
        let mut script = setup.workload.script()?;
        let records = script.records();
        self.run(&mut script, Phase::Load, records, &mut Recorder::new()?)?;
        let mut latency = Recorder::new()?;
        let started = Instant::now();
        self.run(&mut script, Phase::Mix, setup.requests, &mut latency)?;
        Ok(Sample::new(&latency, started.elapsed(), self.window.resent()))
    }

    fn run(
        &mut self,
        script: &mut Script,
        phase: Phase,
        requests: u64,
        latency: &mut Recorder,
    ) -> Result<(), Error> {
        self.window.begin(requests);
        let mut heard = Instant::now();
        while let Some(due) = self.window.fill(heard) {
            let buffer = self.buffer()?;
            self.push(buffer, script, phase, due)?;
        }
        send(self.port, &mut self.leaving);
        let mut arrived = Burst::new();
        let mut polls = 0_u64;
        while !self.window.is_over() {
            if self.port.receive(&mut arrived) == 0 {
                polls += 1;
                if polls.is_multiple_of(POLLS) && heard.elapsed() > self.window.timeout() {
                    heard = Instant::now();
                    self.send_again(script, phase)?;
                }
                continue;
            }
            heard = Instant::now();
            while let Some(mut packet) = arrived.pop() {
                let Some(reply) = CLIENT.open(packet.bytes_mut()) else { continue };
                let Ok(reply) = Postcard::decode(reply.payload) else { continue };
                if let Some(due) = self.window.reply(&reply, heard, latency)? {
                    self.push(packet.into_buf(), script, phase, due)?;
                }
            }
            send(self.port, &mut self.leaving);
        }
        Ok(())
    }

    #[cold]
    fn send_again(&mut self, script: &mut Script, phase: Phase) -> Result<(), Error> {
        let lost: Vec<_> = self.window.lost()?.collect();
        for due in lost {
            let buffer = self.buffer()?;
            self.push(buffer, script, phase, due)?;
        }
        send(self.port, &mut self.leaving);
        Ok(())
    }

    fn buffer(&self) -> Result<Buf, Error> {
        self.port.pool().buffer(HEADERS + MOST, 0).map_err(failed)
    }

    /// Adds a request to those that leave together, and sends these if there is no room.
    #[inline]
    fn push(&mut self, buffer: Buf, script: &mut Script, phase: Phase, due: Due) -> Result<(), Error> {
        let request = script.request(phase, due.position);
        request.id = due.id;
        let packet: Packet = datagram(buffer, self.headers, request)?;
        if let Err(packet) = self.leaving.push(packet) {
            send(self.port, &mut self.leaving);
            let pushed = self.leaving.push(packet);
            debug_assert!(pushed.is_ok(), "a burst that was sent has room");
        }
        Ok(())
    }
}
