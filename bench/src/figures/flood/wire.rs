//! Two DPDK ports, and a wire between them with an attacker.
//!
//! Each end shares memory with a port of the wire, which passes frames on. The attacker records the first
//! offer that passes and sends it again from addresses that no host has; the server's answers to these offers
//! are dropped, as in a network without such a host.

use super::attack::Pace;
use super::{Ends, OFFERS};
use crate::memif::config;
use crate::{Error, ErrorKind};
use bertha_core::Buf;
use bertha_datapath_dpdk::{Burst, Config, Dpdk, Packet, Port};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{JoinHandle, spawn, yield_now};

/// Addresses of the ends; the attacker's addresses belong to their subnet, so that no router is asked.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SUBNET: &str = "8";

/// First two bytes of the addresses that the attacker invents.
const INVENTED: [u8; 2] = [10, 10];

/// Number of buffers of each port: all four ports have to fit into the memory that DPDK took when the first
/// was opened.
const BUFFERS: u32 = 4095;

/// Number of times that a port is asked to take frames before they count as lost.
const ATTEMPTS: usize = 1000;

/// Offsets of the headers of a frame, none of which has options, and of the message.
const IP: usize = 14;
const UDP: usize = IP + 20;
const MESSAGE: usize = UDP + 8;

/// First byte of an offer.
const OFFER: u8 = 1;

/// The wire, which has a thread of its own.
#[derive(Debug)]
pub(super) struct Wire {
    server: Dpdk,
    client: Dpdk,
    /// Number of replayed offers in a second.
    rate: Arc<AtomicU32>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Replays, which last until the value is dropped.
#[derive(Debug)]
pub(super) struct Replays<'a>(&'a AtomicU32);

impl Wire {
    /// Opens four ports.
    ///
    /// # Errors
    /// [`ErrorKind::Bertha`] if DPDK is missing.
    pub(super) fn open() -> Result<Self, Error> {
        let failed = || Error::while_doing(ErrorKind::Bertha, "opening a DPDK port");
        let side = |pair, side, role, address: Ipv4Addr| Config {
            buffers: BUFFERS,
            ..config(pair, side, role, &format!("{address}/{SUBNET}"))
        };
        let server = Dpdk::open(&side(0, 0, "server", SERVER)).map_err(failed())?;
        let to_server = Port::open(&side(0, 1, "client", SERVER)).map_err(failed())?;
        let to_client = Port::open(&side(1, 0, "server", CLIENT)).map_err(failed())?;
        let client = Dpdk::open(&side(1, 1, "client", CLIENT)).map_err(failed())?;
        let rate = Arc::new(AtomicU32::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let relay = Relay { to_server, to_client, recorded: None };
        let asked = rate.clone();
        let over = is_over.clone();
        let thread = Some(spawn(move || relay.run(&asked, &over)));
        Ok(Self { server, client, rate, is_over, thread })
    }

    pub(super) fn ends(&self) -> Ends<Dpdk> {
        Ends { server: self.server.clone(), client: self.client.clone(), at: (SERVER, 0).into() }
    }

    /// Replays the recorded offer `rate` times a second.
    pub(super) fn replay(&self, rate: u32) -> Replays<'_> {
        self.rate.store(rate, Ordering::Relaxed);
        Replays(&self.rate)
    }
}

impl Drop for Replays<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The wire's end of both ports, and the attacker.
struct Relay {
    to_server: Port,
    to_client: Port,
    /// The frame of an honest client's offer.
    recorded: Option<Vec<u8>>,
}

impl Relay {
    fn run(mut self, rate: &AtomicU32, is_over: &AtomicBool) {
        self.to_server.enter_thread();
        let mut arrived = Burst::new();
        let mut leaving = Burst::new();
        let mut pace = Pace::new();
        let mut asked = 0;
        while !is_over.load(Ordering::Relaxed) {
            let mut moved = self.to_client.receive(&mut arrived);
            while let Some(packet) = arrived.pop() {
                if self.recorded.is_none() && is_offer(packet.bytes()) {
                    self.recorded = Some(packet.bytes().to_vec());
                }
                // There is room for as many frames as arrived.
                let _ = leaving.push(packet);
            }
            send(&mut self.to_server, &mut leaving);
            moved += self.to_server.receive(&mut arrived);
            while let Some(packet) = arrived.pop() {
                if !is_for_nobody(packet.bytes()) {
                    let _ = leaving.push(packet);
                }
            }
            send(&mut self.to_client, &mut leaving);
            let wanted = rate.load(Ordering::Relaxed);
            if wanted != asked {
                (pace, asked) = (Pace::new(), wanted);
            }
            while !leaving.is_full()
                && let Some(recorded) = &self.recorded
                && let Some(number) = pace.next(wanted)
            {
                // A frame for which there is no buffer is lost, as on any path.
                let buffer = self.to_server.pool().buffer(recorded.len(), 0);
                let _ =
                    buffer.map(|buffer| forge(recorded, number, buffer).map(|forged| leaving.push(forged)));
            }
            moved += leaving.len();
            send(&mut self.to_server, &mut leaving);
            if moved == 0 {
                // Both ends poll as well, and there may be fewer processors.
                yield_now();
            }
        }
    }
}

/// Sends the frames that the port takes soon; the rest is lost.
fn send(port: &mut Port, leaving: &mut Burst) {
    for _ in 0..ATTEMPTS {
        if leaving.is_empty() {
            return;
        }
        port.transmit(leaving);
    }
    while leaving.pop().is_some() {}
}

fn is_udp(frame: &[u8]) -> bool {
    frame.len() > MESSAGE && frame[12..=IP] == [8, 0, 0x45] && frame[IP + 9] == 17
}

fn is_offer(frame: &[u8]) -> bool {
    is_udp(frame) && frame[MESSAGE] == OFFER
}

/// Returns true if the frame goes to an address that the attacker has invented.
fn is_for_nobody(frame: &[u8]) -> bool {
    is_udp(frame) && frame[IP + 16..IP + 18] == INVENTED
}

/// Returns the recorded frame, from another network and port each time.
fn forge(recorded: &[u8], number: usize, mut buffer: Buf) -> Option<Packet> {
    buffer.copy_from_slice(recorded);
    let number = number % OFFERS;
    buffer[IP + 12..IP + 14].copy_from_slice(&INVENTED);
    buffer[IP + 14] = (number % 250) as u8;
    buffer[IP + 15] = 1 + (number / 250) as u8;
    buffer[UDP..UDP + 2].copy_from_slice(&(10_000 + number as u16).to_be_bytes());
    // The frame has no checksum, which UDP over IPv4 permits (RFC 768).
    buffer[UDP + 6..MESSAGE].copy_from_slice(&[0, 0]);
    buffer[IP + 10..IP + 12].copy_from_slice(&[0, 0]);
    let sum: u32 =
        buffer[IP..UDP].as_chunks::<2>().0.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let sum = (sum >> 16) + (sum & 0xffff);
    let checksum = !((sum >> 16) + sum) as u16;
    buffer[IP + 10..IP + 12].copy_from_slice(&checksum.to_be_bytes());
    Packet::from_buf(buffer).ok()
}
