//! The keys of records.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::contiguous;

/// Length of the longest key that lies in the [`Key`] itself. YCSB's keys have up to 23 bytes.
const SHORT: usize = 30;

/// The key of a record: any bytes.
///
/// A key of up to 30 bytes lies in the value itself. Making, cloning, decoding or dropping such a key
/// allocates nothing, so requests can be made by the million out of templates. Longer keys are allocated.
/// [`Message::check`](crate::Message::check) decides how long a key may be.
#[derive(Clone)]
pub struct Key(Form);

#[derive(Clone)]
enum Form {
    /// A key in the first `len` bytes.
    Short {
        len: u8,
        bytes: [u8; SHORT],
    },
    Long(Box<[u8]>),
}

impl Key {
    /// Returns the bytes of the key.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            // The array is never shorter than `len`; this form compiles to no panic.
            Form::Short { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            Form::Long(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for Key {
    #[inline]
    fn from(key: &[u8]) -> Self {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..key.len()) {
            Some(place) => {
                place.copy_from_slice(key);
                Self(Form::Short { len: key.len() as u8, bytes })
            }
            None => Self(Form::Long(key.into())),
        }
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        key.as_bytes().into()
    }
}

impl From<String> for Key {
    fn from(key: String) -> Self {
        key.as_bytes().into()
    }
}

impl Deref for Key {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for Key {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// With this implementation, a map of keys can be searched by bytes alone.
impl Borrow<[u8]> for Key {
    #[inline]
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Key {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq<str> for Key {
    fn eq(&self, other: &str) -> bool {
        **self == *other.as_bytes()
    }
}

impl PartialEq<&str> for Key {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        contiguous::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        contiguous::deserialize(deserializer)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.escape_ascii().fmt(f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn keeps_its_bytes_whatever_their_number() {
        for length in 0..300 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            let key = Key::from(&bytes[..]);
            assert_eq!(key.as_bytes(), bytes);
            assert_eq!(key.clone(), key);
            assert_eq!(matches!(key.0, Form::Long(_)), length > SHORT);
        }
    }

    #[test]
    fn a_map_finds_it_by_its_bytes() {
        let names =
            ["", "a", "a\0", "all of thirty bytes, no longer", "of more than thirty bytes, so it is long"];
        let map: HashMap<Key, usize> = names.iter().map(|&name| (Key::from(name), name.len())).collect();
        for name in names {
            assert_eq!(map.get(name.as_bytes()), Some(&name.len()));
        }
        assert_eq!(map.len(), names.len());
    }

    #[test]
    fn takes_no_more_room_than_it_says() {
        assert_eq!(size_of::<Key>(), SHORT + 2);
    }

    #[test]
    fn prints_what_is_no_text() {
        assert_eq!(format!("{:?} {}", Key::from("a\"b"), Key::from(&[7, b'x'][..])), "\"a\\\"b\" \\x07x");
    }
}
