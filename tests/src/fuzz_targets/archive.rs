//! Files in a tar archive of the `ustar` format.

/// The files of an archive, each with its name and content.
///
/// # Panics
/// Iteration panics at an entry that is no file.
#[derive(Debug)]
pub struct Archive<'a> {
    rest: &'a [u8],
}

const BLOCK: usize = 512;

impl<'a> Archive<'a> {
    /// Opens the archive in these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Archive<'a> {
    type Item = (&'a str, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.rest.split_at_checked(BLOCK)?;
        let name = text(&header[..100]);
        // A block of zeros ends the archive.
        if name.is_empty() {
            return None;
        }
        assert_eq!(header[156], b'0', "{name} is not a file");
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        let (content, padded) = (&rest[..size], size.next_multiple_of(BLOCK));
        self.rest = &rest[padded..];
        Some((name, content))
    }
}

/// Returns a field of a header, which ends at the first zero.
fn text(field: &[u8]) -> &str {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    std::str::from_utf8(&field[..end]).unwrap()
}

#[cfg(test)]
#[test]
fn an_archive_gives_its_files() {
    let file = |name: &str, content: &[u8]| {
        let mut blocks = vec![0; BLOCK + content.len().next_multiple_of(BLOCK)];
        blocks[..name.len()].copy_from_slice(name.as_bytes());
        blocks[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        blocks[156] = b'0';
        blocks[BLOCK..][..content.len()].copy_from_slice(content);
        blocks
    };
    let long = [7; 513];
    let bytes = [file("a", b"one"), file("empty", b""), file("long", &long), vec![0; 2 * BLOCK]].concat();
    let files: Vec<_> = Archive::new(&bytes).collect();
    assert_eq!(files, [("a", &b"one"[..]), ("empty", b""), ("long", &long)]);
}
