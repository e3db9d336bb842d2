//! The echo by hand, with the promises of a stack.

use super::{ADDRESS, PORT, Serve, failed};
use crate::Error;
use crate::memif::frame::End;
use bertha_datapath_dpdk::{Burst, Config, Port};

/// A port, polled by hand, whose frames are [verified](End::open). The program shows the cost of an echo over UDP without a
/// stack: there are no connections, no neighbours and no runtime, and the answer goes to the sender of the frame.
#[derive(Debug)]
pub(super) struct ByHand(Port);

const SERVER: End = End::new(ADDRESS, PORT);

/// Turns a frame that is a whole datagram to this server into the answer with its payload. Returns the length
/// of the payload, if the frame was such a datagram.
#[inline]
fn answer(frame: &mut [u8]) -> Option<usize> {
    let arrived = SERVER.open(frame)?;
    let len = arrived.payload.len();
    arrived.return_by(&SERVER);
    Some(len)
}

impl Serve for ByHand {
    fn open(config: &Config) -> Result<Self, Error> {
        Port::open(config).map(Self).map_err(failed("opening a port"))
    }

    fn serve(&mut self) -> Result<(), Error> {
        let port = &mut self.0;
        port.enter_thread();
        let mut arrived = Burst::new();
        let mut leaving = Burst::new();
        let mut last = false;
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
        Ok(())
    }
}
