//! The thread that looks after a port where no future does.

use crate::catch::Catch;
use crate::config::Polling;
use crate::device::Device;
use crate::eal::enter_thread;
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
/// [`Polling::Thread`] it is the one that polls, by a thread for each lane.
#[derive(Debug)]
pub(crate) struct Keeper {
    stop: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Keeper {
    pub(crate) fn new() -> Self {
        Self { stop: Arc::new(AtomicBool::new(false)), threads: Mutex::new(Vec::new()) }
    }

    /// Starts to look after `device`, which has this keeper, until the keeper is dropped.
    pub(crate) fn start(&self, device: &Arc<Device>) -> Result<(), Error> {
        let polling = device.polling();
        let threads = if polling == Polling::Inline { 1 } else { device.lanes() };
        for lane in 0..threads {
            let (stop, device) = (self.stop.clone(), Arc::downgrade(device));
            let thread = std::thread::Builder::new().name("dpdk".into()).spawn(move || match polling {
                Polling::Inline => keep(&device, &stop),
                Polling::Thread => poll(&device, lane, &stop),
            });
            let thread = thread.map_err(|error| {
                failure(ErrorKind::Exhausted, format!("no thread to look after the port: {error}"))
            })?;
            self.threads.lock().push(thread);
        }
        Ok(())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // It may be the keeper itself that had the last reference to the device.
            if thread.thread().id() != std::thread::current().id() {
                // It does not panic, but for a waker that does.
                let _ = thread.join();
            }
        }
    }
}

/// Looks after the port now and then.
fn keep(device: &Weak<Device>, stop: &AtomicBool) {
    let mut tick = TICK;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(tick);
        let Some(device) = device.upgrade() else { return };
        tick = IDLE_TICK;
        for lane in 0..device.lanes() {
            // Who has it locked looks after it.
            if keep_lane(&device, lane).is_none_or(|busy| busy) {
                tick = TICK;
            }
        }
    }
}

/// Looks after one lane: whether there is anybody to look after, if it was not locked.
fn keep_lane(device: &Device, lane: usize) -> Option<bool> {
    let mut state = device.try_lock(lane)?;
    let neglected = state.since_kept == 0;
    if neglected {
        state.look_around(&device.pool());
        state.is_up();
        // What has come in a tick, or more: others are to get the lock in between.
        for _ in 0..8 {
            if state.poll(&device.pool(), &mut Catch::nothing()) == 0 {
                break;
            }
        }
        state.send_answers(&device.pool());
    }
    state.since_kept = 0;
    // Whoever led until a moment ago is likely to be back soon; only if nobody has polled for a tick, another one is to.
    let busy = !neglected || state.demux.promote();
    device.release(state);
    Some(busy)
}

/// Polls a lane, and does nothing else.
fn poll(device: &Weak<Device>, lane: usize, stop: &AtomicBool) {
    enter_thread();
    while !stop.load(Ordering::Relaxed) {
        let Some(device) = device.upgrade() else { return };
        // Some hundred polls for one look at the flag and at the device.
        for _ in 0..BUSY {
            let mut state = device.lock(lane);
            state.poll(&device.pool(), &mut Catch::nothing());
            let idle = state.idle;
            device.release(state);
            if idle >= BUSY {
                std::thread::yield_now();
            }
        }
        let mut state = device.lock(lane);
        state.is_up();
        state.send_answers(&device.pool());
        device.release(state);
    }
}
