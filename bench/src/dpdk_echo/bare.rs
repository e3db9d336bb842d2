//! The echo without a stack.

use super::{PORT, Serve, failed};
use crate::Error;
use bertha_datapath_dpdk::{Burst, Config, Port};

/// A port, polled by hand. Frames are checked no further than is needed to know them, and turned round in place, so that
/// no checksum has to be computed.
#[derive(Debug)]
pub struct Bare(Port);

/// Where the parts of a frame lie: Ethernet, IPv4 without options, UDP.
const ETHERTYPE: usize = 12;
const PROTOCOL: usize = 14 + 9;
const SOURCE: usize = 14 + 12;
const DESTINATION: usize = 14 + 16;
const PORTS: usize = 14 + 20;

/// The length of all headers.
pub(super) const HEADERS: usize = PORTS + 8;

/// The length of a frame with one byte.
pub(super) const LAST: usize = HEADERS + 1;

/// Makes a frame to `port` one back to its sender; whether it was one.
#[inline]
pub(crate) fn turn_round(frame: &mut [u8], port: u16) -> bool {
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

impl Serve for Bare {
    fn open(config: &Config) -> Result<Self, Error> {
        Port::open(config).map(Self).map_err(failed("opening a port"))
    }

    fn serve(&mut self) -> Result<(), Error> {
        // A frame that is turned round has all headers.
        serve(&mut self.0, |frame| turn_round(frame, PORT).then(|| frame.len() - HEADERS));
        Ok(())
    }
}

/// Sends the frames back that `answer` makes answers, and tells the payload's length of, until one has a single byte.
#[inline]
pub(super) fn serve(port: &mut Port, answer: impl Fn(&mut [u8]) -> Option<usize>) {
    port.enter_thread();
    let (mut arrived, mut leaving, mut last) = (Burst::new(), Burst::new(), false);
    while !last {
        port.receive(&mut arrived);
        while let Some(mut packet) = arrived.pop() {
            if let Some(len) = answer(packet.bytes_mut()) {
                last |= len == 1;
                let pushed = leaving.push(packet);
                debug_assert!(pushed.is_ok(), "no more leave than have arrived");
            }
        }
        while !leaving.is_empty() {
            port.transmit(&mut leaving);
        }
    }
}
