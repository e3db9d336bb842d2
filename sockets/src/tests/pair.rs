//! Two ends of a direction, and a pretended carrier.

use crate::{Edge, Receiver, Sender, Side, Source};
use bertha_ring::{Direction, Layout};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The byte of a bell: no byte of the stream at most places.
const BELL: u8 = 255;

/// The byte of the stream at a place.
pub(super) fn byte(place: u64) -> u8 {
    (place * 31 % 251) as u8
}

pub(super) fn layout() -> Layout {
    Layout::new(4096).unwrap()
}

pub(super) struct Pair {
    memory: Vec<AtomicU64>,
    /// The copy of the memory that the receiver has once it is severed.
    copy: Option<Vec<AtomicU64>>,
    carrier: VecDeque<u8>,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) written: u64,
    pub(super) read: u64,
    pub(super) bells: u64,
    is_native: bool,
}

pub(super) fn memory() -> Vec<AtomicU64> {
    (0..layout().memory_bytes() / 8).map(|_| AtomicU64::new(0)).collect()
}

pub(super) fn side(memory: &[AtomicU64]) -> Side<'_, AtomicU64> {
    Side::new(layout(), memory, Direction::FromClient)
}

impl Pair {
    pub(super) fn new() -> Self {
        let memory = memory();
        let receiver = Receiver::new(side(&memory), 7);
        receiver.attach(side(&memory));
        let sender = Sender::new(7);
        Self {
            memory,
            copy: None,
            carrier: VecDeque::new(),
            sender,
            receiver,
            written: 0,
            read: 0,
            bells: 0,
            is_native: false,
        }
    }

