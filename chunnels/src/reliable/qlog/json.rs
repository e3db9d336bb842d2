//! JSON, written without a formatter and without an allocation: records are a part of the cost of each message.

use std::time::Duration;

/// The largest number that every reader of JSON represents (RFC 7493, section 2.2).
pub(super) const LARGEST: u64 = (1 << 53) - 1;

/// The longest text of a string, in bytes; the rest is cut.
const LONGEST: usize = 512;

/// The numbers from 00 to 99, as the bytes of a text.
const PAIRS: [u16; 100] = {
    let mut pairs = [0; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = u16::from_le_bytes([b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]);
        number += 1;
    }
    pairs
};

/// One more than the largest number of eight digits.
const EIGHT: u64 = 100_000_000;

/// Records that wait to be written, in a buffer that does not grow. A text without room is left out.
///
/// A record is written to a value on the stack, which the compiler keeps in registers, and which is taken from the log and put back.
#[derive(Debug, Default)]
pub(super) struct Json {
    buffer: Vec<u8>,
    /// The number of bytes that are written.
    pub(super) len: usize,
}

impl Json {
    pub(super) fn new(capacity: usize) -> Self {
        Self { buffer: vec![0; capacity], len: 0 }
    }

    pub(super) fn written(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }

    /// Appends a text as it is. A constant text becomes a few stores.
    #[inline(always)]
    pub(super) fn raw(&mut self, text: &str) -> &mut Self {
        self.append(text.as_bytes(), text.len())
    }

    /// Appends the first `len` bytes.
    #[inline(always)]
    fn append(&mut self, bytes: &[u8], len: usize) -> &mut Self {
        if let Some(place) = self.buffer.get_mut(self.len..self.len + bytes.len()) {
            place.copy_from_slice(bytes);
            self.len += len;
        }
        self
    }

    /// Appends a number, or the largest number that every reader represents.
    #[inline(always)]
    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        if number < EIGHT {
            let (digits, len) = without_zeros(eight_digits(number));
            return self.append(&digits.to_le_bytes(), len);
        }
        let (digits, len) = sixteen_digits(number);
        self.append(&digits, len)
    }

    /// Appends a time in milliseconds, with all nanoseconds.
    #[inline(always)]
    pub(super) fn exact_ms(&mut self, time: Duration) -> &mut Self {
        self.number(time.as_secs() * 1_000 + u64::from(time.subsec_millis()));
        // A point in place of the second of eight digits.
        let below = eight_digits(u64::from(time.subsec_nanos() % 1_000_000)) >> 8;
        self.append(&(below & !0xff | u64::from(b'.')).to_le_bytes(), 7)
    }

    /// Appends a time in milliseconds, with its microseconds.
    #[inline(always)]
    pub(super) fn ms(&mut self, time: Duration) -> &mut Self {
        self.number(time.as_secs() * 1_000 + u64::from(time.subsec_millis()));
        let below = four_digits(u64::from(time.subsec_micros() % 1_000));
        self.append(&(below & !0xff | u64::from(b'.')).to_le_bytes(), 4)
    }

    /// Appends a string in quotes, cut after some hundred bytes.
    pub(super) fn string(&mut self, text: &str) -> &mut Self {
        self.raw("\"");
        for character in text[..text.floor_char_boundary(LONGEST)].chars() {
            match character {
                '"' => self.raw("\\\""),
                '\\' => self.raw("\\\\"),
                control if control < ' ' => {
                    let byte = control as usize;
                    self.raw("\\u00").raw(["0", "1"][byte / 16]);
                    self.raw(&"0123456789abcdef"[byte % 16..=byte % 16])
                }
                other => self.raw(other.encode_utf8(&mut [0; 4])),
            };
        }
        self.raw("\"")
    }

    /// Removes a comma at the end, behind the last element of a list.
    #[inline(always)]
    pub(super) fn end_list(&mut self) -> &mut Self {
        let last = self.len.saturating_sub(1);
        if self.buffer.get(last) == Some(&b',') {
            self.len = last;
        }
        self
    }
}

/// Returns a number below 10,000 as four digits, the first in the lowest byte.
#[inline(always)]
fn four_digits(number: u64) -> u64 {
    let pair = |number: u64| PAIRS.get(number as usize).copied().map_or(0, u64::from);
    pair(number / 100) | pair(number % 100) << 16
}

/// Returns a number below 100,000,000 as eight digits, the first in the lowest byte.
#[inline(always)]
fn eight_digits(number: u64) -> u64 {
    four_digits(number / 10_000) | four_digits(number % 10_000) << 32
}

/// Returns eight digits without zeros in front, and their number.
#[inline(always)]
fn without_zeros(digits: u64) -> (u64, usize) {
    // The bits of a digit that is no zero; the last digit stays in any case.
    let zeros = ((digits ^ 0x3030_3030_3030_3030) | 1 << 56).trailing_zeros() / 8;
    (digits >> (8 * zeros), 8 - zeros as usize)
}

/// Returns the digits of a number that has more than eight, and their number.
#[cold]
fn sixteen_digits(number: u64) -> ([u8; 16], usize) {
    let number = number.min(LARGEST);
    let (first, len) = without_zeros(eight_digits(number / EIGHT));
    let digits = u128::from(first) | u128::from(eight_digits(number % EIGHT)) << (8 * len);
    (digits.to_le_bytes(), len + 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn written(write: impl FnOnce(&mut Json) -> &mut Json) -> String {
        let mut json = Json::new(1_000);
        write(&mut json);
        str::from_utf8(json.written()).unwrap().to_owned()
    }

    #[test]
    fn numbers_of_every_length() {
        let mut power = 1_u64;
        while power < LARGEST / 10 {
            for number in [power - 1, power, power + 1, power * 10 - 1] {
                assert_eq!(written(|json| json.number(number)), number.to_string());
            }
            power *= 10;
        }
        assert_eq!(written(|json| json.number(u64::MAX)), "9007199254740991");
    }

    #[test]
    fn times_keep_their_nanoseconds_or_their_microseconds() {
        let time = Duration::new(12, 34_005_607);
        assert_eq!(written(|json| json.exact_ms(time)), "12034.005607");
        assert_eq!(written(|json| json.ms(time)), "12034.005");
        assert_eq!(written(|json| json.exact_ms(Duration::ZERO)), "0.000000");
        assert_eq!(written(|json| json.ms(Duration::from_micros(999))), "0.999");
    }

    #[test]
    fn a_text_without_room_is_left_out() {
        let mut json = Json::new(10);
        json.raw("12345").raw("678901").raw("6789").number(1);
        assert_eq!(json.written(), b"123456789");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = written(|json| json.string(&"ä".repeat(300)));
        assert_eq!(text, format!("\"{}\"", "ä".repeat(LONGEST / 2)));
    }

    proptest! {
        #[test]
        fn every_number_and_text_is_read_as_it_was_written(number in 0..=LARGEST, text in "(?s).{0,100}") {
            prop_assert_eq!(written(|json| json.number(number)), number.to_string());
            let read: Value = serde_json::from_str(&written(|json| json.string(&text))).unwrap();
            prop_assert_eq!(read, Value::String(text));
        }
    }
}
