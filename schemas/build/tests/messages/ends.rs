//! An application and its daemon in one process, and another implementation of protobuf as the judge.

use bertha_managed::heap::{Box, Foreign, Heap, Lent, Message, Received, Region, Source};
use bertha_schemas::{Encoded, Limits, Memory, NoRoom, Outside, Plan, Room, Schema};
use prost_reflect::{DescriptorPool, DynamicMessage};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::{io, slice};

/// Number of bytes of each heap.
const QUOTA: usize = 1 << 22;

/// The heaps of an application, and the regions that its daemon has granted.
pub(crate) struct Ends {
    pub(crate) heap: Heap,
    granted: Regions,
}

#[derive(Clone, Default)]
struct Regions(Arc<Mutex<Vec<Region>>>);

// SAFETY: each region is a new file, which the daemon only reads.
unsafe impl Source for Regions {
    fn region(&self, bytes: usize) -> io::Result<OwnedFd> {
        let region = Region::writable(bytes)?;
        let file = region.file().try_clone_to_owned();
        self.0.lock().unwrap().push(region);
        file
    }
}

struct Sent(Foreign);

impl Memory for Sent {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside> {
        self.0.read(at, into).map_err(|outside| Outside { at: outside.at })
    }
}

struct Lending<'a>(Message<'a>);

impl Room for Lending<'_> {
    fn reserve(&mut self, bytes: usize) -> Result<u64, NoRoom> {
        self.0.reserve(bytes).ok_or(NoRoom)
    }

    fn bytes(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.0.bytes(at, len)
    }
}

fn plan() -> Plan {
    Plan::new(&Schema::read(crate::hotel::hotels::DESCRIPTORS).unwrap())
}

/// Returns a message of this name as another implementation decodes it.
pub(crate) fn judge(name: &str, encoded: &[u8]) -> DynamicMessage {
    let pool = DescriptorPool::decode(crate::hotel::hotels::DESCRIPTORS).unwrap();
    DynamicMessage::decode(pool.get_message_by_name(name).unwrap(), encoded).unwrap()
}

impl Ends {
    pub(crate) fn new() -> Self {
        let granted = Regions::default();
        Self { heap: Heap::new(QUOTA, granted.clone()).unwrap(), granted }
    }

    /// Returns a message in protobuf, as the daemon reads it.
    pub(crate) fn send<T>(&self, name: &str, message: T) -> Vec<u8> {
        let message = Box::new_in(message, &self.heap);
        let mut foreign = Foreign::new(self.heap.base(), usize::MAX).unwrap();
        self.granted.0.lock().unwrap().iter().for_each(|region| foreign.add(region).unwrap());
        let (plan, mut encoded) = (plan(), Encoded::new());
        let (id, at) = (plan.message(name).unwrap(), Box::as_ptr(&message).addr() as u64);
        plan.encode(id, &Sent(foreign), at, Limits::default(), &mut encoded).unwrap();
        encoded.as_bytes().to_vec()
    }

    /// Lends a message that comes in protobuf to its application.
    pub(crate) fn receive<T, R>(
        &self,
        name: &str,
        protobuf: &impl prost_reflect::prost::Message,
        read: impl FnOnce(&T) -> R,
    ) -> R {
        let (plan, received) = (plan(), Received::new(QUOTA).unwrap());
        let id = plan.message(name).unwrap();
        assert_eq!(plan.size(id), size_of::<T>());
        let mut lent = Lent::new(received.base(), QUOTA).unwrap();
        let at = {
            let mut room = Lending(lent.begin(0).unwrap());
            let at = plan.decode(id, &protobuf.encode_to_vec(), &mut room, Limits::default()).unwrap();
            room.0.finish();
            at
        };
        for region in lent.take_new_regions() {
            received.add(region.file().try_clone_to_owned().unwrap()).unwrap();
        }
        // SAFETY: the message was decoded for this type, and is lent until the end of this function.
        read(unsafe { received.get::<T>(at) }.unwrap())
    }
}

/// Choices from bytes that are drawn at random; zeros behind their end.
pub(crate) struct Choices<'a>(pub(crate) slice::Iter<'a, u8>);

impl Choices<'_> {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or_default()) % end
    }

    /// Returns a number of few bytes or of many.
    pub(crate) fn word(&mut self) -> u64 {
        (0..self.below(9)).fold(0, |word, _| word << 8 | self.below(256) as u64)
    }

    pub(crate) fn text(&mut self) -> String {
        (0..self.below(6)).map(|_| ['a', 'Z', 'é', '𝄞'][self.below(4)]).collect()
    }
}
