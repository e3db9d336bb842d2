//! The form of a shared library's file.

/// Returns what is wrong with a file that is no shared library of Linux, or whose parts it lacks. The system's loader looks for the former
/// alone, and reads behind the end of a file that is too short, which ends the process.
pub(super) fn check(file: &[u8]) -> Result<(), &'static str> {
    let number = |at: usize, len: usize| {
        let bytes = at.checked_add(len).and_then(|end| file.get(at..end))?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    if !file.starts_with(b"\x7fELF\x02\x01") || number(16, 2) != Some(SHARED) {
        return Err("it is no shared library of this system");
    }
    let header = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let (table, size, count) = header().ok_or(SHORT)?;
    for place in 0..count {
        let at = table.checked_add(place * size).and_then(|at| usize::try_from(at).ok()).ok_or(SHORT)?;
        let segment =
            || Some((number(at, 4)?, number(at.checked_add(8)?, 8)?, number(at.checked_add(32)?, 8)?));
        let (kind, from, bytes) = segment().ok_or(SHORT)?;
        if kind == LOADED && from.checked_add(bytes).is_none_or(|end| end > file.len() as u64) {
            return Err(SHORT);
        }
    }
    Ok(())
}

const SHARED: u64 = 3;
const LOADED: u64 = 1;
const SHORT: &str = "it is a part of a shared library, which ends too early";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a library of one segment, which ends with the file.
    fn library() -> Vec<u8> {
        let mut file = vec![0; 200];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (file[16], file[32], file[54], file[56]) = (3, 64, 56, 1);
        (file[64], file[72], file[96]) = (1, 100, 100);
        file
    }

    #[test]
    fn a_library_with_all_of_its_parts_is_right() {
        let file = library();
        assert_eq!(check(&file), Ok(()));
        for end in 0..file.len() {
            assert!(check(&file[..end]).is_err(), "{end}");
        }
        assert_eq!(check(b"int main(void) {}"), Err("it is no shared library of this system"));
    }

    proptest! {
        #[test]
        fn any_numbers_are_judged(at in 32..120_usize, number in any::<u64>()) {
            let mut file = library();
            file[at..at + 8].copy_from_slice(&number.to_le_bytes());
            let _judged = check(&file);
        }
    }
}
