//! The messages of WIRE.md, sections 3 to 7, and of a secure Chunnel's binding, as terms; and the ends' checks of them.

use crate::terms::{Agent, Term};

/// The way in which the ends recognise each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// Both ends have a secret.
    Shared,
    /// The client trusts the server's key, and the server the client's.
    Identities,
    /// The client trusts the server's key; the server accepts any client.
    ServerIdentity,
    /// Neither end has credentials; TLS in the stack, with a certificate of the server, binds itself to the
    /// transcript.
    Tls,
}

/// A defect that the checker has to find, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Flaw {
    None,
    /// A reply is not bound to a particular offer.
    ReplyToAnyOffer,
    /// The confirmation proves the secrets, and not the agreement.
    ConfirmsNothing,
    /// The keys don't depend on the key exchange.
    NoExchange,
    /// TLS is not bound to the transcript.
    Unbound,
    /// The binding does not say which end made it.
    BoundWithoutRole,
}

/// The protocol under check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Protocol {
    pub(crate) mode: Mode,
    pub(crate) flaw: Flaw,
}

/// The fields of an offer, without its proof.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Offer {
    /// The offered stacks: one of [`STACKS`].
    pub(crate) stacks: &'static str,
    pub(crate) nonce: u8,
    pub(crate) share: Option<u8>,
    pub(crate) signer: Option<Agent>,
}

/// Both stacks, or only the weak stack; a server prefers the strong stack.
pub(crate) const STACKS: [&str; 2] = ["strong or weak", "weak"];

/// Returns the server's pick.
pub(crate) fn pick(stacks: &'static str) -> &'static str {
    if stacks == STACKS[0] { "strong" } else { "weak" }
}

/// The fields of an answer, without its proof.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) pick: &'static str,
    pub(crate) nonce: u8,
    pub(crate) share: Option<u8>,
    pub(crate) signer: Option<Agent>,
}

fn fields(text: &'static str, nonce: u8, share: Option<u8>, signer: Option<Agent>) -> Vec<Term> {
    let mut fields = vec![Term::Public(text), Term::Nonce(nonce)];
    fields.extend(share.map(Term::Share));
    fields.push(Term::Public(match signer {
        None => "no signer",
        Some(Agent::Client) => "client's key",
        Some(Agent::Server) => "server's key",
        Some(Agent::Attacker) => "attacker's key",
    }));
    fields
}

impl Protocol {
    pub(crate) fn has_shared(self) -> bool {
        self.mode == Mode::Shared
    }

    pub(crate) fn exchanges(self) -> bool {
        matches!(self.mode, Mode::Identities | Mode::ServerIdentity)
    }

    fn secrets(self, agreed: Option<Term>) -> Vec<Term> {
        let shared = self.has_shared().then_some(Term::Shared);
        shared.into_iter().chain(agreed.filter(|_| self.flaw != Flaw::NoExchange)).collect()
    }

    /// Returns the offer with its proof.
    pub(crate) fn offer(self, offer: &Offer) -> Vec<Term> {
        let mut message = fields(offer.stacks, offer.nonce, offer.share, offer.signer);
        self.prove(&mut message, offer.signer, &[], self.has_shared().then(|| ("offer", self.secrets(None))));
        message
    }

    /// Returns the answer to the offer with this hash, with its proof.
    pub(crate) fn answer(self, answer: &Answer, hash: &Term, agreed: Option<Term>) -> Vec<Term> {
        let mut message = fields(answer.pick, answer.nonce, answer.share, answer.signer);
        let context =
            if self.flaw == Flaw::ReplyToAnyOffer { Term::Public("any offer") } else { hash.clone() };
        let secrets = self.secrets(agreed);
        let key = (!secrets.is_empty()).then_some(("reply", secrets));
        self.prove(&mut message, answer.signer, &[context], key);
        message
    }

    fn prove(
        self,
        message: &mut Vec<Term>,
        signer: Option<Agent>,
        context: &[Term],
        key: Option<(&'static str, Vec<Term>)>,
    ) {
        if let Some(signer) = signer {
            let mut signed = vec![Term::Public("signature")];
            signed.extend(context.iter().chain(&*message).cloned());
            message.push(Term::Signature(signer, Box::new(Term::Hash(signed))));
        }
        if let Some((label, mut secrets)) = key {
            secrets.extend(context.iter().cloned());
            let sealed = context.iter().chain(&*message).cloned().collect();
            message.push(Term::Mac(Box::new(Term::Key(label, secrets)), sealed));
        }
    }

    /// Returns the confirmation: the client's first message under the keys of the connection.
    pub(crate) fn confirm(self, transcript: &Term, agreed: Option<Term>) -> Term {
        let mut secrets = self.secrets(agreed);
        if self.flaw != Flaw::ConfirmsNothing {
            secrets.push(transcript.clone());
        }
        Term::Mac(Box::new(Term::Key("client", secrets)), vec![Term::Public("confirm")])
    }

    /// Returns an end's binding of the TLS connection `exported` to the transcript; `None` without TLS, or if
    /// it is not bound.
    pub(crate) fn binding(self, exported: u8, role: &'static str, transcript: &Term) -> Option<Term> {
        let role = if self.flaw == Flaw::BoundWithoutRole { "either" } else { role };
        (self.mode == Mode::Tls && self.flaw != Flaw::Unbound).then(|| {
            let parts = vec![Term::Public(role), transcript.clone()];
            Term::Mac(Box::new(Term::Exported(exported)), parts)
        })
    }
}

pub(crate) fn offer_hash(offer: &[Term]) -> Term {
    let mut parts = vec![Term::Public("offer")];
    parts.extend(offer.iter().cloned());
    Term::Hash(parts)
}

pub(crate) fn transcript(offer: &[Term], answer: &[Term]) -> Term {
    let mut parts = vec![Term::Public("transcript"), Term::Hash(offer.to_vec())];
    parts.push(Term::Hash(answer.to_vec()));
    Term::Hash(parts)
}
