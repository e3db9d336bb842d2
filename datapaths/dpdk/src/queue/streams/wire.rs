//! A network device for smoltcp: a single packet in, and room for packets out.

use super::cookies::Shift;
use super::guard::Head;
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use std::ops::DerefMut;

/// The way of packets out.
pub(super) trait Outlet {
    /// Memory for a packet of any length, which is freed when it is dropped.
    type Room: DerefMut<Target = [u8]>;

    /// Returns true if no packet can be sent at this moment.
    fn is_full(&mut self) -> bool;

    /// Returns memory for a packet, if there is some.
    fn room(&mut self) -> Option<Self::Room>;

    /// Sends the first `len` bytes of `packet`, or drops it while the outlet is full.
    fn send(&mut self, packet: Self::Room, len: usize);
}

/// A device that receives at most one packet. The stack below has verified its checksums.
pub(super) struct Wire<'a, O> {
    pub(super) arrived: Option<&'a [u8]>,
    pub(super) outlet: &'a mut O,
    pub(super) mtu: usize,
    /// The shift of the numbers of packets that are sent.
    pub(super) shift: Shift,
    /// True if a packet could not be sent.
    pub(super) blocked: bool,
    /// The sequence number behind the last packet that was sent, before it was shifted.
    pub(super) sent_to: Option<u32>,
}

impl<'a, O: Outlet> Wire<'a, O> {
    pub(super) fn new(arrived: Option<&'a [u8]>, outlet: &'a mut O, mtu: usize) -> Self {
        Self { arrived, outlet, mtu, shift: Shift::default(), blocked: false, sent_to: None }
    }

    fn exit(&mut self) -> Option<Exit<'_, O>> {
        let room = self.outlet.room();
        self.blocked |= room.is_none();
        Some(Exit { room: room?, outlet: self.outlet, shift: self.shift, sent_to: &mut self.sent_to })
    }
}

impl<O: Outlet> Device for Wire<'_, O> {
    type RxToken<'b>
        = Entry<'b>
    where
        Self: 'b;
    type TxToken<'b>
        = Exit<'b, O>
    where
        Self: 'b;

    fn receive(&mut self, _: Instant) -> Option<(Entry<'_>, Exit<'_, O>)> {
        let entry = Entry(self.arrived.take()?);
        Some((entry, self.exit()?))
    }

    fn transmit(&mut self, _: Instant) -> Option<Exit<'_, O>> {
        self.blocked |= self.outlet.is_full();
        if self.blocked { None } else { self.exit() }
    }

    fn capabilities(&self) -> DeviceCapabilities {
        capabilities(self.mtu)
    }
}

fn capabilities(mtu: usize) -> DeviceCapabilities {
    let mut capabilities = DeviceCapabilities::default();
    capabilities.medium = Medium::Ip;
    capabilities.max_transmission_unit = mtu;
    capabilities.checksum.ipv4 = Checksum::Tx;
    capabilities.checksum.tcp = Checksum::Tx;
    capabilities
}

/// An arrived packet.
pub(super) struct Entry<'a>(&'a [u8]);

impl RxToken for Entry<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(self.0)
    }
}

/// Memory for a packet to send.
pub(super) struct Exit<'a, O: Outlet> {
    room: O::Room,
    outlet: &'a mut O,
    shift: Shift,
    sent_to: &'a mut Option<u32>,
}

impl<O: Outlet> TxToken for Exit<'_, O> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let Self { mut room, outlet, shift, sent_to } = self;
        let outcome = write(&mut room[..len]);
        *sent_to = Head::parse(&room[..len]).and_then(Head::end).or(*sent_to);
        shift.leave(&mut room[..len]);
        outlet.send(room, len);
        outcome
    }
}

/// The outlet of a connection that has no way to its peer at this moment. Replies to arriving packets are lost,
/// as on a wire, and nothing else is sent.
pub(super) struct NoWay {
    pub(super) mtu: usize,
}

impl Outlet for NoWay {
    type Room = Vec<u8>;

    fn is_full(&mut self) -> bool {
        true
    }

    fn room(&mut self) -> Option<Vec<u8>> {
        Some(vec![0; self.mtu])
    }

    fn send(&mut self, _: Vec<u8>, _: usize) {}
}

/// An outlet that keeps a single packet.
pub(super) struct Catch {
    pub(super) mtu: usize,
    pub(super) packet: Option<Vec<u8>>,
}

impl Outlet for Catch {
    type Room = Vec<u8>;

    fn is_full(&mut self) -> bool {
        self.packet.is_some()
    }

    fn room(&mut self) -> Option<Vec<u8>> {
        Some(vec![0; self.mtu])
    }

    fn send(&mut self, mut packet: Vec<u8>, len: usize) {
        packet.truncate(len);
        self.packet = Some(packet);
    }
}

/// An outlet that takes no packets.
pub(super) struct Nowhere;

impl Outlet for Nowhere {
    type Room = Vec<u8>;

    fn is_full(&mut self) -> bool {
        true
    }

    fn room(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn send(&mut self, _: Vec<u8>, _: usize) {}
}
