//! Bundles of directions: boxes of [`bundler`](crate::bundler) in front of a link, and behind it.

use super::Network;
use crate::bundler::{Bundle, Departure, Receivebox, Sendbox};
use crate::rng::Rng;
use bertha_core::Buf;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The two boxes of a bundle.
#[derive(Debug)]
pub(super) struct Boxes {
    send: Sendbox<Held>,
    receive: Receivebox,
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

impl Network {
    /// Makes datagrams of these directions pass through a [`Sendbox`] in front of their links, and a
    /// [`Receivebox`] behind them, whose reports take the delay of the link back and are never lost. The
    /// directions leave any earlier bundle.
    pub fn bundle<I: Into<IpAddr>>(&self, directions: impl IntoIterator<Item = (I, I)>, bundle: Bundle) {
        let mut state = self.state();
        let number = state.bundles.len();
        state.bundles.push(Boxes {
            send: Sendbox::new(bundle),
            receive: Receivebox::default(),
            is_planned: false,
        });
        let directions = directions.into_iter().map(|(from, to)| ((from.into(), to.into()), number));
        state.bundled.extend(directions);
    }

    /// Returns the time that all waiting datagrams in the sendbox of this direction take; zero without a
    /// [`bundle`](Self::bundle).
    pub fn bundle_delay(&self, from: impl Into<IpAddr>, to: impl Into<IpAddr>) -> Duration {
        let state = self.state();
        let number = state.bundled.get(&(from.into(), to.into()));
        let boxes = number.and_then(|number| state.bundles.get(*number));
        boxes.map_or(Duration::ZERO, |boxes| boxes.send.queueing_delay())
    }

    /// Puts a datagram into the sendbox of bundle `number`.
    pub(super) fn hold(&self, number: usize, held: Held) {
        let mut state = self.state();
        let len = held.payload.len() as u64;
        let Some(boxes) = state.bundles.get_mut(number) else { return };
        let dropped = boxes.send.push(flow(held.from, held.to), len, held);
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
            if let Some(Departure { packet, epoch }) = boxes.send.pop(now) {
                drop(state);
                self.depart(number, packet, epoch);
                continue;
            }
            let Some(next) = boxes.send.next_at().filter(|_| !boxes.is_planned) else { return };
            boxes.is_planned = true;
            drop(state);
            let network = self.clone();
            self.runtime().world.after(next.saturating_sub(now), move || {
                if let Some(boxes) = network.state().bundles.get_mut(number) {
                    boxes.is_planned = false;
                }
                network.release(number);
            });
            return;
        }
    }

    fn depart(&self, number: usize, packet: Held, epoch: Option<u64>) {
        let from = packet.from;
        let to = packet.to;
        let len = packet.payload.len() as u64;
        // A failure means that there is no memory for a copy, which is as good as a loss.
        let Ok(Some(delay)) = self.cross(packet) else { return };
        let network = self.clone();
        self.runtime().world.after(delay, move || {
            let mut state = network.state();
            let back = state.link(to.ip(), from.ip()).delay;
            let feedback =
                state.bundles.get_mut(number).and_then(|boxes| boxes.receive.on_packet(len, epoch));
            drop(state);
            let Some(feedback) = feedback else { return };
            let world = network.runtime().world.clone();
            world.after(back, move || {
                let now = network.runtime().elapsed();
                if let Some(boxes) = network.state().bundles.get_mut(number) {
                    boxes.send.on_feedback(now, feedback);
                }
                network.release(number);
            });
        });
    }
}

/// Returns a number for a flow, which differs for most flows.
fn flow(from: SocketAddr, to: SocketAddr) -> u64 {
    let number = |addr: SocketAddr| {
        let ip = match addr.ip() {
            IpAddr::V4(ip) => u64::from(ip.to_bits()),
            IpAddr::V6(ip) => (ip.to_bits() >> 64) as u64 ^ ip.to_bits() as u64,
        };
        Rng::new(ip, u64::from(addr.port())).next()
    };
    Rng::new(number(from), number(to)).next()
}
