//! The decisions of a library's engine about messages.

use crate::{FailureKind, Refusal};
use bertha_plugin::abi::{LONGEST_REASON, kind, verdict};
use std::fmt;
use std::sync::Arc;

/// A decision about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Pass,
    Hold,
    Refuse(Refusal),
}

/// The words of an engine about a message, of the kinds that `bertha_plugin::abi` has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict<'a> {
    /// The kind of the message.
    pub(super) about: u8,
    pub(super) verdict: u8,
    pub(super) refused_as: u8,
    pub(super) reason: Result<&'a [u8], Mistake>,
}

/// A mistake of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mistake {
    NoVerdict(u8),
    NoFailure(u8),
    OutcomeHeld,
    CancellationStopped,
    ReasonNull,
    ReasonLong(usize),
    ReasonNoText,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVerdict(verdict) => write!(f, "its verdict was {verdict}, which there is none of"),
            Self::NoFailure(kind) => write!(f, "it refused as {kind}, which no failure is"),
            Self::OutcomeHeld => f.write_str("it held an outcome"),
            Self::CancellationStopped => f.write_str("it did not let a cancellation pass"),
            Self::ReasonNull => f.write_str("its reason was NULL"),
            Self::ReasonLong(bytes) => {
                write!(f, "its reason had {bytes} bytes, and {LONGEST_REASON} at most are right")
            }
            Self::ReasonNoText => f.write_str("its reason was no UTF-8"),
        }
    }
}

impl Verdict<'_> {
    /// Returns the decision. A mistake about a reason leaves the kind of the refusal.
    pub(super) fn decide(self, reasons: &mut Reasons) -> Result<Decision, (FailureKind, Mistake)> {
        let mistake = |mistake| Err((FailureKind::Failed, mistake));
        match (self.verdict, self.about) {
            (verdict::PASS, _) => Ok(Decision::Pass),
            (verdict::REFUSE | verdict::HOLD, kind::CANCELLATION) => mistake(Mistake::CancellationStopped),
            (verdict::HOLD, kind::REQUEST) => Ok(Decision::Hold),
            (verdict::HOLD, _) => mistake(Mistake::OutcomeHeld),
            (verdict::REFUSE, _) => {
                let kind = FailureKind::of_code(self.refused_as);
                if kind.code() != self.refused_as {
                    return mistake(Mistake::NoFailure(self.refused_as));
                }
                let reason = self.reason.map_err(|mistake| (kind, mistake))?;
                let reason = reasons.text(reason).ok_or((kind, Mistake::ReasonNoText))?;
                Ok(Decision::Refuse(Refusal { kind, reason }))
            }
            (verdict, _) => mistake(Mistake::NoVerdict(verdict)),
        }
    }
}

/// The last reason, which is likely to be the next one, too.
#[derive(Debug, Default)]
pub(super) struct Reasons(Option<Arc<str>>);

impl Reasons {
    fn text(&mut self, bytes: &[u8]) -> Option<Arc<str>> {
        match &self.0 {
            Some(last) if last.as_bytes() == bytes => Some(Arc::clone(last)),
            _ => {
                let text: Arc<str> = std::str::from_utf8(bytes).ok()?.into();
                self.0 = Some(Arc::clone(&text));
                Some(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(
        about: u8,
        verdict: u8,
        refused_as: u8,
        reason: Result<&[u8], Mistake>,
    ) -> Result<Decision, String> {
        let decided = Verdict { about, verdict, refused_as, reason }.decide(&mut Reasons::default());
        decided.map_err(|(kind, mistake)| format!("{kind}: {mistake}"))
    }

    #[test]
    fn what_an_engine_may_decide_is_decided() {
        let refusal = |kind| Ok(Decision::Refuse(Refusal { kind, reason: "no".into() }));
        assert_eq!(decide(0, 0, 9, Err(Mistake::ReasonNull)), Ok(Decision::Pass));
        assert_eq!(decide(0, 2, 9, Err(Mistake::ReasonNull)), Ok(Decision::Hold));
        assert_eq!(decide(0, 1, 7, Ok(b"no")), refusal(FailureKind::Denied));
        assert_eq!(decide(2, 1, 0, Ok(b"no")), refusal(FailureKind::Failed));
        assert_eq!(decide(3, 1, 8, Ok(b"no")), refusal(FailureKind::Unavailable));
    }

    #[test]
    fn mistakes_are_named() {
        for verdict in 3..=u8::MAX {
            let expected = format!("failed: its verdict was {verdict}, which there is none of");
            assert_eq!(decide(0, verdict, 0, Ok(b"")), Err(expected));
        }
        for kind in 9..=u8::MAX {
            let expected = format!("failed: it refused as {kind}, which no failure is");
            assert_eq!(decide(0, 1, kind, Ok(b"")), Err(expected));
        }
        for verdict in [1, 2] {
            assert!(decide(1, verdict, 0, Ok(b"")).unwrap_err().contains("cancellation"));
        }
        assert!(decide(2, 2, 0, Ok(b"")).unwrap_err().contains("held an outcome"));
        assert_eq!(decide(0, 1, 7, Ok(b"\xff")), Err("denied: its reason was no UTF-8".into()));
        assert_eq!(decide(0, 1, 7, Err(Mistake::ReasonNull)), Err("denied: its reason was NULL".into()));
    }

    #[test]
    fn a_reason_that_comes_again_is_the_same_text() {
        let mut reasons = Reasons::default();
        let [one, again, other] = [&b"a"[..], b"a", b"b"].map(|reason| reasons.text(reason).unwrap());
        assert!(Arc::ptr_eq(&one, &again) && !Arc::ptr_eq(&one, &other));
    }
}
