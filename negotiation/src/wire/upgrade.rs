//! The messages of two ends that change the stack of a connection in use.

use super::Offer;
use bertha_core::DifferingCapability;
use serde::{Deserialize, Serialize};

/// A message about one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upgrade {
    /// The connection id.
    pub id: u64,
    /// The number of the attempt, and of the epoch if it succeeds: higher than all numbers that its proposer
    /// has seen.
    pub round: u64,
    /// The step of the attempt.
    pub step: UpgradeStep,
}

/// A step of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum UpgradeStep {
    /// The proposer offers its stack. In each choice the alternative that it wants is marked as preferred.
    Propose {
        /// The stack, with the id of the connection.
        offer: Offer,
    },
    /// The other end can run the stack.
    #[serde(with = "accept")]
    Accept {
        /// True if the sender's own stack is built.
        is_ready: bool,
        /// The branch of each of the proposer's choices, in pre-order.
        proposer_picks: Vec<u8>,
        /// The branch of each of the sender's choices.
        own_picks: Vec<u8>,
        /// The reasons why alternatives were passed over.
        reasons: String,
        /// The sender's capabilities that differ from the proposer's. Without such capabilities, the message
        /// has no bytes for them.
        capabilities: Vec<DifferingCapability>,
    },
    /// The other end can't run the stack, or the number was used before.
    Decline {
        /// The number to propose with instead; 0 if no number would help.
        next: u64,
        /// The Chunnel, and the reason.
        text: String,
    },
    /// The proposer has given up the attempt, and nothing was changed.
    Abort,
    /// The sender sends in this epoch from now on.
    Begin {
        /// Number of messages that the sender's application has sent in the epoch before.
        sent: u64,
    },
    /// The sender has seen the other end begin.
    BeginSeen,
}

/// The fields of an accept.
mod accept {
    use bertha_core::DifferingCapability;
    use serde::de::{Error, SeqAccess, Visitor};
    use serde::ser::SerializeTuple;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::fmt;

    /// The flag that says that the sender's stack is built.
    const IS_READY: u8 = 1;

    /// The flag that says that capabilities follow.
    const HAS_CAPABILITIES: u8 = 2;

    /// The fields of an accept with capabilities.
    const FIELDS: usize = 5;

    type Fields = (bool, Vec<u8>, Vec<u8>, String, Vec<DifferingCapability>);

    pub(super) fn serialize<S: Serializer>(
        is_ready: &bool,
        proposer_picks: &[u8],
        own_picks: &[u8],
        reasons: &str,
        capabilities: &[DifferingCapability],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let has_capabilities = !capabilities.is_empty();
        let flag = if has_capabilities { HAS_CAPABILITIES } else { 0 };
        let mut fields = serializer.serialize_tuple(FIELDS - usize::from(!has_capabilities))?;
        fields.serialize_element(&(if *is_ready { IS_READY | flag } else { flag }))?;
        fields.serialize_element(proposer_picks)?;
        fields.serialize_element(own_picks)?;
        fields.serialize_element(reasons)?;
        if has_capabilities {
            fields.serialize_element(capabilities)?;
        }
        fields.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        deserializer.deserialize_tuple(FIELDS, FieldsVisitor)
    }

    struct FieldsVisitor;

    impl<'de> Visitor<'de> for FieldsVisitor {
        type Value = Fields;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an accept")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Fields, A::Error> {
            let flags: u8 = next(&mut fields)?;
            if flags > IS_READY | HAS_CAPABILITIES {
                return Err(A::Error::custom("an unknown flag of an accept"));
            }
            let proposer_picks = next(&mut fields)?;
            let own_picks = next(&mut fields)?;
            let reasons = next(&mut fields)?;
            let capabilities = match flags & HAS_CAPABILITIES {
                0 => Vec::new(),
                _ => next::<Vec<_>, _>(&mut fields)?,
            };
            if (flags & HAS_CAPABILITIES != 0) == capabilities.is_empty() {
                return Err(A::Error::custom("capabilities that differ, and none of them"));
            }
            Ok((flags & IS_READY != 0, proposer_picks, own_picks, reasons, capabilities))
        }
    }

    fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(fields: &mut A) -> Result<T, A::Error> {
        fields.next_element()?.ok_or_else(|| A::Error::custom("an accept that ends too early"))
    }
}
