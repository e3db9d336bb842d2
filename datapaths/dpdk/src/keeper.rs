//! The thread that looks after a port where no future does.

use crate::config::Polling;
use crate::device::Device;
use crate::failure::failure;
use bertha_core::{Error, ErrorKind};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a port may be without anybody who polls it.
const TICK: Duration = Duration::from_millis(1);

/// Likewise, if nobody waits: pings and neighbours have time.
const IDLE_TICK: Duration = Duration::from_millis(5);

/// After so many polls without a frame the thread lets others run.
const BUSY: u32 = 256;

/// Answers neighbours and pings, and delivers, while nobody else polls; and has one of the waiting futures poll when none does. With
/// [`Polling::Thread`] it is the one that polls.
#[derive(Debug)]
pub(crate) struct Keeper {
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    pub(crate) fn new() -> Self {
        Self { stop: Arc::new(AtomicBool::new(false)), thread: Mutex::new(None) }
    }

    /// Starts to look after `device`, which has this keeper, until the keeper is dropped.
    pub(crate) fn start(&self, device: &Arc<Device>) -> Result<(), Error> {
        let (stop, polling, device) = (self.stop.clone(), device.polling(), Arc::downgrade(device));
        let thread = std::thread::Builder::new().name("dpdk".into()).spawn(move || match polling {
            Polling::Inline => keep(&device, &stop),
            Polling::Thread => poll(&device, &stop),
        });
        let thread = thread.map_err(|error| {
            failure(ErrorKind::Exhausted, format!("no thread to look after the port: {error}"))
        })?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.lock().take() else { return };
        // It may be the keeper itself that had the last reference to the device.
        if thread.thread().id() != std::thread::current().id() {
            // It does not panic, but for a waker that does.
            let _ = thread.join();
        }
    }
}

/// Looks after the port now and then.
fn keep(device: &Weak<Device>, stop: &AtomicBool) {
    let mut tick = TICK;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(tick);
        let Some(device) = device.upgrade() else { return };
        // Who has it locked looks after it.
        let Some(mut state) = device.try_lock() else { continue };
        let neglected = state.since_kept == 0;
        if neglected {
            state.look_around(&device.pool());
            state.is_up();
            // What has come in a tick, or more: others are to get the lock in between.
            for _ in 0..8 {
                if state.poll(&device.pool()) == 0 {
                    break;
                }
            }
            state.send_answers(&device.pool());
        }
        state.since_kept = 0;
        // Whoever led until a moment ago is likely to be back soon; only if nobody has polled for a tick, another one is to.
        tick = if !neglected || state.demux.promote() { TICK } else { IDLE_TICK };
        device.release(state);
    }
}

/// Polls the port, and does nothing else.
fn poll(device: &Weak<Device>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let Some(device) = device.upgrade() else { return };
        // Some hundred polls for one look at the flag and at the device.
        for _ in 0..BUSY {
            let mut state = device.lock();
            state.poll(&device.pool());
            let idle = state.idle;
            device.release(state);
            if idle >= BUSY {
                std::thread::yield_now();
            }
        }
        let mut state = device.lock();
        state.is_up();
        state.send_answers(&device.pool());
        device.release(state);
    }
}
