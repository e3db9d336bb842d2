//! Bundles of directions: the boxes of [`bertha_bundle`] in front of a link, and behind it.

use super::Network;
use bertha_bundle::{Bundle, Header, Measurement, Receivebox, Sendbox, SendboxStatistics};
use bertha_core::Buf;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The number of UDP in IP headers.
const UDP: u8 = 17;

/// The congestion control of a bundle: returns the rate for a measurement.
type InnerLoop = Box<dyn FnMut(&Measurement) -> Option<u64> + Send>;

/// The two boxes of a bundle.
pub(super) struct Boxes {
    send: Sendbox<(Held, Header)>,
    receive: Receivebox,
    inner_loop: InnerLoop,
    /// The identification of the next datagram.
    identification: u16,
    measured: Option<Measurement>,
    /// True if a departure is planned.
    is_planned: bool,
}

/// A datagram in a box.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) payload: Buf,
    pub(super) is_markable: bool,
}

/// The state of a [bundle](Network::bundle).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct BundleState {
    /// The counts of the sendbox.
    pub sendbox: SendboxStatistics,
    /// The time that all datagrams in the sendbox take.
    pub queueing_delay: Duration,
    /// Number of bytes that have arrived at the receivebox.
    pub received: u64,
    /// The last measurement, if there was one.
    pub measured: Option<Measurement>,
}

impl Network {
    /// Makes datagrams of these directions pass through a [`Sendbox`] in front of their links, and a
    /// [`Receivebox`] behind them, whose messages meet the faults of the links as datagrams do. The sendbox
    /// begins with `rate`, in bytes per second, and `inner_loop` returns the rate for each measurement; `None`
    /// is no limit. The boxes count payloads alone, as links do. The directions leave any earlier bundle.
    pub fn bundle<I: Into<IpAddr>>(
        &self,
        directions: impl IntoIterator<Item = (I, I)>,
        bundle: Bundle,
        rate: Option<u64>,
        inner_loop: impl FnMut(&Measurement) -> Option<u64> + Send + 'static,
    ) {
        let mut state = self.state();
        let number = state.bundles.len();
        let receive = Receivebox::new(bundle.key, number as u32);
        let mut send = Sendbox::new(bundle);
        send.set_rate(self.runtime().elapsed(), rate);
        state.bundles.push(Boxes {
            send,
            receive,
            inner_loop: Box::new(inner_loop),
            identification: 0,
            measured: None,
            is_planned: false,
        });
        let directions = directions.into_iter().map(|(from, to)| ((from.into(), to.into()), number));
        state.bundled.extend(directions);
    }

    /// Returns the state of the [bundle](Self::bundle) of this direction, if there is one.
    pub fn bundle_state(&self, from: impl Into<IpAddr>, to: impl Into<IpAddr>) -> Option<BundleState> {
        let state = self.state();
        let number = state.bundled.get(&(from.into(), to.into()))?;
        let boxes = state.bundles.get(*number)?;
        Some(BundleState {
            sendbox: boxes.send.statistics(),
            queueing_delay: boxes.send.queueing_delay(),
            received: boxes.receive.statistics().bytes,
            measured: boxes.measured,
        })
    }

    /// Puts a datagram into the sendbox of bundle `number`.
    pub(super) fn hold(&self, number: usize, held: Held) {
        let mut state = self.state();
        let Some(boxes) = state.bundles.get_mut(number) else { return };
        boxes.identification = boxes.identification.wrapping_add(1);
        let header = Header {
            len: held.payload.len() as u32,
            source: held.from,
            destination: held.to,
            protocol: UDP,
            dscp: 0,
            identity: Some(boxes.identification),
        };
        let dropped = boxes.send.push(&header, (held, header));
        state.counters.queue_full += dropped as u64;
        drop(state);
        self.release(number);
    }

    /// Sends what may leave the sendbox now, and plans the next departure.
    fn release(&self, number: usize) {
        let now = self.runtime().elapsed();
        loop {
            let mut state = self.state();
            let Some(boxes) = state.bundles.get_mut(number) else { return };
            if let Some((held, header)) = boxes.send.pop(now) {
                drop(state);
                self.depart(number, held, header);
                continue;
            }
            let Some(next) = boxes.send.next_at().filter(|_| !boxes.is_planned) else { return };
            boxes.is_planned = true;
            drop(state);
            self.later(next.saturating_sub(now), move |network| {
                if let Some(boxes) = network.state().bundles.get_mut(number) {
                    boxes.is_planned = false;
                }
                network.release(number);
            });
            return;
        }
    }

    fn depart(&self, number: usize, held: Held, header: Header) {
        let direction = (held.from.ip(), held.to.ip());
        // A failure means that there is no memory for a copy, which is as good as a loss.
        let Ok(Some(delay)) = self.cross(held) else { return };
        self.later(delay, move |network| {
            let now = network.runtime().elapsed();
            let mut state = network.state();
            let boxes = state.bundles.get_mut(number);
            let message = boxes.and_then(|boxes| boxes.receive.on_packet(now, &header));
            drop(state);
            let Some(message) = message else { return };
            network.send_message((direction.1, direction.0), message.len(), move |network| {
                network.measure(number, direction, &message);
            });
        });
    }

    /// Hands a message to the sendbox, sets its rate, and sends its answer.
    fn measure(&self, number: usize, direction: (IpAddr, IpAddr), message: &[u8]) {
        let now = self.runtime().elapsed();
        let mut state = self.state();
        let Some(boxes) = state.bundles.get_mut(number) else { return };
        if let Ok(Some(measurement)) = boxes.send.on_message(now, message) {
            let rate = (boxes.inner_loop)(&measurement);
            boxes.send.set_rate(now, rate);
            boxes.measured = Some(measurement);
        }
        let answer = boxes.send.take_message(now);
        drop(state);
        if let Some(answer) = answer {
            self.send_message(direction, answer.as_ref().len(), move |network| {
                if let Some(boxes) = network.state().bundles.get_mut(number) {
                    // A message of the sendbox is well formed; the receivebox counts others.
                    let _ = boxes.receive.on_message(answer.as_ref());
                }
            });
        }
        self.release(number);
    }

    /// Sends a message of `len` bytes between boxes, which may get lost.
    fn send_message(
        &self,
        (from, to): (IpAddr, IpAddr),
        len: usize,
        arrive: impl FnOnce(&Self) + Send + 'static,
    ) {
        let now = self.runtime().elapsed();
        let passage = self.state().draw(from, to, len, false, now);
        let Some(passage) = passage else { return };
        self.later(passage.delay, arrive);
    }

    fn later(&self, delay: Duration, then: impl FnOnce(&Self) + Send + 'static) {
        let network = self.clone();
        self.runtime().world.after(delay, move || then(&network));
    }
}

impl fmt::Debug for Boxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { send, receive, .. } = self;
        f.debug_struct("Boxes").field("send", send).field("receive", receive).finish_non_exhaustive()
    }
}
