//! Paths of files of the kernel that have a number in them, made without an allocation.

/// The most bytes of a number.
const DIGITS: usize = 10;

/// A path that ends by a zero.
pub(crate) struct NumberPath([u8; 64]);

impl NumberPath {
    /// Puts a number between two parts of a path, which have 32 bytes together at most.
    pub(crate) fn new(before: &str, mut number: u32, behind: &str) -> Self {
        let mut digits = [0; DIGITS];
        let mut first = DIGITS;
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        let mut path = [0; 64];
        let parts = [before.as_bytes(), &digits[first..], behind.as_bytes()];
        let bytes = parts.iter().flat_map(|part| part.iter());
        // A zero stays at the end.
        path.iter_mut().take(63).zip(bytes).for_each(|(to, from)| *to = *from);
        Self(path)
    }

    /// Returns the address of the path, as an argument of a system call.
    pub(crate) fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn numbers_have_no_zeros_before_them() {
        for (number, wanted) in [(0, c"/a/0/b"), (10, c"/a/10/b"), (u32::MAX, c"/a/4294967295/b")] {
            let path = NumberPath::new("/a/", number, "/b");
            assert_eq!(CStr::from_bytes_until_nul(&path.0), Ok(wanted));
        }
    }
}
