//! The time in which certificates are valid (RFC 5280, section 4.1.2.5). Moments are text, whose alphabetical
//! order is their order in time.

use super::certificate::Certificate;
use super::date::{Date, seconds};
use super::der::next;
use rustls::pki_types::{CertificateDer, UnixTime};
use std::time::Duration;

/// A moment as `YYYYMMDDHHMMSS`.
type Moment = [u8; 14];

/// The tag of a time whose year has two digits; `GENERALIZED_TIME` has a year of four digits.
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The time from the first moment to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    from: Moment,
    to: Moment,
}

impl Validity {
    /// Returns the time in which all certificates of a chain are valid; `None` if the time of a certificate
    /// can't be read.
    pub(super) fn of_all(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let each = chain.iter().map(|der| Self::read(Certificate::parse(der)?.validity));
        each.reduce(|one, other| one.zip(other).map(|(one, other)| one.within(other))).flatten()
    }

    fn read(mut der: &[u8]) -> Option<Self> {
        let mut time = || next(&mut der).and_then(|(tag, text)| moment(tag, text));
        Some(Self { from: time()?, to: time()? })
    }

    fn within(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }

    /// Returns the first and the last moment, since 1970; `None` if one of them is earlier.
    pub(super) fn since_epoch(&self) -> Option<[Duration; 2]> {
        let since = |moment: &Moment| {
            let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
            let year: u64 = number(&moment[..4])?;
            let mut rest = [0; 5];
            for (number_of, digits) in rest.iter_mut().zip(moment[4..].chunks_exact(2)) {
                *number_of = number(digits)?;
            }
            seconds(year, rest).map(Duration::from_secs)
        };
        Some([since(&self.from)?, since(&self.to)?])
    }

    pub(super) fn contains(&self, now: UnixTime) -> bool {
        let now: Vec<u8> = Date(now).to_string().bytes().filter(u8::is_ascii_digit).collect();
        self.from[..] <= now[..] && now[..] <= self.to[..]
    }
}

fn moment(tag: u8, text: &[u8]) -> Option<Moment> {
    let century: &[u8] = match (tag, text) {
        (UTC_TIME, [b'0'..=b'4', ..]) => b"20",
        (UTC_TIME, _) => b"19",
        (GENERALIZED_TIME, _) => b"",
        _ => return None,
    };
    let digits = text.strip_suffix(b"Z").filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    [century, digits].concat().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn certificate(from: i32, to: i32) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(["a".to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn a_chain_is_valid_as_long_as_each_of_its_certificates_is() {
        // A year beyond 2049 has four digits.
        let chain = [certificate(2020, 2060), certificate(2024, 2030)];
        let (of_2024, of_2030) = (1_704_067_200, 1_893_456_000);
        let validity = Validity::of_all(&chain).unwrap();
        for (seconds, expected) in
            [(of_2024 - 1, false), (of_2024, true), (of_2030, true), (of_2030 + 1, false)]
        {
            assert_eq!(validity.contains(at(seconds)), expected, "{seconds}");
        }
        let long = Validity::of_all(&chain[..1]).unwrap();
        assert!(long.contains(at(of_2030 + 1)) && !long.contains(at(2_840_140_801)));
        assert!(Validity::of_all(&[certificate(1970, 2030)]).unwrap().contains(at(of_2024)));
    }

    #[test]
    fn a_time_that_can_not_be_read_is_none() {
        let der = CertificateDer::from(vec![0x30, 3, 1, 2, 3]);
        assert_eq!(Validity::of_all(std::slice::from_ref(&der)), None);
        assert_eq!(Validity::of_all(&[certificate(2020, 2030), der]), None);
        assert_eq!(Validity::of_all(&[]), None);
        for (tag, text) in
            [(UTC_TIME, "2401010000Z"), (GENERALIZED_TIME, "20240101000000"), (4, "240101000000Z")]
        {
            assert_eq!(moment(tag, text.as_bytes()), None, "{text}");
        }
    }
}
