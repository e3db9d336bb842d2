//! The loop of a sendbox.

use super::counts::Counts;
use super::line::{State, line};
use crate::failure::at;
use crate::printer::Printer;
use crate::waiting::until_readable;
use bertha_bundle::{Header, Sendbox};
use bertha_ccp::BundleControl;
use bertha_core::Error;
use bertha_program::Termination;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// The number of packets, or of messages, that are read before the other kind gets its turn.
const BURST: usize = 64;

/// Number of bytes of the longest packet.
const LONGEST: usize = 1 << 16;

/// A device, a socket, and the box between them.
pub(super) struct Forwarder {
    device: File,
    socket: UdpSocket,
    sendbox: Sendbox<Box<[u8]>>,
    control: BundleControl,
    /// The address of the receivebox: that of the last message with a measurement, which nobody forges who has not seen the
    /// messages.
    receivebox: Option<SocketAddr>,
    round_trip: Option<Duration>,
    counts: Counts,
    printer: Printer,
    printed: State,
    start: Instant,
}

impl Forwarder {
    pub(super) fn new(
        device: File,
        socket: UdpSocket,
        sendbox: Sendbox<Box<[u8]>>,
        control: BundleControl,
        printer: Printer,
    ) -> Self {
        let (receivebox, round_trip, counts, printed) = Default::default();
        let start = Instant::now();
        Self { device, socket, sendbox, control, receivebox, round_trip, counts, printer, printed, start }
    }

    /// Forwards packets until a signal comes. Packets that wait then are sent at once.
    ///
    /// # Errors
    /// Errors of the device.
    pub(super) fn run(mut self, termination: &Termination) -> Result<(), Error> {
        let mut buffer = vec![0; LONGEST];
        while !termination.has_come() {
            self.take_packets(&mut buffer)?;
            self.take_messages(&mut buffer);
            self.give_back();
            self.tell_receivebox();
            self.print();
            let now = self.start.elapsed();
            let wait = self.sendbox.next_at().map_or(Duration::MAX, |at| at.saturating_sub(now));
            until_readable(&self.device, &self.socket, wait);
        }
        self.sendbox.set_rate(self.start.elapsed(), None);
        self.give_back();
        Ok(())
    }

    fn take_packets(&mut self, buffer: &mut [u8]) -> Result<(), Error> {
        for _ in 0..BURST {
            let len = match self.device.read(buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(at(error, "reading packets from the device")),
            };
            let packet = buffer.get(..len).unwrap_or_default();
            // A sendbox counts the length that the header gives.
            match Header::parse(packet)
                .ok()
                .and_then(|header| Some((header, packet.get(..header.len as usize)?)))
            {
                // Memory of its own length: the bound of waiting bytes bounds the memory, too.
                Some((header, packet)) => _ = self.sendbox.push(&header, packet.into()),
                None => self.counts.unreadable += 1,
            }
        }
        Ok(())
    }

    fn take_messages(&mut self, buffer: &mut [u8]) {
        for _ in 0..BURST {
            // An error of the socket tells of an earlier message that did not arrive, as loss does.
            let Ok((len, from)) = self.socket.recv_from(buffer) else { break };
            let now = self.start.elapsed();
            // The box counts malformed messages.
            let message = buffer.get(..len).unwrap_or_default();
            let Ok(Some(measurement)) = self.sendbox.on_message(now, message) else { continue };
            self.receivebox = Some(from);
            self.round_trip = Some(measurement.round_trip);
            let rate = self.control.on_measurement(&measurement);
            self.sendbox.set_rate(now, rate);
        }
    }

    fn give_back(&mut self) {
        while let Some(packet) = self.sendbox.pop(self.start.elapsed()) {
            // A packet that the system does not take is lost, as on any link.
            self.counts.refused += u64::from(self.device.write_all(&packet).is_err());
        }
    }

    fn tell_receivebox(&mut self) {
        let Some(receivebox) = self.receivebox else { return };
        if let Some(message) = self.sendbox.take_message(self.start.elapsed()) {
            // A message that is lost is due again after the next acknowledgement.
            let sent = self.socket.send_to(message.as_ref(), receivebox);
            self.counts.unsent += u64::from(sent.is_err());
        }
    }

    fn print(&mut self) {
        let Some(elapsed) = self.printer.elapsed(self.start.elapsed()) else { return };
        let state = State {
            statistics: self.sendbox.statistics(),
            counts: self.counts,
            rate: self.sendbox.rate(),
            round_trip: self.round_trip,
            queueing: self.sendbox.queueing_delay(),
        };
        self.printer.print(line(&state, &self.printed, elapsed));
        self.printed = state;
    }
}
