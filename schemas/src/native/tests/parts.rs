//! Copies of some fields.

use super::{described, plan};
use crate::reference::Reference;
use crate::{Fields, Frame, Limits, Memory, Outside, Partly, Path, Plan, PrivateMemory, Value};
use proptest::prelude::*;

/// The first address of a stranger's memory, above those of all copies.
const BASE: u64 = 1 << 32;

/// Memory of a stranger.
struct Stranger(Vec<u8>);

impl Memory for Stranger {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside> {
        let at = at.checked_sub(BASE).ok_or(Outside { at })?;
        Frame::of(&self.0).read(Frame::MESSAGE + at, into)
    }
}

/// The paths of the fields that are read.
const PATHS: [&str; 7] =
    ["name", "count", "inner.name", "inner.inner.content", "names", "parts.content", "parts.parts.names"];

fn paths() -> Vec<Path> {
    let schema = described();
    let plan = Plan::new(&schema);
    PATHS.map(|path| Path::find(&schema, &plan, "test.A", path).unwrap()).into()
}

/// A field that is read lies in the copy, and later changes are not seen. One that is not read is not copied.
#[test]
fn only_fields_that_are_read_are_copied_and_stay_as_they_were() {
    let (plan, id) = plan();
    let place = |number| plan.field(id, number).unwrap();
    let mut memory = Stranger(vec![0; plan.size(id)]);
    for (number, text) in [(2, &b"Ada"[..]), (3, &[7; 5000])] {
        let at = BASE + memory.0.len() as u64;
        memory.0.extend(text);
        let reference = Reference { at, len: text.len() as u32, capacity: 0 }.to_bytes();
        memory.0[place(number)..][..16].copy_from_slice(&reference);
    }
    let name = &paths()[0];
    let (fields, limits) = ([name].into_iter().collect::<Fields>(), Limits::default());
    let mut copy = PrivateMemory::of(1 << 16);
    let at = plan.copy_fields(id, &fields, &memory, BASE, &mut copy, limits).unwrap();
    assert_eq!(copy.used(), plan.size(id).next_multiple_of(8) + 8, "the content is not copied");
    memory.0.fill(b'x');
    assert!(name.any(&copy, at, |value| value == Value::Text("Ada")));
    let mut whole = PrivateMemory::of(1 << 16);
    let at = plan.copy(id, &Partly::new(&copy, &memory), at, &mut whole, limits).unwrap();
    assert!(name.any(&whole, at, |value| value == Value::Text("Ada")));
    let mut content = [0; 16];
    whole.read(at + place(3) as u64, &mut content).unwrap();
    let Reference { at, len, .. } = Reference::read(&content);
    let mut content = vec![0; len as usize];
    whole.read(at, &mut content).unwrap();
    assert_eq!(content, [b'x'; 5000]);
}

proptest! {
    /// A copy of a message of which some fields were copied before is the copy of the message. No address harms, also one of the copy.
    #[test]
    fn a_message_in_two_parts_is_the_message(
        words in proptest::collection::vec((any::<bool>(), 0..2048_u64), 0..256),
        start in 0..64_u64,
        read in proptest::collection::vec(0..PATHS.len(), 0..4),
        lies in any::<bool>(),
    ) {
        let (plan, id) = plan();
        let limits = Limits::default().memory(1 << 16).depth(20);
        let address = |(is_low, word): &(bool, u64)| if lies && *is_low { Frame::MESSAGE + word } else { BASE + word };
        let memory = Stranger(words.iter().flat_map(|word| address(word).to_le_bytes()).collect());
        let mut whole = PrivateMemory::of(1 << 20);
        let is_right = plan.copy(id, &memory, BASE + 8 * start, &mut whole, limits).is_ok();
        let all = paths();
        let fields = read.iter().map(|path| &all[*path]).collect::<Fields>();
        let (mut copy, mut twice) = (PrivateMemory::of(1 << 20), PrivateMemory::of(1 << 20));
        let copied = plan.copy_fields(id, &fields, &memory, BASE + 8 * start, &mut copy, limits);
        if let Ok(at) = copied {
            // Nothing of this panics.
            read.iter().for_each(|path| assert!(!all[*path].any(&copy, at, |_| false)));
            let again = plan.copy(id, &Partly::new(&copy, &memory), at, &mut twice, limits).is_ok();
            prop_assert!(again == is_right || lies);
        }
        if is_right {
            prop_assert!(copied.is_ok());
            prop_assert_eq!(whole.as_bytes(), twice.as_bytes());
        }
    }
}
