//! The interpreters: from memory to protobuf, and back.

mod decode;
mod encode;
mod encoded;
mod fault;
mod fields;
mod number;

pub use encoded::Encoded;
pub use fault::Fault;

/// The way in which the value of a field is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    /// A length, and as many bytes.
    Bytes = 2,
    StartGroup = 3,
    EndGroup = 4,
    Fixed32 = 5,
}

#[cfg(test)]
mod tests;
