//! The receive heap of an attacker, which reads all of it.

use super::*;
use std::sync::Mutex;

/// The address at which the receive heaps of attackers begin, and that of the first byte in them.
pub(crate) const RECEIVE: u64 = 2 << 40;
const FIRST_RECEIVED: u64 = RECEIVE + (64 << 10);

/// The regions of a receive heap, in the order in which they came.
#[derive(Clone, Default)]
pub(crate) struct Regions(Arc<Mutex<Vec<Mapped>>>);

/// Takes the regions of a receive heap on a thread, until the daemon hangs up.
pub(crate) fn take_regions(control: &UnixStream) -> Regions {
    let control = control.try_clone().unwrap();
    let regions = Regions::default();
    let taken = regions.clone();
    std::thread::spawn(move || {
        let mut bytes = [0; Answer::SIZE];
        loop {
            match receive(&control, &mut bytes) {
                Ok((0, _)) => return,
                Ok((_, mut files)) => {
                    if let (Ok(Answer::Lent { bytes }), Some(file)) =
                        (Answer::read(&bytes), files.take_only(|_| true))
                    {
                        taken.0.lock().unwrap().push(Mapped::read_only(file, bytes as usize));
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(_) => return,
            }
        }
    });
    regions
}

impl Regions {
    /// Waits until so many bytes are there, of which the daemon has told.
    pub(crate) fn await_bytes(&self, granted: u64) {
        let is_there =
            || self.0.lock().unwrap().iter().map(|region| region.bytes as u64).sum::<u64>() >= granted;
        assert!(is_there() || becomes(is_there), "the daemon tells of regions that do not come");
    }

    /// Returns true if the heap has these bytes anywhere.
    pub(crate) fn have(&self, bytes: &[u8]) -> bool {
        let regions = self.0.lock().unwrap();
        regions.iter().any(|region| wire::has(&bytes_of(region.words()), bytes))
    }

    /// Reads bytes that lie in one region, from the beginning of a word.
    pub(crate) fn read(&self, at: u64, len: usize) -> Vec<u8> {
        let mut offset = (at - FIRST_RECEIVED) as usize;
        let regions = self.0.lock().unwrap();
        let mut regions = regions.iter();
        let region = loop {
            match regions.next().expect("the address is one of the heap") {
                region if offset < region.bytes => break region,
                region => offset -= region.bytes,
            }
        };
        assert!(offset.is_multiple_of(8), "a message has its texts at words");
        let words = &region.words()[offset / 8..][..len.div_ceil(8)];
        bytes_of(words)[..len].to_vec()
    }

    /// Reads the text whose reference lies at an address.
    pub(crate) fn text(&self, at: u64) -> Vec<u8> {
        let reference = self.read(at, 16);
        let [at, lengths] =
            [0, 8].map(|from| u64::from_le_bytes(reference[from..from + 8].try_into().unwrap()));
        self.read(at, lengths as u32 as usize)
    }
}

fn bytes_of(words: &[AtomicU64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect()
}
