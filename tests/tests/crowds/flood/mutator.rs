//! Messages that a hostile sender makes by altering messages that it has seen.

use crate::flood::dice::Dice;
use bertha_negotiation::testing::wire::HEADER;

/// Makes one datagram after another: noise, messages as they were recorded, and mutations of them.
pub(crate) struct Mutator {
    recorded: Vec<Vec<u8>>,
    dice: Dice,
}

impl Mutator {
    pub(crate) fn new(recorded: Vec<Vec<u8>>, seed: u64) -> Self {
        assert!(!recorded.is_empty());
        Self { recorded, dice: Dice::new(seed) }
    }

    pub(crate) fn dice(&mut self) -> &mut Dice {
        &mut self.dice
    }

    pub(crate) fn datagram(&mut self) -> Vec<u8> {
        match self.dice.below(10) {
            0 => {
                let len = self.dice.below(300);
                self.dice.bytes(len)
            }
            // This noise has the first byte of a message of some kind.
            1 => {
                let len = HEADER + self.dice.below(100);
                let mut noise = self.dice.bytes(len);
                noise[0] = self.dice.below(10) as u8;
                noise
            }
            2 => self.recording(),
            3 | 4 => self.mutation(),
            // The check is corrected, so the message reaches the code behind the check.
            _ => sealed(self.mutation()),
        }
    }

    fn recording(&mut self) -> Vec<u8> {
        let which = self.dice.below(self.recorded.len());
        self.recorded[which].clone()
    }

    fn mutation(&mut self) -> Vec<u8> {
        let mut bytes = self.recording();
        for _ in 0..1 + self.dice.below(3) {
            self.mutate(&mut bytes);
        }
        bytes
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        let dice = &mut self.dice;
        if bytes.is_empty() {
            return bytes.push(dice.next() as u8);
        }
        let at = dice.below(bytes.len());
        match dice.below(8) {
            0 => bytes[at] ^= 1 << dice.below(8),
            // Lengths and counts are small numbers; huge numbers begin with the topmost bit.
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][dice.below(5)],
            2 => bytes.truncate(at),
            3 => {
                let len = dice.below(64);
                bytes.extend(dice.bytes(len));
            }
            4 => {
                let len = 1 + dice.below(8);
                let inserted = dice.bytes(len);
                bytes.splice(at..at, inserted);
            }
            5 => {
                let end = at + dice.below(bytes.len() - at);
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            // The changed byte is the version, or the first byte of a message that is not a handshake
            // message.
            6 => {
                if let Some(version) = bytes.get_mut(HEADER) {
                    *version = dice.next() as u8;
                }
            }
            _ => {
                let other = self.recording();
                bytes.truncate(at);
                bytes.extend(&other[at.min(other.len())..]);
            }
        }
    }
}

/// Gives the message a check that holds for the rest.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(end) = bytes.len().checked_sub(4) {
        let check = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&check.to_le_bytes());
    }
    bytes
}
