//! Flows of the kernel's TCP from the sender to the receiver.

use crate::site::{Place, RECEIVER, Site};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Flows without an end, which end with the value.
pub(crate) struct Bulk {
    arrived: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Bulk {
    /// Starts flows to a port of the receiver.
    pub(crate) fn start(site: &Site, port: u16, flows: usize) -> Self {
        let bulk = Self { arrived: Arc::default(), is_over: Arc::default() };
        let listener = site.inside(Place::Receiver, || TcpListener::bind((RECEIVER, port)).unwrap());
        for _ in 0..flows {
            let mut sending = site.inside(Place::Sender, || TcpStream::connect((RECEIVER, port)).unwrap());
            let (mut receiving, _) = listener.accept().unwrap();
            let is_over = bulk.is_over.clone();
            std::thread::spawn(
                move || {
                    while !is_over.load(Relaxed) && sending.write_all(&[0; 1 << 14]).is_ok() {}
                },
            );
            let (arrived, is_over) = (bulk.arrived.clone(), bulk.is_over.clone());
            std::thread::spawn(move || {
                let mut bytes = vec![0; 1 << 16];
                while let Some(len) = receiving.read(&mut bytes).ok().filter(|len| *len > 0) {
                    arrived.fetch_add(len as u64, Relaxed);
                    if is_over.load(Relaxed) {
                        return;
                    }
                }
            });
        }
        bulk
    }

    pub(crate) fn arrived(&self) -> u64 {
        self.arrived.load(Relaxed)
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
    }
}

/// Returns the shortest time of a few answers of ten kilobytes, each on a connection of its own to this port: what waits in a queue waits
/// each time, and what waits for a processor does so at times.
pub(crate) fn answers(site: &Site, port: u16) -> Duration {
    let listener = site.inside(Place::Receiver, || TcpListener::bind((RECEIVER, port)).unwrap());
    let one = || {
        let start = Instant::now();
        let mut sending = site.inside(Place::Sender, || TcpStream::connect((RECEIVER, port)).unwrap());
        sending.write_all(&[0; 10_000]).unwrap();
        drop(sending);
        let (mut receiving, _) = listener.accept().unwrap();
        assert_eq!(receiving.read_to_end(&mut Vec::new()).unwrap(), 10_000);
        start.elapsed()
    };
    std::iter::repeat_with(one).take(5).min().unwrap()
}