    /// The memory as the receiver has it.
    fn inwards(&self) -> Side<'_, AtomicU64> {
        side(self.copy.as_ref().unwrap_or(&self.memory))
    }

    /// Takes the stream back without an answer. From then on, the receiver has a copy of the memory.
    pub(super) fn sever(&mut self) {
        assert!(self.receiver.sever(side(&self.memory), self.carrier.len() as u64, false).unwrap());
        let copied = self.memory.iter().map(|word| AtomicU64::new(word.load(Ordering::Relaxed)));
        self.copy = Some(copied.collect());
    }

    pub(super) fn enter(&mut self) -> bool {
        self.sender.enter(side(&self.memory))
    }

    pub(super) fn leave(&mut self) {
        self.sender.leave(side(&self.memory));
    }

    pub(super) fn write(&mut self, bytes: usize) {
        self.answer(usize::MAX);
        let data: Vec<_> = (self.written..self.written + bytes as u64).map(byte).collect();
        let mut rest = &data[..];
        if self.sender.is_in_ring() {
            let pushed = self.sender.push(side(&self.memory), rest).unwrap();
            rest = &rest[pushed.bytes..];
            if pushed.wakes && self.sender.ring(side(&self.memory)) {
                self.carrier.push_back(BELL);
                self.bells += 1;
            }
        }
        if !rest.is_empty() {
            self.leave();
            self.sender.begin();
            self.carrier.extend(rest);
            self.sender.wrote(rest.len());
        }
        self.written += bytes as u64;
    }

    /// Takes what lies on the carrier off it: the kernel has not delivered it yet.
    pub(super) fn delay(&mut self) -> VecDeque<u8> {
        std::mem::take(&mut self.carrier)
    }

    /// Delivers what was delayed.
    pub(super) fn deliver(&mut self, mut delayed: VecDeque<u8>) {
        delayed.append(&mut self.carrier);
        self.carrier = delayed;
    }

    /// Checks bytes that lie so far before the reader.
    fn check(&self, bytes: &[u8], ahead: u64) {
        for (at, found) in (self.read + ahead..).zip(bytes) {
            assert_eq!(*found, byte(at), "at byte {at}");
        }
    }

    fn next(&mut self) -> Result<Source, bertha_ring::Broken> {
        let memory = self.copy.as_ref().unwrap_or(&self.memory);
        self.receiver.next(side(memory))
    }

    /// Reads once. Returns true if there was something. The sender takes steps between the look at the carrier and the words.
    fn read_once(&mut self, most: usize, within: impl FnOnce(&mut Self)) -> bool {
        match self.next().unwrap() {
            Source::Ring => {
                let mut into = vec![0; most];
                let copied = match &self.copy {
                    None => self.receiver.take(side(&self.memory), &mut into).unwrap(),
                    Some(copy) => self.receiver.take(side(copy), &mut into).unwrap(),
                };
                assert!(copied > 0);
                self.check(&into[..copied], 0);
                self.read += copied as u64;
                true
            }
            Source::Bells(bells) => {
                let here = (bells as usize).min(self.carrier.len());
                assert!(self.carrier.drain(..here).all(|byte| byte == BELL));
                self.receiver.took(here);
                here > 0
            }
            Source::Carrier => {
                let peeked: Vec<_> = self.carrier.iter().copied().take(most).collect();
                within(self);
                let data = self.receiver.data_among(self.inwards(), peeked.len()).unwrap();
                self.check(&peeked[..data], 0);
                self.carrier.drain(..data);
                self.receiver.took(data);
                self.read += data as u64;
                data > 0 || !peeked.is_empty()
            }
        }
    }

    pub(super) fn read(&mut self, most: usize, within: impl FnOnce(&mut Self)) {
        if !self.is_native {
            self.read_once(most, within);
        }
    }

    /// Looks at everything before the reader, wherever it lies.
    pub(super) fn peek(&mut self) {
        if self.is_native {
            return;
        }
        let side = self.inwards();
        let ahead = self.receiver.ahead(side, self.carrier.len() as u64, usize::MAX).unwrap();
        assert_eq!(ahead.total(), self.written - self.read, "{ahead:?}");
        let carrier: Vec<_> = self.carrier.iter().copied().collect();
        let (before, rest) = carrier.split_at(ahead.before as usize);
        self.check(before, 0);
        let (mut cursor, mut into) = (self.receiver.cursor(), vec![0; ahead.ring]);
        assert_eq!(self.receiver.look(side, &mut cursor, &mut into).unwrap(), ahead.ring);
        self.check(&into[..ahead.ring], ahead.before);
        if ahead.behind > 0 {
            let (bells, behind) = rest.split_at(ahead.bells as usize);
            assert!(bells.iter().all(|byte| *byte == BELL));
            self.check(behind, ahead.before + ahead.ring as u64);
            assert_eq!(behind.len() as u64, ahead.behind);
        }
    }

    pub(super) fn read_all(&mut self) {
        while self.read_once(300, |_| ()) {}
    }

    /// Asks for the stream back.
    pub(super) fn ask(&mut self) {
        self.receiver.recall(side(&self.memory));
    }

    /// Gives a receiver that asks for it the stream back. The carrier takes `room` bytes at once.
    pub(super) fn answer(&mut self, room: usize) {
        if self.sender.is_recalled(side(&self.memory)) {
            self.sender.yield_back(side(&self.memory));
            assert!(!self.sender.is_recalled(side(&self.memory)));
        }
        let mut into = vec![0; room.min(layout().ring_bytes())];
        while self.sender.owed() > 0 {
            let copied = self.sender.copy_owed(side(&self.memory), &mut into);
            assert!(copied > 0);
            self.carrier.extend(&into[..copied]);
            self.sender.repaid(side(&self.memory), copied);
        }
    }

    /// Closes the end that writes in order, where nobody can answer any more.
    pub(super) fn close(&mut self) {
        self.sender.bar(side(&self.memory));
    }

    /// Moves the stream to the carrier for a reader that knows nothing of rings. The carrier takes `room` bytes at once.
    pub(super) fn recall(&mut self, room: usize) {
        self.ask();
        assert!(self.sender.is_recalled(side(&self.memory)));
        self.answer(room);
        while !self.receiver.is_home(side(&self.memory)).unwrap() {
            assert!(self.read_once(10, |_| ()));
        }
        self.is_native = true;
    }

    pub(super) fn read_raw(&mut self) {
        let all: Vec<_> = self.carrier.drain(..).collect();
        self.check(&all, 0);
        self.read += all.len() as u64;
    }

    pub(super) fn is_new(&self, edge: &mut Edge) -> bool {
        edge.is_new(side(&self.memory), &self.receiver)
    }

    pub(super) fn fall_asleep(&mut self) -> bool {
        self.receiver.fall_asleep(side(&self.memory))
    }

    pub(super) fn scribble(&self, place: usize, value: u64) {
        // Half of the time among the words beside the rings.
        let place = if place.is_multiple_of(2) { 128 + place % 32 } else { place };
        self.memory[place].store(value, Ordering::Relaxed);
    }

    /// Takes a step that may fail, but neither panics nor goes on for ever.
    pub(super) fn step_without_trust(&mut self, is_read: bool, most: usize) {
        let side = side(&self.memory);
        if is_read && most.is_multiple_of(64) {
            let _ = self.receiver.sever(side, most as u64, most.is_multiple_of(128));
        }
        if is_read {
            let mut into = vec![0; most];
            match self.receiver.next(side) {
                Ok(Source::Ring) => drop(self.receiver.take(side, &mut into)),
                Ok(Source::Carrier) => {
                    if let Ok(data) = self.receiver.data_among(side, most) {
                        assert!(data <= most);
                        self.receiver.took(data);
                    }
                }
                Ok(Source::Bells(bells)) => self.receiver.took(bells.min(3) as usize),
                Err(_) => {}
            }
            if let Ok(ahead) = self.receiver.ahead(side, most as u64, most) {
                assert!(ahead.ring <= most && ahead.before + ahead.behind <= most as u64);
            }
            return;
        }
        if self.sender.is_recalled(side) {
            self.sender.yield_back(side);
            assert!(self.sender.owed() <= layout().ring_bytes() as u64);
            let copied = self.sender.copy_owed(side, &mut vec![0; most]);
            self.sender.repaid(side, copied);
        } else if self.sender.enter(side) && self.sender.push(side, &vec![1; most]).is_err() {
            self.sender.leave(side);
        }
    }
}

