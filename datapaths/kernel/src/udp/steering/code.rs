//! The program that picks a socket, as a list of instructions.
//!
//! It returns 0, for the listener's socket, unless the datagram begins with a prefix that is in the map and
//! holds a whole key; then it returns 1 and the number of the shard. An instruction that loads a byte behind
//! the end of the datagram ends the program with 0.

use bertha_bpf_sys::{Instruction, KEY};
use bertha_core::{Error, ErrorKind, Steering};

/// Number of bytes of a key that are hashed.
const HASHED: usize = 4;

/// Longest key, in bytes: its length takes one byte.
const LONGEST_KEY: i32 = 127;

/// The constants of the 64-bit FNV-1a hash.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Largest offset of a byte in a datagram.
const LARGEST_OFFSET: usize = u16::MAX as usize;

/// The registers. Loading from the datagram spoils the first six; the result goes into the first.
mod register {
    /// The result of an operation, and of the program.
    pub(super) const RESULT: u8 = 0;
    /// The first argument of a call, and of the program.
    pub(super) const FIRST: u8 = 1;
    /// The second argument of a call.
    pub(super) const SECOND: u8 = 2;
    /// The datagram, where instructions that load from it expect it.
    pub(super) const DATAGRAM: u8 = 6;
    /// The hash.
    pub(super) const HASH: u8 = 7;
    /// The prime of the hash.
    pub(super) const FACTOR: u8 = 8;
    /// The length of the key.
    pub(super) const LENGTH: u8 = 9;
    /// The end of the stack.
    pub(super) const STACK: u8 = 10;
}

/// The operations.
pub(super) mod opcode {
    pub(crate) const LOAD_CONSTANT: u8 = 0x18;
    pub(crate) const LOAD_WORD: u8 = 0x20;
    pub(crate) const LOAD_BYTE: u8 = 0x30;
    pub(crate) const STORE_WORD: u8 = 0x63;
    pub(crate) const ADD: u8 = 0x07;
    pub(crate) const MULTIPLY_BY_REGISTER: u8 = 0x2f;
    pub(crate) const MODULO: u8 = 0x97;
    pub(crate) const XOR_REGISTER: u8 = 0xaf;
    pub(crate) const MOVE: u8 = 0xb7;
    pub(crate) const MOVE_REGISTER: u8 = 0xbf;
    pub(crate) const TO_BIG_ENDIAN: u8 = 0xdc;
    pub(crate) const JUMP_IF_EQUAL: u8 = 0x15;
    pub(crate) const JUMP_IF_GREATER: u8 = 0x25;
    pub(crate) const JUMP_IF_AT_MOST: u8 = 0xb5;
    pub(crate) const CALL: u8 = 0x85;
    pub(crate) const EXIT: u8 = 0x95;
}

/// Source of a constant that is the number of a map's descriptor.
pub(super) const MAP: u8 = 1;

/// The function that looks a key up in a map.
pub(super) const LOOK_UP: i32 = 1;

/// Returns the program for a rule, and a map with this number of the prefixes that are steered.
///
/// # Errors
/// [`Unavailable`](ErrorKind::Unavailable) if the key lies behind the end of every datagram, or there are too
/// many shards.
pub(super) fn code(by: &Steering, prefixes: i32) -> Result<Vec<Instruction>, Error> {
    use opcode::*;
    use register::*;
    let shards = i32::try_from(by.shards().get()).map_err(|_| impossible("there are too many shards"))?;
    let ends_at = by.key_at().saturating_add(by.skip()).saturating_add(HASHED);
    if ends_at > LARGEST_OFFSET {
        return Err(impossible("the key lies behind the end of a datagram"));
    }
    let mut code = Code::default();
    code.add(MOVE_REGISTER, DATAGRAM, FIRST, 0);
    code.load_prefix();
    code.constant(FIRST, MAP, prefixes as u32 as u64);
    code.add(MOVE_REGISTER, SECOND, STACK, 0);
    code.add(ADD, SECOND, 0, -(KEY as i32));
    code.add(CALL, 0, 0, LOOK_UP);
    let unknown = code.jump(JUMP_IF_EQUAL, RESULT, 0);

    code.add(LOAD_BYTE, 0, 0, by.key_at() as i32);
    code.add(MOVE_REGISTER, LENGTH, RESULT, 0);
    let too_long = code.jump(JUMP_IF_GREATER, LENGTH, LONGEST_KEY);
    code.constant(HASH, 0, BASIS);
    code.constant(FACTOR, 0, PRIME);
    let ends = (by.skip()..by.skip() + HASHED).map(|at| {
        let end = code.jump(JUMP_IF_AT_MOST, LENGTH, at as i32);
        code.add(LOAD_BYTE, 0, 0, (by.key_at() + 1 + at) as i32);
        code.add(XOR_REGISTER, HASH, RESULT, 0);
        code.add(MULTIPLY_BY_REGISTER, HASH, FACTOR, 0);
        end
    });
    let ends: Vec<_> = ends.collect();
    code.land(ends);
    code.add(MOVE_REGISTER, RESULT, HASH, 0);
    code.add(MODULO, RESULT, 0, shards);
    code.add(ADD, RESULT, 0, 1);
    code.add(EXIT, 0, 0, 0);

    code.land([unknown, too_long]);
    code.add(MOVE, RESULT, 0, 0);
    code.add(EXIT, 0, 0, 0);
    Ok(code.0)
}

#[cold]
fn impossible(why: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("steering by the kernel is not possible: {why}")).at("Udp")
}

/// A program under construction.
#[derive(Default)]
struct Code(Vec<Instruction>);

impl Code {
    fn add(&mut self, opcode: u8, destination: u8, source: u8, immediate: i32) {
        self.0.push(Instruction { opcode, destination, source, offset: 0, immediate });
    }

    /// Adds the two instructions that load a constant of 64 bits.
    fn constant(&mut self, destination: u8, source: u8, value: u64) {
        self.add(opcode::LOAD_CONSTANT, destination, source, value as i32);
        self.add(0, 0, 0, (value >> 32) as i32);
    }

    /// Copies the prefix of the datagram to the end of the stack. Loading swaps the bytes of a word to the
    /// machine's order, which is undone.
    fn load_prefix(&mut self) {
        for at in (0..KEY).step_by(4) {
            self.add(opcode::LOAD_WORD, 0, 0, at as i32);
            self.add(opcode::TO_BIG_ENDIAN, register::RESULT, 0, 32);
            self.0.push(Instruction {
                opcode: opcode::STORE_WORD,
                destination: register::STACK,
                source: register::RESULT,
                offset: at as i16 - KEY as i16,
                immediate: 0,
            });
        }
    }

    /// Adds a jump that compares a register with a constant, and returns its place.
    fn jump(&mut self, opcode: u8, register: u8, constant: i32) -> usize {
        self.add(opcode, register, 0, constant);
        self.0.len() - 1
    }

    /// Lets the jumps at these places lead to the next instruction.
    fn land(&mut self, jumps: impl IntoIterator<Item = usize>) {
        let here = self.0.len();
        for jump in jumps {
            self.0[jump].offset = (here - jump - 1) as i16;
        }
    }
}
