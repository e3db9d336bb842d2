//! The guarantees of a Chunnel about the messages that pass through it.
//!
//! The list is fixed, so that optimisation passes and negotiation can reason about Chunnels that they have never seen:
//!
//! | guarantee | a receiver knows that |
//! |---|---|
//! | [`Encrypted`] | nobody on the way could read the message |
//! | [`Authenticated`] | the message is from the intended peer |
//! | [`Reliable`] | every message that was sent arrives, or the connection fails |
//! | [`Ordered`] | messages arrive in the order in which they were sent |
//! | [`AtMostOnce`] | no message arrives twice |
//! | [`IntegrityChecked`] | the message arrives as it was sent, unless an attacker forged it |
//! | [`ForwardSecret`] | an attacker that learns all long-term keys later still cannot read the message |
//! | [`PeerIdentified`] | the other end has proved an identity of its own, not just a secret that several share |
//!
//! A Chunnel states its guarantees in its derive; without a statement it promises none:
//!
//! ```
//! # use bertha_core::Identity;
//! #[derive(Identity)]
//! #[chunnel(guarantees(Reliable, Ordered))]
//! struct Retransmit;
//! ```
//!
//! A stack has the guarantees of all its Chunnels, and a `select!` those that all its alternatives share. Guarantees are
//! types, so that a pass that would drop one is a compile error; [`Set`] represents them at run time.
//!
//! Guarantees that depend on a Chunnel's configuration are added with `adds = path`, the path of a function from `&Self` to a
//! [`Set`]. Negotiation and floors see them, passes don't: these know only the type.
//!
//! # Needs
//!
//! A Chunnel that works only above certain guarantees states them with `needs(..)`, or, if they depend on its
//! configuration, with the path of a function from `&Self` to a [`Set`].
//!
//! ```
//! # use bertha_core::{Identity, guarantee::{Reliable, Set}};
//! #[derive(Identity)]
//! #[chunnel(guarantees(Ordered), needs(Reliable))]
//! struct InOrder;
//!
//! #[derive(Identity)]
//! #[chunnel(guarantees(Ordered), needs = Self::needs)]
//! struct InOrderWithGaps { give_up: bool }
//!
//! impl InOrderWithGaps {
//!     fn needs(&self) -> Set {
//!         if self.give_up { Set::NONE } else { Set::of::<Reliable>() }
//!     }
//! }
//! ```
//!
//! A need is met by the Chunnels below, or by the datapath ([`Properties`](crate::Properties)). The datapath and the
//! alternative of each `select!` are known only when a connection is made. So `connect`, `listen` and `wrap` check the
//! needs, and refuse a stack that does not meet them before anything is sent. Negotiation picks only alternatives with
//! which every need is met. A Chunnel is assumed to preserve the guarantees of the layers below it.

mod kept;
mod set;

pub use kept::{Accepted, Keeps, NotDropped};
pub use set::Set;

use crate::truth::{Bool, False, True};

/// A set of guarantees, as a type: `()` is empty, each guarantee is a set of one, and a pair is the union of two.
///
/// ```
/// use bertha_core::guarantee::{Encrypted, Ordered, Set};
/// assert_eq!(Set::of::<(Encrypted, (Ordered, ()))>().to_string(), "encrypted, ordered");
/// ```
pub trait Guarantees {
    /// True if [`Encrypted`](struct@Encrypted) is in the set.
    type Encrypted: Bool;
    /// True if [`Authenticated`](struct@Authenticated) is in the set.
    type Authenticated: Bool;
    /// True if [`Reliable`](struct@Reliable) is in the set.
    type Reliable: Bool;
    /// True if [`Ordered`](struct@Ordered) is in the set.
    type Ordered: Bool;
    /// True if [`AtMostOnce`](struct@AtMostOnce) is in the set.
    type AtMostOnce: Bool;
    /// True if [`IntegrityChecked`](struct@IntegrityChecked) is in the set.
    type IntegrityChecked: Bool;
    /// True if [`ForwardSecret`](struct@ForwardSecret) is in the set.
    type ForwardSecret: Bool;
    /// True if [`PeerIdentified`](struct@PeerIdentified) is in the set.
    type PeerIdentified: Bool;
}

/// The guarantees in both sets: the guarantees of a choice.
#[derive(Debug)]
pub struct Common<First, Second>(std::marker::PhantomData<(First, Second)>);

/// A type for each guarantee, and the three ways to make a set, flag by flag.
macro_rules! guarantees {
    ($($(#[$doc:meta])* $name:ident = [$($flag:ident: $value:ident),*];)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name;

            impl Guarantees for $name {
                $(type $flag = $value;)*
            }
        )*

        impl Guarantees for () {
            $(type $name = False;)*
        }

        impl<A: Guarantees, B: Guarantees> Guarantees for (A, B) {
            $(type $name = <A::$name as Bool>::Or<B::$name>;)*
        }

        impl<A: Guarantees, B: Guarantees> Guarantees for Common<A, B> {
            $(type $name = <A::$name as Bool>::And<B::$name>;)*
        }
    };
}

guarantees! {
    /// Nobody on the way can read messages.
    Encrypted = [Encrypted: True, Authenticated: False, Reliable: False, Ordered: False, AtMostOnce: False, IntegrityChecked: False, ForwardSecret: False, PeerIdentified: False];
    /// Messages are from the peer that was asked for.
    Authenticated = [Encrypted: False, Authenticated: True, Reliable: False, Ordered: False, AtMostOnce: False, IntegrityChecked: False, ForwardSecret: False, PeerIdentified: False];
    /// Every message arrives, or the connection fails.
    Reliable = [Encrypted: False, Authenticated: False, Reliable: True, Ordered: False, AtMostOnce: False, IntegrityChecked: False, ForwardSecret: False, PeerIdentified: False];
    /// Messages arrive in the order in which they were sent.
    Ordered = [Encrypted: False, Authenticated: False, Reliable: False, Ordered: True, AtMostOnce: False, IntegrityChecked: False, ForwardSecret: False, PeerIdentified: False];
    /// No message arrives twice.
    AtMostOnce = [Encrypted: False, Authenticated: False, Reliable: False, Ordered: False, AtMostOnce: True, IntegrityChecked: False, ForwardSecret: False, PeerIdentified: False];
    /// A message that was damaged on its way does not arrive.
    IntegrityChecked = [Encrypted: False, Authenticated: False, Reliable: False, Ordered: False, AtMostOnce: False, IntegrityChecked: True, ForwardSecret: False, PeerIdentified: False];
    /// An attacker that learns all long-term keys later still cannot read messages.
    ForwardSecret = [Encrypted: False, Authenticated: False, Reliable: False, Ordered: False, AtMostOnce: False, IntegrityChecked: False, ForwardSecret: True, PeerIdentified: False];
    /// The other end has proved an identity of its own: a certificate, or a key that only this end has.
    PeerIdentified = [Encrypted: False, Authenticated: False, Reliable: False, Ordered: False, AtMostOnce: False, IntegrityChecked: False, ForwardSecret: False, PeerIdentified: True];
}
