//! The loop of a receivebox.

use super::capture::{Capture, Captured};
use crate::printer::Printer;
use crate::waiting::until_readable;
use bertha_bundle::{Receivebox, ReceiveboxStatistics};
use bertha_core::Error;
use bertha_program::Termination;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// The number of packets, or of messages, that are read before the other kind gets its turn.
const BURST: usize = 64;

/// Number of bytes of a message that are read: more than any message has, so that a longer one is malformed.
const MESSAGE: usize = 64;

/// An interface, a socket, and the box between them.
pub(super) struct Observer {
    capture: Capture,
    socket: UdpSocket,
    receivebox: Receivebox,
    /// Number of messages to the sendbox that were not sent.
    unsent: u64,
    printer: Printer,
    printed: ReceiveboxStatistics,
    start: Instant,
}

impl Observer {
    pub(super) fn new(capture: Capture, socket: UdpSocket, receivebox: Receivebox, printer: Printer) -> Self {
        let printed = ReceiveboxStatistics::default();
        Self { capture, socket, receivebox, unsent: 0, printer, printed, start: Instant::now() }
    }

    /// Acknowledges packets until a signal comes.
    ///
    /// # Errors
    /// Errors of the interface.
    pub(super) fn run(mut self, termination: &Termination) -> Result<(), Error> {
        while !termination.has_come() {
            self.take_packets()?;
            self.take_messages();
            self.print();
            until_readable(&self.capture, &self.socket, Duration::MAX);
        }
        Ok(())
    }

    fn take_packets(&mut self) -> Result<(), Error> {
        let now = self.start.elapsed();
        for _ in 0..BURST {
            let header = match self.capture.next()? {
                Captured::Nothing => break,
                // Packets of others take turns, too: a flood of them keeps neither messages nor a signal waiting.
                Captured::Other => continue,
                Captured::OfBundle(header) => header,
            };
            if let Some(message) = self.receivebox.on_packet(now, &header) {
                // A message that is lost tells nothing that the next one does not tell.
                self.unsent += u64::from(self.socket.send(&message).is_err());
            }
        }
        Ok(())
    }

    fn take_messages(&mut self) {
        let mut bytes = [0; MESSAGE];
        for _ in 0..BURST {
            match self.socket.recv(&mut bytes) {
                // The box counts malformed messages.
                Ok(len) => _ = self.receivebox.on_message(bytes.get(..len).unwrap_or_default()),
                // An earlier message has found no sendbox, which may come later.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => self.unsent += 1,
                Err(_) => break,
            }
        }
    }

    fn print(&mut self) {
        let Some(elapsed) = self.printer.elapsed(self.start.elapsed()) else { return };
        self.capture.count_missed();
        let now = self.receivebox.statistics();
        let bytes = now.bytes.wrapping_sub(self.printed.bytes);
        let ReceiveboxStatistics { packets, unnamed, acknowledgements, epoch, resizes, malformed, .. } = now;
        let Capture { unreadable, joined, missed, .. } = self.capture;
        self.printer.print(format!(
            "received: {:.2} Mbit/s, packets: {packets}, unnamed: {unnamed}, joined: {joined}, unreadable: {unreadable}, missed: {missed}; \
             epoch: {epoch}, acknowledgements: {acknowledgements}; messages: {resizes}, malformed: {malformed}, unsent: {}",
            bytes as f64 * 8e-6 / elapsed.as_secs_f64(),
            self.unsent,
        ));
        self.printed = now;
    }
}
