//! A fingerprint of everything that happened.

/// FNV-1a over the records of a run. Two runs with equal fingerprints took equal courses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trace(u64);

impl Default for Trace {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Trace {
    pub(crate) fn record(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.record(&number.to_le_bytes());
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}
