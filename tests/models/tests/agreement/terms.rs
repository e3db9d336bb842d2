//! Messages as symbolic terms, and the messages that an attacker can make (Dolev and Yao, 1983): cryptography is perfect, and the
//! network is the attacker.

use std::collections::BTreeSet;

/// The holder of a signing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Agent {
    Client,
    Server,
    /// An agent with an identity of its own, which no end trusts.
    Attacker,
}

/// A value in a message, or a secret behind it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Term {
    /// A constant of the protocol: a label, a role, a stack.
    Public(&'static str),
    /// A random value. It is public once it was sent.
    Nonce(u8),
    /// The private half of a key exchange.
    Exponent(u8),
    /// The public half of a key exchange.
    Share(u8),
    /// The result of a key exchange between these two halves, the smaller number first.
    Agreed(u8, u8),
    /// The common secret of client and server.
    Shared,
    SigningKey(Agent),
    Hash(Vec<Term>),
    /// A key derived from secrets, with a label.
    Key(&'static str, Vec<Term>),
    Signature(Agent, Box<Term>),
    Mac(Box<Term>, Vec<Term>),
    /// The secret that the two ends of a TLS connection export.
    Exported(u8),
}

impl Term {
    pub(crate) fn agreed(ours: u8, theirs: u8) -> Self {
        Self::Agreed(ours.min(theirs), ours.max(theirs))
    }
}

/// All terms that the attacker has seen or was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Knowledge(BTreeSet<Term>);

impl Knowledge {
    pub(crate) fn learn(&mut self, terms: impl IntoIterator<Item = Term>) {
        self.0.extend(terms);
    }

    /// Returns true if the attacker can make `term` from the terms that it knows.
    pub(crate) fn makes(&self, term: &Term) -> bool {
        if self.0.contains(term) {
            return true;
        }
        let all = |terms: &[Term]| terms.iter().all(|term| self.makes(term));
        match term {
            Term::Public(_) => true,
            Term::Share(exponent) => self.makes(&Term::Exponent(*exponent)),
            Term::Agreed(one, other) => {
                let with = |private, public| {
                    self.makes(&Term::Exponent(private)) && self.makes(&Term::Share(public))
                };
                with(*one, *other) || with(*other, *one)
            }
            Term::Hash(parts) | Term::Key(_, parts) => all(parts),
            Term::Signature(agent, signed) => self.makes(&Term::SigningKey(*agent)) && self.makes(signed),
            Term::Mac(key, parts) => self.makes(key) && all(parts),
            Term::Nonce(_) | Term::Exponent(_) | Term::Shared | Term::SigningKey(_) | Term::Exported(_) => {
                false
            }
        }
    }
}

#[test]
fn secrets_open_nothing_that_was_not_made_with_them() {
    let mut known = Knowledge::default();
    known.learn([Term::Exponent(9), Term::Share(1), Term::Share(2), Term::SigningKey(Agent::Attacker)]);
    assert!(known.makes(&Term::agreed(9, 1)) && !known.makes(&Term::agreed(2, 1)));
    let signature = |agent| Term::Signature(agent, Box::new(Term::Share(1)));
    assert!(known.makes(&signature(Agent::Attacker)) && !known.makes(&signature(Agent::Server)));
    let key = |with: Term| Term::Mac(Box::new(Term::Key("reply", vec![with])), vec![Term::Share(2)]);
    assert!(known.makes(&key(Term::agreed(9, 2))) && !known.makes(&key(Term::Shared)));
}
