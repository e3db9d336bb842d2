//! The guarantees of a Chunnel about the messages that pass through it.
//!
//! The list is fixed, so that optimisation passes and negotiation can reason about Chunnels that they have never seen:
//!
//! | guarantee | a receiver knows that |
//! |---|---|
//! | [`Encrypted`] | no observer on the way could read the message |
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
//! A Chunnel passes the guarantees of the layers below it on, unless it withdraws them. A Chunnel withdraws the guarantees that its way
//! of carrying messages breaks: a Chunnel that goes around the layers below it withdraws all guarantees that its other way lacks. Above
//! a Chunnel hold its own guarantees, and the guarantees of the layers below that it does not withdraw.
//!
//! ```
//! # use bertha_core::guarantee::{Encrypted, Set};
//! # use bertha_core::{Describe, Identity, guaranteed_above, make_stack};
//! # #[derive(Identity)] #[chunnel(guarantees(Encrypted))] struct Tls;
//! /// Takes messages past the layers below, in clear.
//! #[derive(Identity)]
//! #[chunnel(withdraws(Encrypted))]
//! struct Bypass;
//!
//! assert!(guaranteed_above(&make_stack!(Bypass, Tls).nodes(), Set::NONE).is_empty());
//! assert_eq!(guaranteed_above(&make_stack!(Tls, Bypass).nodes(), Set::NONE), Set::of::<Encrypted>());
//! ```
//!
//! So a stack has the guarantees of its Chunnels that no Chunnel above them withdraws, and a `select!` has
//! the guarantees that all its alternatives share. Guarantees are types, so that a pass that would drop a
//! guarantee is a compile error; [`Set`] represents them at run time.
//!
//! Guarantees that depend on a Chunnel's configuration are added with `adds = path`, the path of a function from `&Self` to a
//! [`Set`]. Negotiation and floors see these guarantees. Passes don't, since a pass knows only the type.
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
//! which every need is met.

mod effect;
mod effects;
mod kept;
mod set;

pub use effect::{Effect, Gives, Passes, Withdraws};
pub use effects::Effects;
pub use kept::{Accepted, Keeps, NotDropped};
pub use set::Set;

use std::marker::PhantomData;

/// The effect of layers on each guarantee, as a type. A set of guarantees gives its guarantees, and passes
/// all other guarantees on.
///
/// `()` is the empty set, each guarantee is a set with itself alone, and a pair is layers above other layers:
/// the union of two sets. [`Withdrawn`] withdraws a set.
///
/// ```
/// use bertha_core::guarantee::{Encrypted, Ordered, Set};
/// assert_eq!(Set::of::<(Encrypted, (Ordered, ()))>().to_string(), "encrypted, ordered");
/// ```
pub trait Guarantees {
    /// The effect on [`Encrypted`](struct@Encrypted).
    type Encrypted: Effect;
    /// The effect on [`Authenticated`](struct@Authenticated).
    type Authenticated: Effect;
    /// The effect on [`Reliable`](struct@Reliable).
    type Reliable: Effect;
    /// The effect on [`Ordered`](struct@Ordered).
    type Ordered: Effect;
    /// The effect on [`AtMostOnce`](struct@AtMostOnce).
    type AtMostOnce: Effect;
    /// The effect on [`IntegrityChecked`](struct@IntegrityChecked).
    type IntegrityChecked: Effect;
    /// The effect on [`ForwardSecret`](struct@ForwardSecret).
    type ForwardSecret: Effect;
    /// The effect on [`PeerIdentified`](struct@PeerIdentified).
    type PeerIdentified: Effect;
}

/// The weaker effect of two on each guarantee, which is the effect of a choice.
#[derive(Debug)]
pub struct Common<First, Second>(PhantomData<(First, Second)>);

/// The withdrawal of the guarantees in a set.
///
/// ```
/// use bertha_core::guarantee::{Encrypted, Ordered, Set, Withdrawn};
/// type Below = (Encrypted, Ordered);
/// assert_eq!(Set::of::<(Withdrawn<Encrypted>, Below)>(), Set::of::<Ordered>());
/// ```
#[derive(Debug)]
pub struct Withdrawn<Guarantees>(PhantomData<Guarantees>);

/// The guarantees that either of two gives.
#[doc(hidden)]
#[derive(Debug)]
pub struct GivenByEither<First, Second>(PhantomData<(First, Second)>);

/// A type for each guarantee, and the ways to make a set, guarantee by guarantee.
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
            $(type $name = Passes;)*
        }

        impl<Above: Guarantees, Below: Guarantees> Guarantees for (Above, Below) {
            $(type $name = <Above::$name as Effect>::Over<Below::$name>;)*
        }

        impl<A: Guarantees, B: Guarantees> Guarantees for Common<A, B> {
            $(type $name = <A::$name as Effect>::Weaker<B::$name>;)*
        }

        impl<G: Guarantees> Guarantees for Withdrawn<G> {
            $(type $name = <G::$name as Effect>::Reversed;)*
        }

        impl<A: Guarantees, B: Guarantees> Guarantees for GivenByEither<A, B> {
            $(type $name = <A::$name as Effect>::GivesOr<B::$name>;)*
        }
    };
}

guarantees! {
    /// No observer on the way can read messages.
    Encrypted = [Encrypted: Gives, Authenticated: Passes, Reliable: Passes, Ordered: Passes, AtMostOnce: Passes, IntegrityChecked: Passes, ForwardSecret: Passes, PeerIdentified: Passes];
    /// Messages are from the peer that was asked for.
    Authenticated = [Encrypted: Passes, Authenticated: Gives, Reliable: Passes, Ordered: Passes, AtMostOnce: Passes, IntegrityChecked: Passes, ForwardSecret: Passes, PeerIdentified: Passes];
    /// Every message arrives, or the connection fails.
    Reliable = [Encrypted: Passes, Authenticated: Passes, Reliable: Gives, Ordered: Passes, AtMostOnce: Passes, IntegrityChecked: Passes, ForwardSecret: Passes, PeerIdentified: Passes];
    /// Messages arrive in the order in which they were sent.
    Ordered = [Encrypted: Passes, Authenticated: Passes, Reliable: Passes, Ordered: Gives, AtMostOnce: Passes, IntegrityChecked: Passes, ForwardSecret: Passes, PeerIdentified: Passes];
    /// No message arrives twice.
    AtMostOnce = [Encrypted: Passes, Authenticated: Passes, Reliable: Passes, Ordered: Passes, AtMostOnce: Gives, IntegrityChecked: Passes, ForwardSecret: Passes, PeerIdentified: Passes];
    /// A message that was damaged on its way does not arrive.
    IntegrityChecked = [Encrypted: Passes, Authenticated: Passes, Reliable: Passes, Ordered: Passes, AtMostOnce: Passes, IntegrityChecked: Gives, ForwardSecret: Passes, PeerIdentified: Passes];
    /// An attacker that learns all long-term keys later still cannot read messages.
    ForwardSecret = [Encrypted: Passes, Authenticated: Passes, Reliable: Passes, Ordered: Passes, AtMostOnce: Passes, IntegrityChecked: Passes, ForwardSecret: Gives, PeerIdentified: Passes];
    /// The other end has proved an identity of its own: a certificate, or a key that no other end has.
    PeerIdentified = [Encrypted: Passes, Authenticated: Passes, Reliable: Passes, Ordered: Passes, AtMostOnce: Passes, IntegrityChecked: Passes, ForwardSecret: Passes, PeerIdentified: Gives];
}