/// Runs both ends in threads of their own until so many moves were followed.
pub(super) fn run_threads(moves: u64) {
    let memory = memory();
    let carrier = Mutex::new(VecDeque::new());
    let mut receiver = Receiver::new(side(&memory), 0);
    receiver.attach(side(&memory));
    let written = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut sender, mut at, mut seed) = (Sender::new(0), 0_u64, 1_u64);
            while sender.moves() < moves {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                match seed >> 61 {
                    0 => sender.leave(side(&memory)),
                    1 => drop(sender.enter(side(&memory))),
                    _ => {}
                }
                let data: Vec<_> = (at..at + 1 + (seed >> 33) % 300).map(byte).collect();
                let mut rest = &data[..];
                if sender.is_in_ring() {
                    let pushed = sender.push(side(&memory), rest).unwrap();
                    rest = &rest[pushed.bytes..];
                    if pushed.wakes && sender.ring(side(&memory)) {
                        carrier.lock().unwrap().push_back(BELL);
                    }
                }
                if !rest.is_empty() {
                    sender.leave(side(&memory));
                    sender.begin();
                    carrier.lock().unwrap().extend(rest);
                    sender.wrote(rest.len());
                }
                at += data.len() as u64;
                // A reader that is far behind keeps the stream on the carrier.
                while carrier.lock().unwrap().len() > 20_000 {
                    std::thread::yield_now();
                }
            }
            written.store(at, Ordering::Release);
        });
        let mut read = 0_u64;
        let mut into = vec![0; 400];
        loop {
            let end = written.load(Ordering::Acquire);
            let data = match receiver.next(side(&memory)).unwrap() {
                Source::Ring => receiver.take(side(&memory), &mut into).unwrap(),
                Source::Bells(bells) => {
                    let mut carrier = carrier.lock().unwrap();
                    let here = (bells as usize).min(carrier.len());
                    assert!(carrier.drain(..here).all(|byte| byte == BELL));
                    drop(carrier);
                    receiver.took(here);
                    0
                }
                Source::Carrier => {
                    let peeked: Vec<_> = carrier.lock().unwrap().iter().copied().take(into.len()).collect();
                    let data = receiver.data_among(side(&memory), peeked.len()).unwrap();
                    into[..data].copy_from_slice(&peeked[..data]);
                    carrier.lock().unwrap().drain(..data);
                    receiver.took(data);
                    data
                }
            };
            into[..data]
                .iter()
                .enumerate()
                .for_each(|(place, found)| assert_eq!(*found, byte(read + place as u64)));
            read += data as u64;
            if data == 0 && end > 0 && read == end {
                break;
            }
            if data == 0 {
                std::thread::yield_now();
            }
        }
    });
    assert!(receiver.moves() + 1 >= moves);
}
