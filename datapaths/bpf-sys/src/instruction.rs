//! An instruction of eBPF.

/// An instruction of eBPF, as RFC 9669 describes it. A constant of 64 bits takes two instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// The operation, with its class and its mode.
    pub opcode: u8,
    /// The number of the register that is written, 0 to 10.
    pub destination: u8,
    /// The number of the register that is read, 0 to 10.
    pub source: u8,
    /// The distance of a jump in instructions, or of a place in memory in bytes.
    pub offset: i16,
    /// A constant.
    pub immediate: i32,
}

impl Instruction {
    /// Returns the instruction as the kernel of this machine reads it.
    pub(crate) fn encode(self) -> [u8; 8] {
        let [low, high] = self.offset.to_ne_bytes();
        let [a, b, c, d] = self.immediate.to_ne_bytes();
        let (destination, source) = (self.destination & 0xf, self.source & 0xf);
        let registers = match cfg!(target_endian = "little") {
            true => source << 4 | destination,
            false => destination << 4 | source,
        };
        [self.opcode, registers, low, high, a, b, c, d]
    }
}
