//! Memories for copies of requests, which are used again.

use bertha_schemas::PrivateMemory;

/// Memories that are kept for copies of later requests: those of a [burst](crate::Burst), of up to 16 KiB each.
#[derive(Debug, Default)]
pub struct Spare {
    #[expect(clippy::vec_box, reason = "messages have boxes, which are used again")]
    memories: Vec<Box<PrivateMemory>>,
}

/// Number of memories that are kept.
const MOST: usize = crate::Burst::LONGEST;

/// Number of bytes of a memory above which it is not kept.
const LONGEST: usize = 16 << 10;

impl Spare {
    /// Returns empty memory of which so many bytes may be reserved.
    pub fn take(&mut self, capacity: usize) -> Box<PrivateMemory> {
        match self.memories.pop() {
            Some(mut memory) => {
                memory.bound(capacity);
                memory
            }
            None => Box::new(PrivateMemory::of(capacity)),
        }
    }

    /// Takes back the memory of a copy that nobody needs any more.
    pub fn keep(&mut self, content: Option<Box<PrivateMemory>>) {
        if let Some(mut memory) = content
            && self.memories.len() < MOST
            && memory.used() <= LONGEST
        {
            memory.clear();
            self.memories.push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_schemas::Room;

    #[test]
    fn memories_that_are_kept_are_empty_bounded_and_few() {
        let mut spare = Spare::default();
        let mut memory = spare.take(64);
        let place = std::ptr::from_ref(&*memory);
        memory.put(b"of another").unwrap();
        spare.keep(Some(memory));
        let mut memory = spare.take(8);
        assert_eq!((std::ptr::from_ref(&*memory), memory.used()), (place, 0));
        assert!(memory.reserve(8).is_ok() && memory.reserve(1).is_err());
        let mut long = spare.take(1 << 20);
        long.reserve(LONGEST + 1).unwrap();
        spare.keep(Some(long));
        assert_eq!(spare.memories.len(), 0, "it is too long");
        (0..2 * MOST).for_each(|_| spare.keep(Some(Box::new(PrivateMemory::of(8)))));
        assert_eq!(spare.memories.len(), MOST);
    }
}
